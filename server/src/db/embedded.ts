import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fchownSync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Cluster,
  describeFullDisk,
  ENVIRONMENT,
  placeIn,
  prepareCluster,
  SUPERUSER,
} from './embedded-cluster.ts';
import { EmbeddedDatabaseError, isSystemError } from './embedded-error.ts';
import { createSocketDirectory } from './embedded-files.ts';
import {
  findServedSocket,
  nameThisService,
  readPostmasterFile,
  SERVICE_SETTING,
  signalProcess,
  waitUntilClusterIsFree,
} from './embedded-process.ts';

export interface EmbeddedOptions {
  /** The service's data folder; the cluster lives in its `postgres` folder. Made when absent. */
  dataDirectory: string;
  /** Receives a line about whatever takes long: the first start, a recovery after a crash. */
  report?: (line: string) => void;
  /** For tests: the data folder is removed with the server, also when this process is killed. */
  temporary?: boolean;
}

export interface EmbeddedServer {
  /**
   * A URL for `pg` and every libpq program: `postgresql://outlay@localhost/<database>?host=<folder>`.
   * The host in the query, a folder, wins over localhost, which only makes the URL parse everywhere.
   * The role is the superuser; nobody needs a password, because only the owner can enter the folder.
   */
  connectionUrl(database: string): string;
  socketDirectory: string;
  /** The pid of the postmaster. */
  processId: number;
  /** Resolves, with the reason, if the server ever stops without having been closed. */
  failed: Promise<Error>;
  /** Ends open connections, writes a checkpoint, waits for the server's end. May be called twice. */
  close(): Promise<void>;
  /** Lets this process end while the server runs; the guard then stops the server at once. */
  unref(): void;
}

interface StartedServer {
  child: ChildProcess;
  guard: ChildProcess;
  socketDirectory: string;
  logStartBytes: number;
}

const LOG_BYTES_MAX = 10 * 1024 * 1024;
const READY_POLL_MS = 5;
const REPORT_EVERY_MS = 3_000;
const CLOSE_WAIT_MS = 30_000;
const ATTEMPTS_MAX = 50;
const ATTEMPT_PAUSE_MS = 200;

/** What a promise to a client rests on; on the command line, so that no file can weaken it. */
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
 * Starts the PostgreSQL server that comes with the service, making its cluster on the first start
 * and recovering it after a crash. It listens on a unix socket only.
 * Throws EmbeddedDatabaseError (one line) for everything a person can put right: a folder that is
 * in use by another service, not writable, full, or of another major version of PostgreSQL.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const dataDirectory = resolve(options.dataDirectory);
  const report = options.report ?? (() => undefined);
  try {
    const cluster = await prepareCluster(dataDirectory, report);
    const removed = options.temporary === true ? [dataDirectory] : [];
    return describeServer(await startOnceFree(cluster, removed, report), cluster, removed);
  } catch (error) {
    throw explainSystemError(error, dataDirectory);
  }
}

/** A server that another process of ours runs: to be used, and not to be ended. */
export type RunningServer = Pick<EmbeddedServer, 'connectionUrl' | 'failed' | 'close'>;

/**
 * The server on this data folder, if a live service runs one right now. Commands use it, so that
 * they work beside the service.
 */
export function findRunningServer(dataDirectory: string): RunningServer | undefined {
  const socketDirectory = findServedSocket(join(resolve(dataDirectory), 'postgres'));
  if (socketDirectory === undefined) return undefined;
  return {
    connectionUrl: (database) => formatUrl(socketDirectory, database),
    failed: new Promise(() => undefined),
    close: async () => undefined,
  };
}

/**
 * PostgreSQL's own lock decides between services that start at the same time, and it also waits
 * for no one: backends of a killed postmaster may hold the shared memory for a moment longer.
 */
async function startOnceFree(
  cluster: Cluster,
  removed: string[],
  report: (line: string) => void,
): Promise<StartedServer> {
  for (let attempt = 1; ; attempt++) {
    await waitUntilClusterIsFree(cluster.directory);
    const server = spawnServer(cluster, removed);
    const complaint = await waitUntilReady(server, cluster, report);
    if (complaint === undefined) return server;
    dismissGuard(server);
    const isHeld = /postmaster\.pid|shared memory block/.test(complaint);
    if (!isHeld || attempt === ATTEMPTS_MAX) throw explainServerEnd(complaint, cluster);
    await sleep(ATTEMPT_PAUSE_MS);
  }
}

