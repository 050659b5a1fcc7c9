import pg from 'pg';
import { createOpener, type Opener } from './connection.ts';

/** What a database server must be like, checked before anything is stored in it. */

export type ServerFault = {
  /** `pooling` mixes up tenants; `durability` loses what was acknowledged. */
  kind: 'pooling' | 'durability';
  /** What is wrong and what to do, without the URL. */
  text: string;
};

const checkMsMax = 10_000;
const rounds = 4;

/** @throws what the server answered, where it cannot be reached. */
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
 * Whether two clients ever meet in one server process, or one client in two. The first client runs
 * single statements while the second holds its process in a transaction; a pooler that gives a
 * process back after the transaction must then show it, in whatever order it hands them out.
 */
async function isPooledByTransaction(opener: Opener): Promise<boolean> {
  // Opened plainly: to open a connection fully may itself fail behind such a pooler.
  const first = await opener.open({});
  const second = await opener.open({}).catch(async (error: unknown) => {
    await first.client.end();
    throw error;
  });
  const seen = { first: new Set<number>(), second: new Set<number>() };
  const look = async (client: pg.Client, into: Set<number>): Promise<void> => {
    const { rows } = await client.query<{ process_id: number }>(findProcess);
    for (const row of rows) into.add(row.process_id);
  };
  try {
    for (let round = 0; round < rounds; round += 1) {
      await look(first.client, seen.first);
      await second.client.query('begin');
      await look(second.client, seen.second);
      await look(first.client, seen.first);
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
