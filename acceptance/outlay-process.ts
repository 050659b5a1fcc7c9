import { spawn } from 'node:child_process';
import { testSettings } from './service.ts';
import { nodeWords, serverMain } from './service-process.ts';

export type Ended = { exitCode: number | null; printed: string; complaint: string };

/** An operator's command in a process of its own, with the settings of a service. */
export async function runOutlay(
  {
    dataDirectory,
    settings,
  }: { dataDirectory: string; settings: Readonly<Record<string, string>> },
  words: readonly string[],
): Promise<Ended> {
  const child = spawn(process.execPath, [...nodeWords, serverMain, ...words], {
    env: { ...testSettings(dataDirectory), ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  let complaint = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  await new Promise((resolve) => child.once('close', resolve));
  return { exitCode: child.exitCode, printed, complaint };
}
