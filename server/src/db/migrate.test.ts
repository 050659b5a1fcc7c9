import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase } from '../../testing/setups/database.ts';
import { freezeSchema, type Migration, migrate, readMigrations } from './migrate.ts';

const folder = await mkdtemp(join(tmpdir(), 'outlay-migrations-'));
after(() => rm(folder, { recursive: true }));
const addName = `
  alter table accounts add column legal_name text;
  update accounts set legal_name = upper(name);`;

/** The migrations after `text` was added as the second one. */
async function readWith(text: string): Promise<Migration[]> {
  await writeFile(join(folder, '0002_legal_name.sql'), text);
  return readMigrations(folder);
}

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

const insertAccount = `
  insert into accounts (id, name, created_at) values (gen_random_uuid(), 'Acme', now())`;

test('a second migration requires that the first one is frozen', async () => {
  await assert.rejects(readWith(addName), /0001_initial.sql must exist .*: run npm run freeze/);
  await rm(join(folder, '0002_legal_name.sql'));
});

test('a database made from the live schema goes on after the freeze, its rows kept', async () => {
  await using database = await createTestDatabase({ isEmpty: true });
  const { url } = database;
  await migrate({ url });
  await query(url, insertAccount);
  await freezeSchema(folder);
  const migrations = await readWith(addName);
  // Two processes of the new release start at once.
  await Promise.all([migrate({ url, migrations }), migrate({ url, migrations })]);
  assert.deepEqual(await query(url, 'select name, legal_name from accounts'), [
    { name: 'Acme', legal_name: 'ACME' },
  ]);
  assert.deepEqual(await query(url, 'select version, name from migrations order by 1'), [
    { version: 1, name: 'initial' },
    { version: 2, name: 'legal_name' },
  ]);
});

test('a migration that fails leaves nothing behind, and runs when it is mended', async () => {
  await using database = await createTestDatabase({ isEmpty: true });
  const { url } = database;
  const broken = await readWith(`${addName} select 1 / 0;`);
  await assert.rejects(migrate({ url, migrations: broken }), {
    message: 'migration 2 (legal_name) failed: error: division by zero',
  });
  await migrate({ url, migrations: await readWith(addName) });
  assert.equal((await query(url, 'select from migrations')).length, 2);
});

test('a migration that was edited after it had run is refused', async () => {
  await using database = await createTestDatabase({ isEmpty: true });
  const { url } = database;
  await migrate({ url, migrations: await readWith(addName) });
  const edited = await readWith(`${addName} -- edited`);
  await assert.rejects(
    migrate({ url, migrations: edited }),
    /^Error: migration 2 \(legal_name\) was edited after it had run here$/,
  );
});

test('a database of an unreleased schema is refused, with what to do', async () => {
  await using database = await createTestDatabase();
  const { url } = database;
  await query(url, `update migrations set hash = 'other'`);
  await assert.rejects(
    migrate({ url }),
    /^Error: the database was made .* never released.*use a new database .*data folder/,
  );
});

test('a database that a newer release has migrated is refused', async () => {
  await using database = await createTestDatabase();
  const { url } = database;
  await query(url, `insert into migrations (version, name, hash) values (2, 'newer', '')`);
  await assert.rejects(migrate({ url }), /migrated by a newer release: update the program/);
});
