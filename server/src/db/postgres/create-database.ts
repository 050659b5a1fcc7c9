import pg from 'pg';
import type { RunningServer } from '../embedded/embedded.ts';

/** Creates a database of the embedded server unless it exists, and returns its URL. */
export async function createDatabaseIfAbsent(server: RunningServer, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: server.connectionUrl('postgres') });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
  return server.connectionUrl(name);
}
