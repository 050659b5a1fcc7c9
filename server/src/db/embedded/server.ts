import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cluster, describeFullDisk, ENVIRONMENT, placeIn } from './cluster.ts';
import { EmbeddedDatabaseError, isSystemError } from './error.ts';
import { changeOwner } from './files.ts';
import {
  identifyService,
  readPostmasterFile,
  SERVICE_SETTING,
  waitUntilClusterIsFree,
} from './process.ts';

/** One run of the embedded server: from the spawned process to the reason of its end. */

export interface StartedServer {
  child: ChildProcess;
  guard: ChildProcess;
  logStartBytes: number;
}

/** What stays the same over all runs of a cluster's server. */
export interface ServerStart {
  cluster: Cluster;
  /** Folders that the guard removes when this process has ended. */
  removed: string[];
  socketDirectory: string;
  /** A file of the cluster with other rules of login than pg_hba.conf. */
  rulesFile?: string;
  report: (line: string) => void;
}

const LOG_BYTES_MAX = 10 * 1024 * 1024;
const READY_POLL_MS = 5;
const REPORT_EVERY_MS = 3_000;
const ATTEMPTS_MAX = 50;
const ATTEMPT_PAUSE_MS = 200;

/** Durability settings, on the command line so that no file can weaken them. */
const FIXED_SETTINGS = {
  listen_addresses: '',
  port: '5432',
  unix_socket_permissions: '0700',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // Statements and key values are personal data: of errors, only what ends a server is logged.
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
};

/**
 * The kernel closes the guard's standard input when this process ends for whatever reason, kill -9
 * included. An immediate stop loses nothing: what was acknowledged is in the synced log. A shell
 * rather than a second Node, because it waits for months and takes 1 MB instead of 40. The server's
 * pid file shows its end sooner than its number, which a slow init process keeps in use for a while.
 */
const GUARD_SCRIPT = `
file=$1
shift
read -r pid
read -r end
if [ -n "$pid" ]; then
  kill -QUIT "$pid" 2>/dev/null
  tries=0
  while [ "$tries" -lt 200 ] && [ -e "$file" ] && kill -0 "$pid" 2>/dev/null; do
    tries=$((tries + 1))
    sleep 0.05
  done
fi
rm -rf -- "$@"
`;

/**
 * PostgreSQL's own lock decides between services that start at the same time, and it also waits
 * for nothing: backends of a killed postmaster may hold the shared memory for a moment longer.
 */
export async function startOnceFree(start: ServerStart): Promise<StartedServer> {
  const { cluster, report } = start;
  for (let attempt = 1; ; attempt++) {
    await waitUntilClusterIsFree(cluster.directory);
    const server = spawnServer(start);
    const complaint = await waitUntilReady(server, cluster, report);
    if (complaint === undefined) return server;
    dismissGuard(server);
    const isHeld = /postmaster\.pid|shared memory block/.test(complaint) && !isDiskFull(cluster);
    if (!isHeld || attempt === ATTEMPTS_MAX) {
      throw explainServerEnd(complaint, cluster);
    }
    await sleep(ATTEMPT_PAUSE_MS);
  }
}

function spawnServer(start: ServerStart): StartedServer {
  const { cluster, removed, socketDirectory } = start;
  const { directory, owner, binaries } = cluster;
  keepSocketDirectory(start);
  const place = placeIn(owner, directory);
  const settings = {
    ...FIXED_SETTINGS,
    unix_socket_directories: socketDirectory,
    [SERVICE_SETTING]: identifyService(),
    ...(start.rulesFile !== undefined && { hba_file: join(place.path, start.rulesFile) }),
  };
  const { log, logStartBytes } = openLog(cluster);
  // Sessions of their own (detached), so that Ctrl-C in a terminal reaches only this process, which
  // finishes its requests before it closes the server.
  const pidFile = join(directory, 'postmaster.pid');
  const guard = spawn(
    '/bin/sh',
    ['-c', GUARD_SCRIPT, 'guard', pidFile, socketDirectory, ...removed],
    {
      cwd: '/',
      env: ENVIRONMENT,
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    },
  );
  // If the guard and this process are both killed, the next start stops the server.
  guard.on('error', () => undefined);
  guard.stdin.on('error', () => undefined);
  const child = spawn(
    binaries.postgres,
    [
      '-D',
      place.path,
      ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
    ],
    { ...owner, cwd: place.cwd, env: ENVIRONMENT, detached: true, stdio: ['ignore', log, log] },
  );
  guard.stdin.write(`${child.pid ?? ''}\n`);
  closeSync(log);
  return { child, guard, logStartBytes };
}

