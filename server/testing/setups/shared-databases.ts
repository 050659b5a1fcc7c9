import pg from 'pg';
import type { Opener } from '../../src/db/postgres/connection.ts';
import { keepConnections } from './kept-connections.ts';

/**
 * Databases of ended tests, emptied for the next ones of the process: that takes a fraction of the
 * processor time of cloning the template and dropping the clone.
 */

export type SharedDatabase = {
  readonly url: string;
  readonly opener: Opener;
  /**
   * Disconnects all clients but those that the opener keeps. Returns false for a database whose schema or
   * settings have changed, or that has so many rows that the plans of the next test would differ.
   */
  empty(): Promise<boolean>;
  close(): Promise<void>;
};

/**
 * Opens a new clone of the template for reuse. Undefined where the role may not disable the triggers that
 * refuse to delete what the service never deletes.
 */
export async function openShared(url: string): Promise<SharedDatabase | undefined> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  const isSuper = `select rolsuper as found from pg_roles where rolname = current_user`;
  if ((await client.query<{ found: boolean }>(isSuper)).rows[0]?.found !== true) {
    await client.end();
    return undefined;
  }
  const filledAtFirst = (await listFilled(client)).map(({ name }) => name);
  const isKept = (name: string): boolean => filledAtFirst.includes(name);
  const fingerprint = async (): Promise<string> => {
    const { rows } = await client.query(writeFingerprint(filledAtFirst));
    return JSON.stringify(rows);
  };
  const original = await fingerprint();
  await client.query('set session_replication_role = replica');
  const kept = keepConnections(url);
  return {
    url,
    opener: kept.opener,
    empty: async () => {
      await client.query(disconnectOthers, [kept.listIdle()]);
      if ((await fingerprint()) !== original) return false;
      const filled = (await listFilled(client)).filter(({ name }) => !isKept(name));
      if (filled.some(({ bytes }) => bytes > tableBytesMax)) return false;
      const statements = [...filled.map(({ name }) => `delete from ${name}`), resetSequences];
      await client.query(statements.join(';'));
      return true;
    },
    close: async () => {
      kept.close();
      await client.end();
    },
  };
}

/** Waits until they have ended, so that none of their transactions commits later. */
const disconnectOthers = `
  select pg_terminate_backend(pid, 10000) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and pid <> all ($1::int[])`;

const resetSequences = `
  select setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
  from pg_sequences where last_value is not null`;

/** A test of many rows leaves more in one table; deleted rows count until they are vacuumed. */
const tableBytesMax = 4_000_000;

async function listFilled(client: pg.Client): Promise<{ name: string; bytes: number }[]> {
  const { rows } = await client.query<{ name: string; bytes: number }>(
    `select * from (
      select oid::regclass::text as name, pg_relation_size(oid)::float8 as bytes from pg_class
      where relkind = 'r' and relnamespace = 'public'::regnamespace
    ) tables where bytes > 0`,
  );
  return rows;
}

/** Changes with each object of the schema, each grant and setting, and each row that the template has. */
function writeFingerprint(filled: readonly string[]): string {
  const catalogs = [
    'class',
    'attribute',
    'proc',
    'trigger',
    'constraint',
    'policy',
    'index',
    'type',
  ];
  const objects = catalogs.map(
    (name) => `select '${name}', count(*), max(xmin::text::bigint) from pg_${name}`,
  );
  const settings = `
    select 'settings', count(*), coalesce(sum(hashtext(setconfig::text)), 0) from pg_db_role_setting
    where setdatabase = (select oid from pg_database where datname = current_database())`;
  const rows = filled.map(
    (name) => `select '${name}', count(*), coalesce(sum(hashtext(t::text)), 0) from ${name} t`,
  );
  return [...objects, settings, ...rows].join(' union all ');
}
