import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedDatabaseError, isSystemError } from './error.ts';

/**
 * Who uses a cluster right now. PostgreSQL's own lock (postmaster.pid) decides which of two servers
 * may run; this file only decides what to do about a server that is already there: wait for it,
 * stop it because its service died, or refuse because its service lives.
 */

/** The setting on the server's command line that identifies the service that started it. */
export const SERVICE_SETTING = 'outlay.service';
export const SOCKET_DIRECTORY_PREFIX = 'outlay-pg-';

const FORMER_SERVER_WAIT_MS = 30_000;
const POLL_MS = 20;

interface PostmasterFile {
  pid: number;
  socketDirectory: string;
  status: string;
}

/** Reads postmaster.pid; undefined when it is absent or not yet written in full. */
export function readPostmasterFile(clusterDirectory: string): PostmasterFile | undefined {
  const lines = readTextIfPresent(join(clusterDirectory, 'postmaster.pid'))?.split('\n') ?? [];
  // A negative number stands for a single-user server.
  const pid = Math.abs(Number.parseInt(lines[0] ?? '', 10));
  if (!Number.isSafeInteger(pid) || pid === 0) return undefined;
  return { pid, socketDirectory: lines[4]?.trim() ?? '', status: lines[7]?.trim() ?? '' };
}

/**
 * Names this process so that a later process with the same number is not taken for it.
 * Shape: `<pid>-<start mark>`, safe in file names and on command lines.
 */
export function identifyService(): string {
  return `${process.pid}-${findStartMark(process.pid) ?? 'unknown'}`;
}

/** True while the process that `identifyService` described runs. */
export function isServiceAlive(service: string): boolean {
  const [pid = '', mark = ''] = service.split('-');
  return findStartMark(Number.parseInt(pid, 10)) === mark;
}

/**
 * Returns when no server runs on the cluster, having stopped one that an ended service left behind.
 * Throws an EmbeddedDatabaseError that names the process when a live service uses the cluster.
 */
export async function waitUntilClusterIsFree(clusterDirectory: string): Promise<void> {
  const deadlineMs = performance.now() + FORMER_SERVER_WAIT_MS;
  let orphan: PostmasterFile | undefined;
  for (;;) {
    const former = readPostmasterFile(clusterDirectory);
    if (former === undefined) {
      if (orphan !== undefined) removeSocketDirectory(orphan);
      return;
    }
    const commandLine = findServerCommandLine(former.pid, clusterDirectory);
    if (commandLine === undefined) {
      discardStaleFile(clusterDirectory, former);
      return;
    }
    const service = /outlay\.service=(\S+)/.exec(commandLine)?.[1];
    const isServed = service === undefined || isServiceAlive(service);
    if (isServed && former.status !== 'stopping') throw describeOccupant(former.pid, service);
    if (!isServed && orphan === undefined) {
      // The orphan holds nothing that is not in its write-ahead log, so the fastest stop is safe.
      orphan = former;
      signalProcess(former.pid, 'SIGQUIT');
    }
    if (performance.now() > deadlineMs) throw describeOccupant(former.pid, service);
    await sleep(POLL_MS);
  }
}

/** The socket folder of the cluster's server, if it takes connections and its service lives. */
export function findServedSocket(clusterDirectory: string): string | undefined {
  const file = readPostmasterFile(clusterDirectory);
  if (file?.status !== 'ready') return undefined;
  const commandLine = findServerCommandLine(file.pid, clusterDirectory) ?? '';
  const service = /outlay\.service=(\S+)/.exec(commandLine)?.[1];
  return service !== undefined && isServiceAlive(service) ? file.socketDirectory : undefined;
}

/** Sends a signal; false when the process is gone. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (isSystemError(error, 'ESRCH')) return false;
    throw error;
  }
}

function describeOccupant(pid: number, service: string | undefined): EmbeddedDatabaseError {
  const occupant =
    service === undefined
      ? `A PostgreSQL server that Outlay did not start (process ${pid})`
      : `Another Outlay service (process ${service.split('-')[0]}, database process ${pid})`;
  return new EmbeddedDatabaseError(
    `${occupant} is using this data folder. Stop it first, or choose another folder with OUTLAY_DATA.`,
  );
}

/**
 * The file outlived its server. PostgreSQL removes it by itself unless a process of the same user has
 * the number, an unrelated one or one that has ended and was not waited for: then it refuses to start
 * forever. Writing our own number in its place settles that, because the server never takes its parent
 * for a rival; and unlike deleting the file it keeps the check for orphaned backends on the old shared
 * memory.
 */
function discardStaleFile(clusterDirectory: string, former: PostmasterFile): void {
  const file = join(clusterDirectory, 'postmaster.pid');
  const text = readTextIfPresent(file);
  if (text === undefined) return;
  writeFileSync(file, text.replace(/^-?\d+/, String(process.pid)));
  removeSocketDirectory(former);
}

function removeSocketDirectory({ socketDirectory }: PostmasterFile): void {
  if (!basename(socketDirectory).startsWith(SOCKET_DIRECTORY_PREFIX)) return;
  rmSync(socketDirectory, { recursive: true, force: true });
}

/** The command line of the process if it is a PostgreSQL server on this very cluster. */
function findServerCommandLine(pid: number, clusterDirectory: string): string | undefined {
  if (process.platform !== 'linux') {
    const commandLine = runPs(pid, 'command=');
    return commandLine?.includes(` -D ${clusterDirectory} `) ? commandLine : undefined;
  }
  // A server works inside its cluster, and backends show titles in place of their arguments.
  if (readLinkIfPresent(`/proc/${pid}/cwd`) !== realpathSync(clusterDirectory)) return undefined;
  const commandLine = readTextIfPresent(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ');
  return commandLine?.includes(' -D ') ? commandLine : undefined;
}

/** Differs between two processes with the same number; undefined if the process does not run. */
function findStartMark(pid: number): string | undefined {
  if (process.platform !== 'linux') return runPs(pid, 'lstart=')?.replaceAll(/[^A-Za-z0-9]/g, '');
  const stat = readTextIfPresent(`/proc/${pid}/stat`);
  // The second field is the command in brackets and may itself hold spaces; see proc(5), field 22.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A zombie has ended; only its parent has not yet asked how.
  return fields?.[0] === 'Z' ? undefined : fields?.[19];
}

function runPs(pid: number, column: string): string | undefined {
  try {
    const text = execFileSync('ps', ['-ww', '-o', column, '-p', String(pid)], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return text.trim() === '' ? undefined : ` ${text.trim()} `;
  } catch {
    // ps ends with 1 when there is no such process.
    return undefined;
  }
}

function readTextIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    // A process can end between being listed and being read (ESRCH).
    if (isSystemError(error, 'ENOENT', 'ESRCH', 'ENOTDIR')) return undefined;
    throw error;
  }
}

function readLinkIfPresent(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch (error) {
    // Another user's process hides where it works; a server of ours never is another user's.
    if (isSystemError(error, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM')) return undefined;
    throw error;
  }
}
