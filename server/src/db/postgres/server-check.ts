import pg from 'pg';
import { createOpener, destroy, type Opener } from './connection.ts';
import { isUnanswered } from './errors.ts';
import type { Pooling } from './session-settings.ts';

/** Checks a database server before anything is stored in it. */

export type ServerFault = {
  /** `pooling` mixes up sessions; `durability` loses what was acknowledged. */
  kind: 'pooling' | 'durability';
  /** The problem and its solution, without the URL. */
  text: string;
};

export type ServerInspection = {
  readonly faults: readonly ServerFault[];
  /** By transaction only where that works. */
  readonly pooling: Pooling;
};

const checkMsMax = 10_000;
const rounds = 4;

/** @throws the error of the connection if the server is unreachable. */
export async function inspectServer(url: string): Promise<ServerInspection> {
  // Sets nothing that a pooler could hand on to the next client.
  const opener = createOpener(url, { pooling: 'transaction' });
  const durability = await findDurabilityFaults(opener);
  const pooled = await inspectPooling(opener);
  const faults = pooled.fault === undefined ? durability : [...durability, pooled.fault];
  return { faults, pooling: pooled.pooling };
}

async function findDurabilityFaults(opener: Opener): Promise<ServerFault[]> {
  const { client } = await opener.open({});
  try {
    const { rows } = await client.query<{ name: string }>(
      `select name from pg_settings where name in ('fsync', 'full_page_writes')
         and setting = 'off' order by name`,
    );
    return rows.map(({ name }) => ({
      kind: 'durability',
      text:
        `${name} is off at the database server: a crash may lose or damage acknowledged payouts; ` +
        `set ${name} = on in postgresql.conf`,
    }));
  } finally {
    await client.end();
  }
}

type Pooled = { pooling: Pooling; fault?: ServerFault };

/** Asks two clients at once; `fault` explains why the pooler cannot be used. */
async function inspectPooling(opener: Opener): Promise<Pooled> {
  const first = await opener.open({});
  const second = await opener.open({}).catch(async (error: unknown) => {
    await first.client.end();
    throw error;
  });
  const clients = [first.client, second.client] as const;
  try {
    if (!(await areProcessesShared(clients))) return { pooling: 'session' };
    if (await arePreparedStatementsKept(clients)) return { pooling: 'transaction' };
    return refuse(
      'a connection pooler hands out server connections by transaction and loses prepared ' +
        'statements: use PgBouncer 1.21 or newer with max_prepared_statements above 0, set ' +
        'pool_mode = session for this database, or connect to PostgreSQL itself',
    );
  } catch (error) {
    if (isUnanswered(error)) {
      return refuse(
        'a connection pooler gave two clients no connection each within 10 seconds: raise ' +
          'default_pool_size for this database, or connect to PostgreSQL itself',
      );
    }
    if (!(error instanceof pg.DatabaseError)) throw error;
    // A pooler by statement refuses transactions of several statements.
    return refuse(
      'a connection pooler hands out server connections by statement, which allows no ' +
        'transactions: set pool_mode = session for this database, or connect to PostgreSQL itself',
    );
  } finally {
    // The unanswered would let an orderly end wait.
    for (const client of clients) destroy(client);
  }
}

const refuse = (text: string): Pooled => ({ pooling: 'session', fault: { kind: 'pooling', text } });

type Pair = readonly [first: pg.Client, second: pg.Client];

async function ask(client: pg.Client, query: pg.QueryConfig): Promise<unknown> {
  const { rows } = await client.query({ ...query, query_timeout: checkMsMax } as pg.QueryConfig);
  return (rows[0] as { answer: unknown } | undefined)?.answer;
}

/**
 * Whether two clients ever share a server process, or one client uses two. Single statements show it
 * where the pooler hands out the process that came back last, or where it takes turns; the others are
 * tried while one client keeps its process in a transaction.
 */
async function areProcessesShared([first, second]: Pair): Promise<boolean> {
  const query = { text: 'select pg_backend_pid() as answer' };
  const seen = { first: new Set<unknown>(), second: new Set<unknown>() };
  const readFirst = async (): Promise<unknown> => seen.first.add(await ask(first, query));
  const readSecond = async (): Promise<unknown> => seen.second.add(await ask(second, query));
  for (let round = 0; round < rounds; round += 1) {
    await readFirst();
    await ask(second, { text: 'begin' });
    await readSecond();
    await readFirst();
    await ask(second, { text: 'commit' });
    await readFirst();
    await readSecond();
  }
  const areShared = !seen.first.isDisjointFrom(seen.second);
  return areShared || seen.first.size > 1 || seen.second.size > 1;
}

/**
 * Whether the pooler prepares a client's statements wherever that client is sent: both prepare another one
 * under the same name, and run it on processes that the other one has used too.
 */
async function arePreparedStatementsKept([first, second]: Pair): Promise<boolean> {
  const name = 'pooling_probe';
  const areRight = async (): Promise<boolean> => {
    const answers = [
      await ask(first, { name, text: `select 'first' as answer` }),
      await ask(second, { name, text: `select 'second' as answer` }),
    ];
    return answers[0] === 'first' && answers[1] === 'second';
  };
  try {
    for (let round = 0; round < rounds; round += 1) {
      if (!(await areRight())) return false;
      await ask(second, { text: 'begin' });
      if (!(await areRight())) return false;
      await ask(second, { text: 'commit' });
    }
    return true;
  } catch (error) {
    // The statement exists already, or does not exist.
    if (error instanceof pg.DatabaseError) return false;
    throw error;
  }
}
