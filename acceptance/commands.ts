import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Service, serverMain, testSettings } from './service.ts';

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
 * Runs a command of an operator beside a service that the tests started.
 *
 * @returns what it prints, where that is JSON.
 * @throws Error with its output where it fails.
 */
export async function runCommand(
  { dataDirectory = '', settings }: Pick<Service, 'dataDirectory' | 'settings'>,
  words: readonly string[],
): Promise<Record<string, string>> {
  const { stdout } = await promisify(execFile)(process.execPath, [serverMain, ...words], {
    env: { ...testSettings(dataDirectory), ...settings },
  });
  return stdout.trimStart().startsWith('{') ? (JSON.parse(stdout) as Record<string, string>) : {};
}
