import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Programs of Debian's packages, run as the user of the database: PostgreSQL refuses root. */

const startMs = performance.now();

export function say(text: string): void {
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1).padStart(6);
  process.stdout.write(`${seconds} s  ${text}\n`);
}

const isRoot = process.getuid?.() === 0;
const readId = (flag: string): number =>
  Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
const owner = isRoot ? { uid: readId('-u'), gid: readId('-g') } : undefined;

/** The user of the database has folders of its own in it. `.ci/drills/run-drill.sh` removes it. */
export function makeDrillFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'drill-'));
  chmodSync(folder, 0o755);
  return folder;
}

/** A folder that only the user of the database can read. */
export function makeFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  give(path);
  return path;
}

export function give(path: string): void {
  if (owner !== undefined) chownSync(path, owner.uid, owner.gid);
}

function asOwner(words: readonly string[]): [string, string[]] {
  const [program = '', ...args] = words;
  if (!isRoot) return [program, args];
  const switches = ['--reuid=postgres', '--regid=postgres', '--clear-groups'];
  return ['setpriv', [...switches, program, ...args]];
}

/** Without the variables of PostgreSQL and of the service, which would reach the child. */
const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/', LANG: 'C.UTF-8' };

/** Starts a program that continues; its output goes to the file. */
export function startProgram(words: readonly string[], logFile: string): ChildProcess {
  const [program, args] = asOwner(words);
  const log = openSync(logFile, 'a');
  return spawn(program, args, { cwd: '/', env: environment, stdio: ['ignore', log, log] });
}

/** @throws with the program's output when it fails. */
export function runProgram(words: readonly string[]): string {
  const [program, args] = asOwner(words);
  return execFileSync(program, args, {
    cwd: '/',
    env: environment,
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

export async function endProgram(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}

/** The process of a data folder's server; undefined where none has written its file. */
export function findPostmaster(dataFolder: string): number | undefined {
  try {
    return Number(readFileSync(`${dataFolder}/postmaster.pid`, 'utf8').split('\n')[0]);
  } catch {
    return undefined;
  }
}

/** kill -9 of a server with all of its processes, which are its children. */
export function killServer(postmaster: number): void {
  const children = readdirSync('/proc').filter((entry) => findParent(entry) === postmaster);
  for (const id of [postmaster, ...children.map(Number)]) {
    try {
      process.kill(id, 'SIGKILL');
    } catch {
      // It ended by itself meanwhile.
    }
  }
}

/** From the fourth field of the process's state; the second one may contain spaces. */
function findParent(id: string): number | undefined {
  try {
    const text = readFileSync(`/proc/${id}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}

/** The limit ends a drill that hangs, and nothing else, on any machine. @throws when it takes longer. */
export async function waitFor(
  what: string,
  look: () => Promise<boolean> | boolean,
  withinMs = 180_000,
): Promise<void> {
  for (const endMs = performance.now() + withinMs; ; await sleep(100)) {
    if (await look()) return;
    if (performance.now() > endMs) throw new Error(`${what}: not within ${withinMs / 1000} s`);
  }
}
