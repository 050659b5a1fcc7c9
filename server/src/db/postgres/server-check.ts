import pg from 'pg';
import { createOpener, type Opener } from './connection.ts';

/** Checks a database server before anything is stored in it. */

export type ServerFault = {
  /** `pooling` mixes up tenants; `durability` loses what was acknowledged. */
  kind: 'pooling' | 'durability';
  /** The problem and its solution, without the URL. */
  text: string;
};

const checkMsMax = 10_000;
const rounds = 4;

/** @throws the error of the connection if the server is unreachable. */
export async function findServerFaults(url: string): Promise<ServerFault[]> {
  const opener = createOpener(url);
  const faults: ServerFault[] = await findDurabilityFaults(opener);
  if (await isPooledByTransaction(opener)) {
    faults.push({
      kind: 'pooling',
      text:
        'a connection pooler hands out server connections by transaction or statement; ' +
        'sessions keep the tenant and prepared statements, so set pool_mode = session for this ' +
        'database, or connect to PostgreSQL itself',
    });
  }
  return faults;
}

async function findDurabilityFaults(opener: Opener): Promise<ServerFault[]> {
  const { client } = await opener.open({ statementMsMax: checkMsMax });
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

const findProcess = 'select pg_backend_pid() as process_id';

/**
 * Whether two clients ever share a server process, or one client uses two. The first client runs single
 * statements while the second keeps its process in a transaction: a pooler that returns processes after
 * each transaction must show it, whatever its order.
 */
async function isPooledByTransaction(opener: Opener): Promise<boolean> {
  // Opened without settings, which could fail behind such a pooler.
  const first = await opener.open({});
  const second = await opener.open({}).catch(async (error: unknown) => {
    await first.client.end();
    throw error;
  });
  const seen = { first: new Set<number>(), second: new Set<number>() };
  const readProcess = async (client: pg.Client, into: Set<number>): Promise<void> => {
    const { rows } = await client.query<{ process_id: number }>(findProcess);
    for (const row of rows) into.add(row.process_id);
  };
  try {
    for (let round = 0; round < rounds; round += 1) {
      await readProcess(first.client, seen.first);
      await second.client.query('begin');
      await readProcess(second.client, seen.second);
      await readProcess(first.client, seen.first);
      await second.client.query('commit');
    }
  } catch (error) {
    // A pooler by statement refuses transactions of several statements.
    if (error instanceof pg.DatabaseError) return true;
    throw error;
  } finally {
    await Promise.all([first.client.end(), second.client.end()]);
  }
  const areShared = !seen.first.isDisjointFrom(seen.second);
  return areShared || seen.first.size > 1 || seen.second.size > 1;
}
