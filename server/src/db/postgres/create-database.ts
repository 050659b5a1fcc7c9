import pg from 'pg';
import type { RunningServer } from '../embedded/embedded.ts';

/** Makes a database of the embedded server where it is not there yet, and answers its URL. */
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
