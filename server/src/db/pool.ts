import pg from 'pg';

/**
 * The database as the modules see it: statements prepared by name, sessions bound to one client
 * account (row-level security backs every filter), and a system session for loops and for what
 * moves money.
 */

/** A statement with the name under which each connection prepares it once. */
export type Statement = {
  readonly name: string;
  readonly text: string;
  /** For the few that read everything; the others have half a minute. */
  readonly answerMsMax?: number;
};

export type Session = {
  /** Integers of 64 bits decode as bigint, timestamptz as Date, bytea as Buffer. */
  rows<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
};

export type Database = {
  /** The owner's view: all accounts. Every statement names its account itself. */
  readonly system: Session;
  /** Sees and writes the rows of one account only, whatever the statement says. */
  tenant(accountId: string): Session;
  systemTransaction<T>(work: (session: Session) => Promise<T>): Promise<T>;
  tenantTransaction<T>(accountId: string, work: (session: Session) => Promise<T>): Promise<T>;
  close(): Promise<void>;
};

export type DatabaseOptions = {
  url: string;
  connectionsMax: number;
  /** Told of the loss of an idle connection; the next statement opens a new one. */
  onConnectionLost?: (error: Error) => void;
};

/**
 * Every statement finds its rows through an index whatever its parameters are, so that one plan
 * serves all of them; planning anew costs several times what most of them cost to run. A plan that
 * was made while a table was small must not read all of it once it is large. Nobody waits for a lock
 * for longer than a client would.
 */
const planning = `set plan_cache_mode = force_generic_plan; set jit = off;
  set enable_seqscan = off; set lock_timeout = 5000`;

const decodeBigint = (text: string): bigint => BigInt(text);
const types: pg.CustomTypesConfig = {
  getTypeParser: (id: number, format?: string): unknown =>
    id === pg.types.builtins.INT8 && format !== 'binary'
      ? decodeBigint
      : pg.types.getTypeParser(id, format === 'binary' ? 'binary' : 'text'),
};

const setAccount: Statement = {
  name: 'set_account',
  text: `select set_config('outlay.account', $1, false)`,
};

/** SQLSTATEs after which the same transaction may simply be run again: it left nothing behind. */
const retryableStates = new Set(['40001', '40P01']);
const transactionTriesMax = 4;

const statementMsMax = 30_000;
/**
 * The server ends a statement by itself before that. Where no answer has come by then, none will: a
 * network that swallows what is sent would otherwise keep the commits of an account waiting for ever.
 */
const answerMsMax = statementMsMax + 5_000;

/** The driver's way to say that no answer has come; the connection must not be used again. */
function isUnanswered(error: unknown): error is Error {
  return error instanceof Error && error.message === 'Query read timeout';
}

export function connectDatabase(options: DatabaseOptions): Database {
  const systemPool = createPool(options, planning);
  const tenantPool = createPool(options, `${planning}; set role outlay_tenant`);
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

  return {
    system: {
      // A statement by itself is a transaction too.
      rows: (statement, values) =>
        retry(() => withClient(systemPool, (client) => run(client, statement, values))),
    },
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
    close: async () => {
      await Promise.all([systemPool.end(), tenantPool.end()]);
    },
  };
}

function createPool(options: DatabaseOptions, onConnect: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connectionsMax,
    types,
    application_name: 'outlay',
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    statement_timeout: statementMsMax,
    query_timeout: answerMsMax,
    keepAlive: true,
    idle_in_transaction_session_timeout: 30_000,
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
    return await work(client);
  } catch (error) {
    // The server ends the connection after such an error: nobody must get it again.
    if (error instanceof pg.DatabaseError && error.severity === 'FATAL') broken = error;
    if (isUnanswered(error)) broken = error;
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

async function run<Row>(
  client: pg.PoolClient,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const { name, text, answerMsMax: query_timeout } = statement;
  const result = await client.query({
    name,
    text,
    values: values as unknown[],
    ...(query_timeout === undefined ? {} : { query_timeout }),
  });
  return result.rows as Row[];
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
  await client.query('commit');
  return result;
}

async function retry<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tries === transactionTriesMax || !retryableStates.has(findSqlState(error) ?? '')) {
        throw error;
      }
    }
  }
}

/** The SQLSTATE of a database error, or undefined for any other error. */
export function findSqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The constraint that a database error names (a unique key, a check), or undefined. */
export function findConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.constraint : undefined;
}
