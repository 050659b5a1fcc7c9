import { availableParallelism } from 'node:os';
import pg from 'pg';
import {
  arePlansOld,
  breaksConnection,
  type ConnectionOptions,
  describeConnection,
  discardPlans,
  isUnanswered,
  planning,
  retry,
  run,
  type Session,
  type Statement,
} from './connection.ts';
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
  /** The same for statements that may wait long for locks: never on all connections at once. */
  readonly waiting: Session;
  /** Sees and writes the rows of one account only, whatever the statement says. */
  tenant(accountId: string): Session;
  systemTransaction<T>(work: (session: Session) => Promise<T>): Promise<T>;
  tenantTransaction<T>(accountId: string, work: (session: Session) => Promise<T>): Promise<T>;
  /** Connections at this moment, by pool; `waiting`: callers for whom there is none. */
  connections(): readonly PoolConnections[];
  close(): Promise<void>;
};

export type PoolConnections = {
  readonly pool: 'system' | 'tenant';
  readonly inUse: number;
  readonly idle: number;
  readonly waiting: number;
};

export type DatabaseOptions = ConnectionOptions & { connectionsMax: number };

const setAccount: Statement = {
  name: 'set_account',
  text: `select set_config('outlay.account', $1, false)`,
};

/** As many as work on batches at once; an account is always in the same one. */
export const laneCount = Math.min(4, availableParallelism());

export function connectDatabase(options: DatabaseOptions): Database {
  const systemPool = createPool(options, planning);
  const tenantPool = createPool(options, `${planning}; set role outlay_tenant`);
  const lanes = Array.from({ length: laneCount }, () => createLane(options));
  const accountOfClient = new WeakMap<pg.PoolClient, string>();

  const bind = async (client: pg.PoolClient, accountId: string): Promise<void> => {
    // The setting lasts as long as the connection, so one account's traffic pays for it once.
    if (accountOfClient.get(client) === accountId) return;
    await run(client, setAccount, [accountId]);
    accountOfClient.set(client, accountId);
  };
  const withTenant = <T>(accountId: string, work: (session: Session) => Promise<T>): Promise<T> =>
    withClient(tenantPool, async (client) => {
      await bind(client, accountId);
      return work(sessionOf(client));
    });

  const system: Session = {
    // A statement by itself is a transaction too.
    rows: (statement, values) =>
      retry(() => withClient(systemPool, (client) => run(client, statement, values))),
  };
  const inTurn = createTurnstile(Math.max(1, Math.floor(options.connectionsMax / 2)));
  return {
    system,
    lanes,
    waiting: { rows: (statement, values) => inTurn(() => system.rows(statement, values)) },
    tenant: (accountId) => ({
      rows: (statement, values) =>
        retry(() => withTenant(accountId, (session) => session.rows(statement, values))),
    }),
    systemTransaction: (work) =>
      retry(() => withClient(systemPool, (client) => transact(client, work))),
    tenantTransaction: (accountId, work) =>
      retry(() =>
        withClient(tenantPool, async (client) => {
          await bind(client, accountId);
          return transact(client, work);
        }),
      ),
    connections: () => [describePool('system', systemPool), describePool('tenant', tenantPool)],
    close: async () => {
      await Promise.all([systemPool.end(), tenantPool.end(), ...lanes.map((lane) => lane.close())]);
    },
  };
}

/** Lets so many through at once; the others wait, each in its turn. */
function createTurnstile(most: number): <T>(work: () => Promise<T>) => Promise<T> {
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

function createPool(options: DatabaseOptions, onConnect: string): pg.Pool {
  const pool = new pg.Pool({
    ...describeConnection(options.url),
    max: options.connectionsMax,
    idleTimeoutMillis: 60_000,
    // Its type has no promise, and yet the pool awaits it.
    // oxlint-disable-next-line typescript/no-misused-promises
    onConnect: async (client: pg.ClientBase) => {
      await client.query(onConnect);
    },
  });
  // Without a listener the loss of an idle connection would end the process.
  pool.on('error', (error) => options.onConnectionLost?.(error));
  return pool;
}

function describePool(name: PoolConnections['pool'], pool: pg.Pool): PoolConnections {
  const { totalCount, idleCount, waitingCount } = pool;
  return { pool: name, inUse: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
}

async function withClient<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const onError = (error: Error): void => {
    broken = error;
  };
  client.on('error', onError);
  try {
    if (arePlansOld(client)) await client.query(discardPlans);
    return await work(client);
  } catch (error) {
    if (breaksConnection(error)) broken = error;
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

function sessionOf(client: pg.PoolClient): Session {
  return { rows: (statement, values) => run(client, statement, values) };
}

async function transact<T>(
  client: pg.PoolClient,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  await client.query('begin');
  let result: T;
  try {
    result = await work(sessionOf(client));
  } catch (error) {
    // Behind a statement without an answer it would wait as long again.
    if (!isUnanswered(error)) await client.query('rollback').catch(() => undefined);
    throw error;
  }
  const { command } = await client.query('commit');
  // Where a statement failed and `work` went on regardless, the server says so only here.
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back instead');
  return result;
}
