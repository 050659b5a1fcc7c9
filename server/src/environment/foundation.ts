import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { type AuditLog, appendAudit } from '../audit/audit.ts';
import { type Config, ConfigError } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import { createRepeatedLines, type RepeatedLines } from '../core/repeated-lines.ts';
import type { KeyRing } from '../core/sealing.ts';
import { createEnvironmentClock, type EnvironmentClock } from '../db/environment-clock.ts';
import { findEnvironment } from '../db/environment-record.ts';
import { migrate } from '../db/migrate.ts';
import { openMonths } from '../db/partitions.ts';
import { type IndexKeyHold, IndexKeyUnheld } from '../db/postgres/index-key-hold.ts';
import { connectDatabase, type Database, type Session } from '../db/postgres/pool.ts';
import { inspectServer } from '../db/postgres/server-check.ts';
import type { Pooling } from '../db/postgres/session-settings.ts';
import {
  ensureTenantRole,
  type ServiceRole,
  type Task,
  TenantRoleError,
} from '../db/postgres/tenant-role.ts';
import { describeError, nameError } from '../http/error-log.ts';
import { countOperators } from '../operators/operators.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { openKeyRing } from './key.ts';

/** The foundation of an environment: its migrated database, its keys and its clock. */

export type FoundationOptions = {
  readonly config: Config;
  readonly name: EnvironmentName;
  readonly url: string;
  /** What this process does, by which its database role is chosen; everything without it. */
  readonly task?: Task;
  readonly log: Logger;
  readonly steadyMs: () => number;
  /** The time of day, which the sandbox's clock may be ahead of. */
  readonly realNowMs: () => number;
  readonly fetch: typeof fetch;
  /** Absent where no receiver of traces is configured, and for commands. */
  readonly tracing?: Tracing | undefined;
  /** Whether it ends by itself. */
  readonly isCommand?: boolean;
  /** False for the command that replaces the index key, which every other process holds. */
  readonly holdsIndexKey?: boolean;
  /** The index key was replaced: this process must end, and be started again. */
  readonly onIndexKeyReplaced?: (error: Error) => void;
};

export type Foundation = FoundationOptions &
  AsyncDisposable & {
    readonly db: Database;
    readonly keys: KeyRing;
    readonly clock: EnvironmentClock;
    readonly repeated: RepeatedLines;
  };

/** @throws ConfigError where the database belongs to another environment or key. */
export function openFoundation(options: FoundationOptions): Promise<Foundation> {
  return openMigrated(options, []);
}

/** `earlier`: the migrations that have run for it already. */
async function openMigrated(
  options: FoundationOptions,
  earlier: readonly number[],
): Promise<Foundation> {
  const { config, name, url, steadyMs, task } = options;
  const log = options.log.child({ environment: name });
  await using parts = new AsyncDisposableStack();
  const repeated = parts.adopt(createRepeatedLines(), (lines) => lines.close());
  const pooling = await checkServer(options, log);
  const migrated = [...earlier, ...(await migrate({ url }))];
  const serviceRole = await prepareRoles(options);
  const connected = connectDatabase({
    url,
    indexKey: holdIndexKey(options, log),
    processName: nameProcess(options.isCommand === true ? 'command' : task),
    connectionsMax: config.OUTLAY_DATABASE_CONNECTIONS,
    pooling,
    serviceRole,
    tracing: options.tracing,
    onConnectionLost: createErrorLog({ log, repeated, level: 'warn' }, 'connection lost'),
  });
  const db = parts.adopt(connected, (database) => database.close());
  await checkIndexKey(db.system, name);
  // The first command of an environment stores its key and its first operator, and the first one of a
  // release the entry about the migration, whatever it is.
  if (task === 'read' && (migrated.length > 0 || !(await isInUse(db.system)))) {
    await parts.disposeAsync();
    return await openMigrated({ ...options, task: 'all' }, migrated);
  }
  const onUnread = createErrorLog({ log, repeated, level: 'error' }, 'keys not read');
  const { keys, follower } = await openKeyRing(db, { config, name, onUnread });
  parts.defer(() => follower.close());
  await recordMigrations({ session: db.system, keys }, migrated);
  const clock = await createEnvironmentClock(db.system, {
    environmentName: name,
    steadyMs,
    realNowMs: options.realNowMs,
  });
  if (task !== 'read') await openMonths(db.system);
  const opened = parts.move();
  const dispose = (): Promise<void> => opened.disposeAsync();
  return { ...options, log, db, keys, clock, repeated, [Symbol.asyncDispose]: dispose };
}

