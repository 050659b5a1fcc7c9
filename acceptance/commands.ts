import { runCommand as runHere } from '../server/src/operator.ts';
import { type Service, testSettings } from './service.ts';

/**
 * Creates the first operator of live.
 *
 * @returns the setting with which commands run as this owner.
 */
export async function createLiveOwner(
  service: Pick<Service, 'dataDirectory' | 'settings'>,
): Promise<{ OUTLAY_OPERATOR_KEY: string }> {
  const words = ['operator', 'create', '--environment', 'live', '--role', 'owner'];
  const { key = '' } = await runCommand(service, [...words, '--name', 'ada']);
  return { OUTLAY_OPERATOR_KEY: key };
}

/**
 * Runs a command of an operator beside a service that the tests started, in the test's process.
 *
 * @returns what it prints, where that is JSON.
 * @throws Error where it fails, with its output as `stdout` if it has one.
 */
export async function runCommand(
  { dataDirectory = '', settings }: Pick<Service, 'dataDirectory' | 'settings'>,
  words: readonly string[],
): Promise<Record<string, string>> {
  const exitCodeBefore = process.exitCode;
  try {
    const stdout = await runHere(words, { ...testSettings(dataDirectory), ...settings });
    if (process.exitCode !== exitCodeBefore) {
      const failure = `${words.join(' ')} ended with ${process.exitCode}`;
      throw Object.assign(new Error(`${failure}\n${stdout}`), { stdout });
    }
    return /^\s*[[{]/.test(stdout) ? (JSON.parse(stdout) as Record<string, string>) : {};
  } finally {
    process.exitCode = exitCodeBefore;
  }
}
