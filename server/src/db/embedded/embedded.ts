import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFolder, requireWritable } from '../make-folder.ts';
import { prepareAccess, readPassword } from './access.ts';
import { describeFullDisk, prepareCluster, SUPERUSER } from './cluster.ts';
import { EmbeddedDatabaseError, isSystemError } from './error.ts';
import { createSocketDirectory } from './files.ts';
import { findServedSocket, signalProcess } from './process.ts';
import {
  dismissGuard,
  explainEnd,
  isDiskFull,
  type ServerStart,
  type StartedServer,
  startOnceFree,
} from './server.ts';

export interface EmbeddedOptions {
  /** The service's data folder; the cluster lives in its `postgres` folder. Made when absent. */
  dataDirectory: string;
  /** Receives a line about slow steps: the first start, a recovery after a crash. */
  report?: (line: string) => void;
  /** For tests: the data folder is removed with the server, also when this process is killed. */
  temporary?: boolean;
}

export interface EmbeddedServer {
  /**
   * A URL for `pg` and every libpq program: `postgresql://outlay:…@localhost/<database>?host=<folder>`.
   * The host in the query, a folder, wins over localhost, which only makes the URL parse everywhere.
   * The role is the superuser.
   */
  connectionUrl(database: string): string;
  socketDirectory: string;
  /** The pid of the postmaster; another one after a restart. */
  readonly processId: number;
  /**
   * Resolves, with the reason, if the server stops and cannot be started again. A server that
   * stops by itself, as PostgreSQL does when its disk is full, is started again at the same address.
   */
  failed: Promise<Error>;
  /** Ends open connections, writes a checkpoint, waits for the server's end. May be called twice. */
  close(): Promise<void>;
  /** Lets this process end while the server runs; the guard then stops the server at once. */
  unref(): void;
}

/**
 * Starts the PostgreSQL server that comes with the service, making its cluster on the first start
 * and recovering it after a crash. It listens on a unix socket only.
 *
 * @throws EmbeddedDatabaseError (one line) for problems that an operator can solve: a folder that is in
 * use by another service, not writable, full, or of another major version of PostgreSQL.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const dataDirectory = resolve(options.dataDirectory);
  const report = options.report ?? (() => undefined);
  try {
    const cluster = await prepareCluster(dataDirectory, report);
    const removed = options.temporary === true ? [dataDirectory] : [];
    const socketDirectory = createSocketDirectory(cluster.owner);
    const start = { cluster, removed, report, socketDirectory };
    try {
      const password = await prepareAccess(start, dataDirectory);
      return superviseServer({ ...start, password }, await startOnceFree(start));
    } catch (error) {
      rmSync(socketDirectory, { recursive: true, force: true });
      throw error;
    }
  } catch (error) {
    throw explainSystemError(error, dataDirectory);
  }
}

/** A server that belongs to another process of this service. */
export type RunningServer = Pick<EmbeddedServer, 'connectionUrl' | 'failed' | 'close'>;

/**
 * The server on this data folder, if a live service runs one right now. Commands use it, so that
 * they work beside the service.
 */
export function findRunningServer(dataDirectory: string): RunningServer | undefined {
  const socketDirectory = findServedSocket(join(resolve(dataDirectory), 'postgres'));
  if (socketDirectory === undefined) return undefined;
  const password = readPassword(resolve(dataDirectory));
  return {
    connectionUrl: (database) => formatUrl({ socketDirectory, password }, database),
    failed: new Promise(() => undefined),
    close: async () => undefined,
  };
}

const CLOSE_WAIT_MS = 30_000;
const RESTART_WAIT_FIRST_MS = 200;
const RESTART_WAIT_MAX_MS = 5_000;
/** The server is given up after so many failed restarts in a row, except while the disk is full. */
const RESTARTS_MAX = 6;
const LASTING_MS = 30_000;

