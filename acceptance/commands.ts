import { commands } from '../server/src/cli/commands.ts';
import { runCommand as runHere } from '../server/src/operator.ts';
import { type Service, testSettings } from './service.ts';

/**
 * Creates the first operator of live.
 *
 * @returns the setting with which commands run as this owner.
 */
async function createLiveOwner(
  service: Pick<Service, 'dataDirectory' | 'settings'>,
): Promise<{ OUTLAY_OPERATOR_KEY: string }> {
  const words = ['operator', 'create', '--environment', 'live', '--role', 'owner'];
  const { key = '' } = await runCommand(service, [...words, '--name', 'ada']);
  return { OUTLAY_OPERATOR_KEY: key };
}

/**
 * Creates a client's account in a live without operators, which needs two owners.
 *
 * @returns what is shown of it once.
 */
export async function createLiveAccount(
  service: Pick<Service, 'dataDirectory' | 'settings'>,
): Promise<Record<string, string>> {
  const live = ['--environment', 'live'];
  const ada = await createLiveOwner(service);
  const asAda = { ...service, settings: { ...service.settings, ...ada } };
  const second = ['operator', 'create', ...live, '--role', 'owner', '--name', 'bob'];
  const { key = '' } = await runCommand(asAda, [...second, '--reason', 'Second owner']);
  const create = ['account', 'create', ...live, '--name', 'Live', '--reason', 'New client'];
  await runCommand(asAda, create);
  const asBob = { ...service.settings, OUTLAY_OPERATOR_KEY: key };
  return runCommand({ ...service, settings: asBob }, create);
}

/** As the command has set it, of which the compiler does not know. */
const readExitCode = (): typeof process.exitCode => process.exitCode;

export const commandNames = commands.map(({ name }) => name);

/** What a command prints, whatever its exit code. @throws Error where it is refused. */
export async function printCommand(
  { dataDirectory = '', settings }: Pick<Service, 'dataDirectory' | 'settings'>,
  words: readonly string[],
): Promise<string> {
  const exitCodeBefore = process.exitCode;
  try {
    return await runHere(words, { ...testSettings(dataDirectory), ...settings });
  } finally {
    process.exitCode = exitCodeBefore;
  }
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
  process.exitCode = undefined;
  try {
    const stdout = await runHere(words, { ...testSettings(dataDirectory), ...settings });
    const exitCode = readExitCode();
    if (exitCode !== undefined) {
      const failure = `${words.join(' ')} ended with ${exitCode}`;
      throw Object.assign(new Error(`${failure}\n${stdout}`), { stdout });
    }
    return /^\s*[[{]/.test(stdout) ? (JSON.parse(stdout) as Record<string, string>) : {};
  } finally {
    process.exitCode = exitCodeBefore;
  }
}