function spawnServer(cluster: Cluster, removed: string[]): StartedServer {
  const { directory, owner, binaries } = cluster;
  const socketDirectory = createSocketDirectory(owner);
  const place = placeIn(owner, directory);
  const settings = {
    ...FIXED_SETTINGS,
    unix_socket_directories: socketDirectory,
    [SERVICE_SETTING]: nameThisService(),
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
  // A guard that was killed by somebody is missed only if we are, too; the next start copes then.
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
  return { child, guard, socketDirectory, logStartBytes };
}

function openLog({ logFile, owner }: Cluster): { log: number; logStartBytes: number } {
  const isFull = existsSync(logFile) && statSync(logFile).size > LOG_BYTES_MAX;
  if (isFull) renameSync(logFile, `${logFile}.1`);
  const log = openSync(logFile, 'a', 0o600);
  // The owner may start the service without root next time, and must then be able to go on writing.
  if (owner !== undefined) fchownSync(log, owner.uid, owner.gid);
  return { log, logStartBytes: fstatSync(log).size };
}

/** Resolves with nothing when the server takes connections, or with what it logged if it ended. */
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

function readNewLog({ logStartBytes }: StartedServer, { logFile }: Cluster): string {
  return readFileSync(logFile).subarray(logStartBytes).toString('utf8');
}

function explainServerEnd(log: string, { directory, logFile }: Cluster): EmbeddedDatabaseError {
  if (log.includes('No space left on device')) return describeFullDisk(directory);
  const line = log.split('\n').findLast((text) => /FATAL:|PANIC:|error/.test(text));
  return new EmbeddedDatabaseError(
    `The database stopped: ${line?.trim() ?? 'it gave no reason'} (see ${logFile})`,
  );
}

function dismissGuard({ guard, socketDirectory }: StartedServer): void {
  guard.kill('SIGKILL');
  rmSync(socketDirectory, { recursive: true, force: true });
}

function describeServer(
  server: StartedServer,
  cluster: Cluster,
  removed: string[],
): EmbeddedServer {
  const { child, guard, socketDirectory } = server;
  const processId = child.pid ?? 0;
  let closing: Promise<void> | undefined;
  const ended = new Promise<void>((settle) => {
    child.once('exit', () => settle());
    if (child.exitCode !== null || child.signalCode !== null) settle();
  });
  const failed = new Promise<Error>((settle) => {
    void ended.then(() => {
      dismissGuard(server);
      if (closing === undefined) settle(explainServerEnd(readNewLog(server, cluster), cluster));
    });
  });
  const close = async (): Promise<void> => {
    signalProcess(processId, 'SIGINT');
    // Nothing is lost by giving up the checkpoint: the next start replays the log instead.
    const timer = setTimeout(() => signalProcess(processId, 'SIGQUIT'), CLOSE_WAIT_MS);
    await ended;
    clearTimeout(timer);
    dismissGuard(server);
    for (const directory of removed) rmSync(directory, { recursive: true, force: true });
  };
  return {
    connectionUrl: (database) => formatUrl(socketDirectory, database),
    socketDirectory,
    processId,
    failed,
    close: () => (closing ??= close()),
    unref: () => {
      child.unref();
      guard.unref();
      if (guard.stdin !== null && 'unref' in guard.stdin)
        (guard.stdin as { unref(): void }).unref();
    },
  };
}

function formatUrl(socketDirectory: string, database: string): string {
  return `postgresql://${SUPERUSER}@localhost/${encodeURIComponent(database)}?host=${encodeURIComponent(socketDirectory)}`;
}

function explainSystemError(error: unknown, dataDirectory: string): unknown {
  if (isSystemError(error, 'ENOSPC', 'EDQUOT')) return describeFullDisk(dataDirectory);
  if (isSystemError(error, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST')) {
    return new EmbeddedDatabaseError(
      `The data folder ${dataDirectory} cannot be used: ${(error as Error).message}. Choose another folder with OUTLAY_DATA.`,
      { cause: error },
    );
  }
  return error;
}
