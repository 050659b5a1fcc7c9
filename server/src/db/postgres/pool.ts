import { availableParallelism } from 'node:os';
import { createAccountShare } from './account-share.ts';
import {
  backgroundMsMax,
  type Connection,
  createOpener,
  createSession,
  isUnanswered,
  requestMsMax,
  retry,
  run,
  runPlain,
  type Session,
  type Statement,
} from './connection.ts';
import { type ConnectionPool, createConnectionPool, type PoolUse } from './connection-pool.ts';
import { searchDeadConnections } from './dead-connections.ts';
import { createLane } from './lane.ts';

export { findConstraint, findSqlState, type Session, type Statement } from './connection.ts';

/**
 * The database as the modules see it: statements prepared by name, sessions bound to one client
 * account (row-level security backs every filter), and a system session for loops and for what
 * moves money.
 */

export type Database = {
  /** The owner's view: all accounts. Every statement names its account itself. */
  readonly system: Session;
  /** The same on connections of their own, for batches: each statement is a transaction. */
  readonly lanes: readonly Session[];
  /** The same for what may wait long for locks: never on all connections at once. */
  readonly waiting: Session & Pick<Database, 'systemTransaction'>;
  /** Sees and writes the rows of one account only, whatever the statement says. */
  tenant(accountId: string): Session;
  /** With `accountId`, it counts against what that account may hold of the connections. */
  systemTransaction<T>(
    work: (session: Session) => Promise<T>,
    options?: { accountId?: string },
  ): Promise<T>;
  tenantTransaction<T>(accountId: string, work: (session: Session) => Promise<T>): Promise<T>;
  /** Connections at this moment, by pool; `waiting`: callers for whom there is none. */
  connections(): readonly PoolConnections[];
  /** Rejects unless requests and background work would reach a database that answers. */
  checkReady(): Promise<void>;
  close(): Promise<void>;
};

export type PoolConnections = PoolUse & { readonly pool: 'system' | 'tenant' };

export type DatabaseOptions = {
  url: string;
  connectionsMax: number;
  /** Told of the loss of an idle connection; the next statement opens a new one. */
  onConnectionLost?: (error: Error) => void;
};

const setAccount: Statement = {
  name: 'set_account',
  text: `select set_config('outlay.account', $1, false)`,
};
const probe: Statement = { name: 'probe', text: 'select 1' };
/** Fails where the tenant role lacks its grants, as after a restore without that role. */
const tenantProbe: Statement = { name: 'tenant_probe', text: 'select id from accounts limit 0' };

/** As many as work on batches at once; an account is always in the same one. */
export const laneCount = Math.min(4, availableParallelism());
/** How long a request waits for others of its account before it is refused. */
const shareWaitMsMax = 2_000;

type Parts = {
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
  const shares = {
    system: createAccountShare({ most, waitMsMax: shareWaitMsMax }),
    tenant: createAccountShare({ most, waitMsMax: shareWaitMsMax }),
  };
  const accountOf = new WeakMap<Connection, string>();
  const withTenant = <T>(
    accountId: string,
    work: (connection: Connection) => Promise<T>,
  ): Promise<T> =>
    shares.tenant.run(accountId, () =>
      retry(() =>
        parts.tenant.use(async (connection) => {
          // The setting lasts as long as the connection: an account's traffic pays for it once.
          if (accountOf.get(connection) !== accountId) {
            await run(connection, setAccount, [accountId]);
            accountOf.set(connection, accountId);
          }
          return work(connection);
        }),
      ),
    );
  // A statement by itself is a transaction too.
  const system = createSession((statement, values) =>
    retry(() => parts.system.use((connection) => run(connection, statement, values))),
  );
  const systemTransaction: Database['systemTransaction'] = (work, { accountId } = {}) => {
    const transaction = () =>
      retry(() => parts.system.use((connection) => transact(connection, work)));
    return accountId === undefined ? transaction() : shares.system.run(accountId, transaction);
  };
  const inTurn = createSemaphore(Math.max(1, Math.floor(options.connectionsMax / 2)));
  return {
    system,
    lanes,
    waiting: {
      ...createSession((statement, values) => inTurn(() => system.query(statement, values))),
      systemTransaction: (work, about) => inTurn(() => systemTransaction(work, about)),
    },
    tenant: (accountId) =>
      createSession((statement, values) =>
        withTenant(accountId, (connection) => run(connection, statement, values)),
      ),
    systemTransaction,
    tenantTransaction: (accountId, work) =>
      withTenant(accountId, (connection) => transact(connection, work)),
    connections: () => [
      { pool: 'system', ...parts.system.describeUse() },
      { pool: 'tenant', ...parts.tenant.describeUse() },
    ],
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
  const { connectionsMax } = options;
  const opener = createOpener(options.url);
  const onConnectionLost = options.onConnectionLost ?? (() => undefined);
  /** What killed one connection has most likely killed all. */
  const onDead = (): void => {
    for (const part of [system, tenant, ...lanes]) part.distrust();
  };
  const common = { opener, connectionsMax, onConnectionLost, onDead };
  const system = createConnectionPool({ ...common, statementMsMax: backgroundMsMax });
  const tenant = createConnectionPool({
    ...common,
    statementMsMax: requestMsMax,
    role: 'outlay_tenant',
  });
  const lanes = Array.from({ length: laneCount }, () => createLane(common));
  const search = searchDeadConnections({
    opener,
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
  return { system, tenant, lanes, search, closeIdle };
}

async function checkReady({ system, tenant, lanes, search }: Parts): Promise<void> {
  if (search.hasSilent()) throw new Error('the database has not answered for seconds');
  await Promise.all([
    system.use((connection) => run(connection, probe)),
    tenant.use((connection) => run(connection, tenantProbe)),
    ...lanes.map((lane) => lane.query(probe)),
  ]);
}

/** Lets so many run at once; the others wait, each in its turn. */
function createSemaphore(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = [];
  let inside = 0;
  return async (work) => {
    if (inside < most) inside += 1;
    else await new Promise<void>((enter) => queue.push(enter));
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next === undefined) inside -= 1;
      else next();
    }
  };
}

function sessionOf(connection: Connection): Session {
  return createSession((statement, values) => run(connection, statement, values));
}

async function transact<T>(
  connection: Connection,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  await runPlain(connection, 'begin');
  let result: T;
  try {
    result = await work(sessionOf(connection));
  } catch (error) {
    // Behind a statement without an answer it would wait as long again.
    if (!isUnanswered(error)) await runPlain(connection, 'rollback').catch(() => undefined);
    throw error;
  }
  // Where a statement failed and `work` went on regardless, the server says so only here.
  if ((await runPlain(connection, 'commit')) !== 'COMMIT') {
    throw new Error('the transaction was rolled back instead');
  }
  return result;
}