/** The first one made the database, which says nothing of a change. */
async function recordMigrations(log: AuditLog, versions: readonly number[]): Promise<void> {
  const changes = versions.filter((version) => version > 1);
  if (changes.length === 0) return;
  const after = { versions: changes, host: hostname() };
  await appendAudit(log, { actor: { kind: 'system' }, action: 'migrate', outcome: 'done', after });
}

/** Undefined for a process that does not hold it. */
function holdIndexKey(
  { name, holdsIndexKey = true, onIndexKeyReplaced }: FoundationOptions,
  log: Logger,
): IndexKeyHold | undefined {
  if (!holdsIndexKey) return undefined;
  const onReplaced = once(() => {
    const text = `${name}: the index key was replaced: this process must be started again`;
    log.error(text);
    onIndexKeyReplaced?.(new ConfigError(text));
  });
  return { generation: undefined, onReplaced };
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}

/** For whoever looks for the processes that use a database: `outlay all (4711 on pay-1)`. */
function nameProcess(task = 'all'): string {
  return `outlay ${task} (${process.pid} on ${hostname()})`.slice(0, 63);
}

/** @throws ConfigError while the index key is being replaced. */
async function checkIndexKey(session: Session, name: EnvironmentName): Promise<void> {
  try {
    await findEnvironment(session);
  } catch (error) {
    if (!(error instanceof IndexKeyUnheld)) throw error;
    throw new ConfigError(
      `${name}: the index key is being replaced: start again when environment-key rotate-index has ended`,
      { cause: error },
    );
  }
}

async function isInUse(session: Session): Promise<boolean> {
  return (await findEnvironment(session)) !== undefined && (await countOperators(session)) > 0;
}

/** @throws ConfigError where the server would mix up sessions or, in live, lose acknowledged data. */
async function checkServer(
  { config, name, url }: FoundationOptions,
  log: Logger,
): Promise<Pooling> {
  const mayLose = name === 'staging' || config.OUTLAY_DATABASE_DURABILITY === 'trusted';
  const { faults, pooling } = await inspectServer(url);
  const refused = faults.filter(({ kind }) => kind === 'pooling' || !mayLose);
  for (const fault of faults) if (!refused.includes(fault)) log.warn(fault.text);
  if (refused.length === 0) {
    if (pooling === 'transaction') log.info(pooledByTransaction);
    return pooling;
  }
  throw new ConfigError(`${name}: ${refused.map(({ text }) => text).join('; ')}`);
}

const pooledByTransaction =
  'a pooler hands out the connections to the database by transaction; each carries its settings';

async function prepareRoles({ url, name, task = 'all' }: FoundationOptions): Promise<ServiceRole> {
  try {
    return await ensureTenantRole({ url, task });
  } catch (error) {
    if (!(error instanceof TenantRoleError)) throw error;
    throw new ConfigError(`${name}: ${error.message}`, { cause: error });
  }
}

/**
 * Logs errors with the work that failed, if it has a name. Those of one kind, as while the database is away,
 * are logged at a limited rate.
 */
export function createErrorLog(
  to: Pick<Foundation, 'log' | 'repeated'> & { level: 'warn' | 'error' },
  message: string,
) {
  const { log, level, repeated } = to;
  return (error: unknown, work?: string): void => {
    const logged = describeError(error);
    repeated.occurred(`${message} ${work ?? ''} ${nameError(logged)}`, (count) => {
      const more = { ...(work !== undefined && { work }), ...(count > 1 && { count }) };
      log[level]({ error: logged, ...more }, message);
    });
  };
}
