import { availableParallelism } from 'node:os';
import { createSemaphore } from '../../core/semaphore.ts';
import type { Tracing } from '../../tracing/tracing.ts';
import { createAccountQuota } from './account-quota.ts';
import { bindAccount, tenantRole } from './bound-query.ts';
import {
  backgroundMsMax,
  begin,
  type Connection,
  createOpener,
  createSession,
  holdIndexKey,
  type Opener,
  requestMsMax,
  run,
  runBound,
  runPlain,
  type Session,
  type Statement,
} from './connection.ts';
import { type ConnectionPool, createConnectionPool, type PoolUse } from './connection-pool.ts';
import { type SilenceLimits, searchDeadConnections, silenceLimits } from './dead-connections.ts';
import { isUnanswered, retry } from './errors.ts';
import type { IndexKeyHold } from './index-key-hold.ts';
import { createLane } from './lane.ts';
import type { Pooling } from './session-settings.ts';
import type { ServiceRole } from './tenant-role.ts';

export { type Session, type Statement } from './connection.ts';
export { findConstraint, findSqlState } from './errors.ts';

/**
 * The database for the modules: statements prepared by name, sessions of one account (row-level security
 * backs every filter), and a system session for background work and for moving money.
 */

export type Database = {
  /** As the service, which sees all accounts: every statement must filter by account itself. */
  readonly system: Session;
  /** The same on dedicated connections, for batches: each statement is a transaction. */
  readonly lanes: readonly Session[];
  /** The same for statements that may wait long for locks: never on all connections at once. */
  readonly waiting: Session & Pick<Database, 'systemTransaction'>;
  /** Reads and writes rows of one account only. */
  tenant(accountId: string): Session;
  /** With `accountId`, it counts against the quota of that account. */
  systemTransaction<T>(
    work: (session: Session) => Promise<T>,
    options?: { accountId?: string },
  ): Promise<T>;
  tenantTransaction<T>(accountId: string, work: (session: Session) => Promise<T>): Promise<T>;
  /** Whose spans statements belong to; modules that use the database begin theirs with it. */
  readonly tracing?: Tracing | undefined;
  /** Present use of connections, by pool. */
  connections(): readonly PoolConnections[];
  /** Whether a statement of the last minute found no disk space left at the server. */
  isDiskFull(): boolean;
  /** Rejects unless requests and background work would reach a database that answers. */
  checkReady(): Promise<void>;
  close(): Promise<void>;
};

export type PoolConnections = PoolUse & { readonly pool: 'system' | 'tenant' };

export type DatabaseOptions = {
  url: string;
  /** Instead of one that is made from the URL. */
  opener?: Opener;
  connectionsMax: number;
  /** As `inspectServer` found it; by session without it. */
  pooling?: Pooling;
  /** As whom the process works; as `outlay_service` without it. */
  serviceRole?: ServiceRole;
  /** Called when an idle connection is lost; the next statement opens a new one. */
  onConnectionLost?: (error: Error) => void;
  /** Of a process that uses the index key; without it, a rotation does not wait for this process. */
  indexKey?: IndexKeyHold | undefined;
  /** How the server's views name its connections. */
  processName?: string | undefined;
  tracing?: Tracing | undefined;
  /** Those of production without it. */
  limits?: SilenceLimits;
};

const probe: Statement = { name: 'probe', text: 'select 1' };
/** Fails if the tenant role lacks its grants, as after a restore without that role. */
const tenantProbe: Statement = { name: 'tenant_probe', text: 'select id from accounts limit 0' };

/** An account always uses the same lane. */
export const laneCount = Math.min(4, availableParallelism());
/** How long a request waits for others of its account. */
const quotaWaitMsMax = 2_000;

const diskFullMs = 60_000;

type Parts = {
  opener: Opener;
  system: ConnectionPool;
  tenant: ConnectionPool;
  lanes: ReturnType<typeof createLane>[];
  search: ReturnType<typeof searchDeadConnections>;
  closeIdle: NodeJS.Timeout;
};