/**
 * A restart listens at the same address, because clients know it. A folder that another user has put in
 * its place would let that user impersonate the server.
 */
function keepSocketDirectory({ cluster: { owner }, socketDirectory }: ServerStart): void {
  try {
    mkdirSync(socketDirectory, { mode: 0o700 });
    changeOwner(owner, socketDirectory);
  } catch (error) {
    if (!isSystemError(error, 'EEXIST')) throw error;
    const found = lstatSync(socketDirectory);
    const uid = owner?.uid ?? process.getuid?.();
    if (found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0) return;
    throw new EmbeddedDatabaseError(
      `The folder ${socketDirectory} of the database socket belongs to another user. Restart Outlay.`,
    );
  }
}

function openLog({ logFile, owner }: Cluster): { log: number; logStartBytes: number } {
  const isFull = existsSync(logFile) && statSync(logFile).size > LOG_BYTES_MAX;
  if (isFull) renameSync(logFile, `${logFile}.1`);
  const log = openSync(logFile, 'a', 0o600);
  // The owner may start the service without root next time, and must then be able to continue writing.
  if (owner !== undefined) fchownSync(log, owner.uid, owner.gid);
  return { log, logStartBytes: fstatSync(log).size };
}

/** Resolves with undefined when the server accepts connections, or with its log if it ended. */
async function waitUntilReady(
  server: StartedServer,
  cluster: Cluster,
  report: (line: string) => void,
): Promise<string | undefined> {
  const { child } = server;
  let failure: Error | undefined;
  child.on('error', (error) => {
    failure = error;
  });
  const startMs = performance.now();
  let reports = 0;
  for (;;) {
    // Node reports a failed spawn one turn later.
    await sleep(READY_POLL_MS);
    if (failure !== undefined) throw failure;
    if (child.exitCode !== null || child.signalCode !== null) return readNewLog(server, cluster);
    const file = readPostmasterFile(cluster.directory);
    if (file?.pid === child.pid && file?.status === 'ready') return undefined;
    const elapsedMs = performance.now() - startMs;
    if (elapsedMs < (reports + 1) * REPORT_EVERY_MS) continue;
    reports++;
    report(`The database is recovering (${Math.round(elapsedMs / 1000)} s)`);
  }
}

/** Why a server that has ended did so. */
export function explainEnd(server: StartedServer, cluster: Cluster): EmbeddedDatabaseError {
  return explainServerEnd(readNewLog(server, cluster), cluster);
}

function readNewLog({ logStartBytes }: StartedServer, { logFile }: Cluster): string {
  return readFileSync(logFile).subarray(logStartBytes).toString('utf8');
}

/** Below this PostgreSQL cannot write its next segment of the write-ahead log. */
const FREE_BYTES_MIN = 16 * 1024 * 1024;

/** A server on a full disk may not even be able to log that. */
export function isDiskFull({ directory }: Cluster): boolean {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize < FREE_BYTES_MIN;
}

function explainServerEnd(log: string, cluster: Cluster): EmbeddedDatabaseError {
  const { directory, logFile } = cluster;
  if (log.includes('No space left on device') || isDiskFull(cluster)) {
    return describeFullDisk(directory);
  }
  const line = log.split('\n').findLast((text) => /FATAL:|PANIC:|error/.test(text));
  return new EmbeddedDatabaseError(
    `The database stopped: ${line?.trim() ?? 'it gave no reason'} (see ${logFile})`,
  );
}

export function dismissGuard({ guard }: StartedServer): void {
  guard.kill('SIGKILL');
}
