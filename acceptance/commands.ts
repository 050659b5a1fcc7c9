import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Service, serverMain, testSettings } from './service.ts';

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
