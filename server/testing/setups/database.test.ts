import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { createTestDatabase } from './database.ts';

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

test('each test database is migrated and is its own', async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  try {
    await withClient(one.url, (client) => client.query('create table only_here (id int)'));
    const tables = (url: string): Promise<string[]> =>
      withClient(url, async (client) => {
        const { rows } = await client.query<{ name: string }>(
          `select table_name as name from information_schema.tables where table_schema = 'public'`,
        );
        return rows.map((row) => row.name);
      });
    const [inOne, inOther] = await Promise.all([tables(one.url), tables(other.url)]);
    assert.ok(inOne.includes('only_here') && inOne.includes('migrations'));
    assert.ok(!inOther.includes('only_here') && inOther.includes('migrations'));
  } finally {
    await Promise.all([one.drop(), other.drop()]);
  }
});

test('a dropped test database is gone, connections to it included', async () => {
  const database = await createTestDatabase();
  const client = new pg.Client({ connectionString: database.url });
  const lost = new Promise<Error>((settle) => {
    client.once('error', settle);
  });
  client.on('error', () => undefined);
  await client.connect();
  await database.drop();
  assert.match((await lost).message, /terminat/);
  await assert.rejects(
    withClient(database.url, (again) => again.query('select 1')),
    {
      code: '3D000',
    },
  );
  await database.drop();
});
