import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { createTestDatabase } from './database.ts';
import { openShared } from './shared-databases.ts';

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
  const database = await createTestDatabase({ isFresh: true });
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

test('a shared database is emptied like a new one, and its clients are disconnected', async () => {
  await using database = await createTestDatabase({ isFresh: true });
  const shared = await openShared(database.url);
  // Only a superuser may disable the triggers that refuse to delete.
  if (shared === undefined) return;
  const client = new pg.Client({ connectionString: database.url });
  const lost = new Promise<void>((settle) => {
    client.once('error', () => settle());
  });
  client.on('error', () => undefined);
  await client.connect();
  await client.query(`insert into environment (name, master_key_id) values ('staging', 'test')`);
  await client.query(`select nextval('dispatch_fences')`);
  await client.query('begin');
  await client.query('lock table environment');
  assert.ok(await shared.empty());
  await lost;
  await withClient(database.url, async (again) => {
    const { rows } = await again.query(
      `select (select count(*)::int from environment) as rows, nextval('dispatch_fences')::int as fence`,
    );
    assert.deepEqual(rows, [{ rows: 0, fence: 1 }]);
  });
  await shared.close();
});

test('a shared database that differs from the template is not used again', async () => {
  for (const change of [
    'create table further (id int)',
    'drop index payouts_user',
    'alter table users add column nickname text',
    'grant truncate on users to outlay_tenant',
    'update payout_statuses set has_ended = not has_ended',
    `delete from payout_outcomes where outcome = 'accepted'`,
    `do $$ begin execute format('alter database %I set work_mem = ''5MB''', current_database()); end $$`,
    'alter function environment_now() volatile',
  ]) {
    await using database = await createTestDatabase({ isFresh: true });
    const shared = await openShared(database.url);
    if (shared === undefined) return;
    await withClient(database.url, async (client) => {
      await client.query('set session_replication_role = replica');
      await client.query(change);
    });
    assert.equal(await shared.empty(), false, change);
    await shared.close();
  }
});
