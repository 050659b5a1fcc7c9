import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { folderPrefix, readOptions } from './options.ts';

/**
 * `npm run trial -- [--kills 300] [--seconds N] [--only bank_eu,chain] [--seed N]`: the service is
 * killed at random moments while it pays through every rail, and afterwards the counterparts' own
 * records say whether everything that it acknowledged was paid once.
 *
 * Only this file runs where it was called. The trial itself and everything that it starts are one
 * process group with one temporary folder; both are gone when this ends, however it ends. Where this
 * file itself is killed, the trial notices and ends its group.
 */

const graceMs = 5000;
const lookMs = 100;

/** What is left of the group gets a moment to end in order, as the database does. */
async function endGroup(leader: number): Promise<void> {
  try {
    for (let waitedMs = 0; waitedMs < graceMs; waitedMs += lookMs) {
      process.kill(-leader, 0);
      await sleep(lookMs);
    }
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** The guard of the database removes what is its own at the same moment, which ends a removal. */
async function removeFolder(folder: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < graceMs && existsSync(folder); waitedMs += lookMs) {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    await sleep(lookMs);
  }
}

async function launch(): Promise<number> {
  const args = process.argv.slice(2);
  readOptions(args);
  const folder = mkdtempSync(join(tmpdir(), folderPrefix));
  const program = join(import.meta.dirname, 'run.ts');
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', program, ...args],
    // Whatever the trial makes in the system's folder for such things, it makes in this one.
    {
      detached: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { ...process.env, TMPDIR: folder },
    },
  );
  const leader = child.pid;
  const ended = new Promise<number>((resolve) => {
    child.once('exit', (code) => resolve(code ?? 1));
    child.once('error', () => resolve(1));
  });
  const stop = (): void => {
    child.kill('SIGTERM');
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  const code = await ended;
  if (leader !== undefined) await endGroup(leader);
  await removeFolder(folder);
  return code;
}

try {
  process.exitCode = await launch();
} catch (error) {
  process.stderr.write(`trial: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