export function connectDatabase(options: DatabaseOptions): Database {
  const parts = openParts(options);
  const { lanes } = parts;
  const most = Math.max(2, Math.floor(options.connectionsMax / 4));
  const quotas = {
    system: createAccountQuota({ most, waitMsMax: quotaWaitMsMax }),
    tenant: createAccountQuota({ most, waitMsMax: quotaWaitMsMax }),
  };
  const withTenant = <T>(
    accountId: string,
    work: (connection: Connection) => Promise<T>,
  ): Promise<T> => quotas.tenant.run(accountId, () => retry(() => parts.tenant.use(work)));
  // A statement by itself is a transaction too.
  const system = createSession((statement, values) =>
    retry(() => parts.system.use((connection) => run(connection, statement, values))),
  );
  const systemTransaction: Database['systemTransaction'] = (work, { accountId } = {}) => {
    const transaction = () =>
      retry(() => parts.system.use((connection) => transact(connection, work)));
    return accountId === undefined ? transaction() : quotas.system.run(accountId, transaction);
  };
  const { run: inTurn } = createSemaphore(Math.max(1, Math.floor(options.connectionsMax / 2)));
  return {
    system,
    lanes,
    waiting: {
      ...createSession((statement, values) => inTurn(() => system.query(statement, values))),
      systemTransaction: (work, about) => inTurn(() => systemTransaction(work, about)),
    },
    tenant: (accountId) =>
      createSession((statement, values) =>
        withTenant(accountId, (connection) =>
          runBound(connection, accountId, { statement, values }),
        ),
      ),
    systemTransaction,
    tracing: options.tracing,
    tenantTransaction: (accountId, work) =>
      withTenant(accountId, (connection) =>
        transact(connection, async (session) => {
          await session.query(bindAccount, [accountId]);
          return work(session);
        }),
      ),
    connections: () => [
      { pool: 'system', ...parts.system.describeUse() },
      { pool: 'tenant', ...parts.tenant.describeUse() },
    ],
    isDiskFull: () => {
      const { diskFullAtMs = Number.NEGATIVE_INFINITY } = parts.opener.health;
      return performance.now() - diskFullAtMs < diskFullMs;
    },
    checkReady: () => checkReady(parts),
    close: async () => {
      parts.search.stop();
      clearInterval(parts.closeIdle);
      await Promise.all([parts.system, parts.tenant, ...lanes].map((part) => part.close()));
    },
  };
}

const closeIdleEveryMs = 10_000;

function openParts(options: DatabaseOptions): Parts {
  const { connectionsMax, limits = silenceLimits } = options;
  const { opener = createOpener(options.url, options) } = options;
  const onConnectionLost = options.onConnectionLost ?? (() => undefined);
  /** The cause of one dead connection most likely affects all. */
  const onDead = (): void => {
    for (const part of [system, tenant, ...lanes]) part.distrust();
  };
  const common = { opener, connectionsMax, onConnectionLost, onDead, limits };
  const system = createConnectionPool({
    ...common,
    statementMsMax: backgroundMsMax,
    role: 'outlay_service',
  });
  const tenant = createConnectionPool({
    ...common,
    statementMsMax: requestMsMax,
    role: tenantRole,
  });
  const lanes = Array.from({ length: laneCount }, () => createLane(common));
  const search = searchDeadConnections({
    opener,
    limits,
    list: () => [system, tenant, ...lanes].flatMap((part) => [...part.list()]),
    onDead: (error) => {
      onConnectionLost(error);
      onDead();
    },
  });
  const closeIdle = setInterval(() => {
    system.closeIdle();
    tenant.closeIdle();
  }, closeIdleEveryMs);
  closeIdle.unref();
  return { opener, system, tenant, lanes, search, closeIdle };
}

async function checkReady({ system, tenant, lanes, search }: Parts): Promise<void> {
  if (search.hasSilent()) throw new Error('the database has not answered for seconds');
  await Promise.all([
    system.use((connection) => run(connection, probe)),
    tenant.use((connection) => run(connection, tenantProbe)),
    ...lanes.map((lane) => lane.query(probe)),
  ]);
}

function sessionOf(connection: Connection): Session {
  return createSession((statement, values) => run(connection, statement, values));
}

async function transact<T>(
  connection: Connection,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  await begin(connection);
  let result: T;
  try {
    result = await work(sessionOf(connection));
    await holdIndexKey(connection);
  } catch (error) {
    // A rollback would wait behind the unanswered statement.
    if (!isUnanswered(error)) await runPlain(connection, 'rollback').catch(() => undefined);
    throw error;
  }
  // A failed statement that `work` ignored shows only here.
  if ((await runPlain(connection, 'commit')) !== 'COMMIT') {
    throw new Error('the transaction was rolled back instead');
  }
  return result;
}