function superviseServer(
  start: ServerStart & { password: string },
  first: StartedServer,
): EmbeddedServer {
  const { cluster, removed, socketDirectory } = start;
  let server = first;
  let isUnreferenced = false;
  const stopping = new AbortController();
  const failed = Promise.withResolvers<Error>();
  const endOf = ({ child }: StartedServer): Promise<void> =>
    new Promise((settle) => {
      child.once('exit', () => settle());
      if (child.exitCode !== null || child.signalCode !== null) settle();
    });
  /** Restarts the server whenever it ends, until it is to stop or cannot be restarted. */
  const supervise = async (): Promise<void> => {
    for (let restarts = 0; ; ) {
      const startedMs = performance.now();
      await endOf(server);
      dismissGuard(server);
      if (stopping.signal.aborted) return;
      if (performance.now() - startedMs > LASTING_MS) restarts = 0;
      start.report(`${explainEnd(server, cluster).message} Starting it again.`);
      const next = await restart(start, restarts, { stopping, isUnreferenced });
      if (next === undefined) return;
      restarts += next.tries;
      ({ server } = next);
      if (isUnreferenced) unreference(server);
      start.report('The database has started again.');
    }
  };
  const supervised = supervise().catch((error: unknown) => {
    // No guard is left that would do it when this process ends.
    rmSync(socketDirectory, { recursive: true, force: true });
    failed.resolve(error instanceof Error ? error : new Error(String(error)));
  });
  const close = async (): Promise<void> => {
    stopping.abort();
    signalProcess(server.child.pid ?? 0, 'SIGINT');
    // Nothing is lost by giving up the checkpoint: the next start replays the log instead.
    const timer = setTimeout(() => signalProcess(server.child.pid ?? 0, 'SIGQUIT'), CLOSE_WAIT_MS);
    await supervised;
    clearTimeout(timer);
    for (const directory of [socketDirectory, ...removed]) {
      rmSync(directory, { recursive: true, force: true });
    }
  };
  let closing: Promise<void> | undefined;
  return {
    connectionUrl: (database) => formatUrl(start, database),
    socketDirectory,
    get processId() {
      return server.child.pid ?? 0;
    },
    failed: failed.promise,
    close: () => (closing ??= close()),
    unref: () => {
      isUnreferenced = true;
      unreference(server);
    },
  };
}

/**
 * Tries until the server runs; undefined when it is to stop meanwhile.
 *
 * @throws EmbeddedDatabaseError after too many failures, unless the disk is full.
 */
async function restart(
  start: ServerStart,
  before: number,
  { stopping, isUnreferenced }: { stopping: AbortController; isUnreferenced: boolean },
): Promise<{ server: StartedServer; tries: number } | undefined> {
  const { signal } = stopping;
  let isToldFull = false;
  let waitMs = RESTART_WAIT_FIRST_MS;
  for (let tries = 1; ; ) {
    await sleep(waitMs, undefined, { signal, ref: !isUnreferenced }).catch(() => undefined);
    if (signal.aborted) return undefined;
    waitMs = Math.min(RESTART_WAIT_MAX_MS, waitMs * 2);
    const wasFull = isDiskFull(start.cluster);
    try {
      const server = await startOnceFree(start);
      if (!signal.aborted) return { server, tries };
      signalProcess(server.child.pid ?? 0, 'SIGQUIT');
      dismissGuard(server);
      return undefined;
    } catch (error) {
      if (wasFull || isDiskFull(start.cluster)) {
        if (!isToldFull) start.report('The database starts again when its disk has room.');
        isToldFull = true;
        continue;
      }
      if (before + tries >= RESTARTS_MAX) throw error;
      tries += 1;
    }
  }
}

function unreference({ child, guard }: StartedServer): void {
  child.unref();
  guard.unref();
  if (guard.stdin !== null && 'unref' in guard.stdin) (guard.stdin as { unref(): void }).unref();
}

type Login = { socketDirectory: string; password: string | undefined };

function formatUrl({ socketDirectory, password }: Login, database: string): string {
  const login = password === undefined ? SUPERUSER : `${SUPERUSER}:${password}`;
  return `postgresql://${login}@localhost/${encodeURIComponent(database)}?host=${encodeURIComponent(socketDirectory)}`;
}

/**
 * For the keys and credentials of environments.
 *
 * @throws EmbeddedDatabaseError where it cannot be made, or written to by a service (not `isGuest`).
 */
export function makeDataFolder(dataDirectory: string, { isGuest }: { isGuest: boolean }): void {
  try {
    if (isGuest) makeFolder(dataDirectory, 0o700);
    else requireWritable(dataDirectory, 0o700);
  } catch (error) {
    throw explainSystemError(error, dataDirectory);
  }
}

function explainSystemError(error: unknown, dataDirectory: string): unknown {
  if (isSystemError(error, 'ENOSPC', 'EDQUOT')) return describeFullDisk(dataDirectory);
  // Below a read-only folder, Node reports ENOENT.
  if (isSystemError(error, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENOENT')) {
    return new EmbeddedDatabaseError(
      `The data folder ${dataDirectory} cannot be used: ${(error as Error).message}. Choose another folder with OUTLAY_DATA.`,
      { cause: error },
    );
  }
  return error;
}
