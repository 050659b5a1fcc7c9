import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase } from '../../testing/setups/database.ts';
import {
  freezeSchema,
  type Migration,
  migrate,
  readMigrations,
  SchemaMismatch,
} from './migrate.ts';

// A test database has the live schema, which is migration 1 also after the freeze: that is a test below.
const folder = await mkdtemp(join(tmpdir(), 'outlay-migrations-'));
after(() => rm(folder, { recursive: true }));
const addName = `-- works beside schema 0001
  alter table accounts add column legal_name text;
  update accounts set legal_name = upper(name);`;

/** The migrations with `text` as the second one. */
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

test('a second migration requires a frozen first one', async () => {
  await assert.rejects(readWith(addName), /0001_initial.sql must exist .*: run npm run freeze/);
  await rm(join(folder, '0002_legal_name.sql'));
});

test('a database created from the live schema is migrated after the freeze, with its rows', async () => {
  await using database = await createTestDatabase();
  const { url } = database;
  await query(url, insertAccount);
  await freezeSchema(folder);
  const migrations = await readWith(addName);
  // Two processes of the new release start at once.
  const ran = await Promise.all([migrate({ url, migrations }), migrate({ url, migrations })]);
  assert.deepEqual(ran.flat(), [2]);
  assert.deepEqual(await query(url, 'select name, legal_name from accounts'), [
    { name: 'Acme', legal_name: 'ACME' },
  ]);
  assert.deepEqual(await query(url, 'select version, name from migrations order by 1'), [
    { version: 1, name: 'initial' },
    { version: 2, name: 'legal_name' },
  ]);
});

test('a failed migration leaves nothing behind, and runs once it is corrected', async () => {
  await using database = await createTestDatabase({ isEmpty: true });
  const { url } = database;
  const broken = await readWith(`${addName} select 1 / 0;`);
  await assert.rejects(migrate({ url, migrations: broken }), {
    message: 'migration 2 (legal_name) failed: error: division by zero',
  });
  await migrate({ url, migrations: await readWith(addName) });
  assert.equal((await query(url, 'select from migrations')).length, 2);
});

/** The operator sees the message alone. */
const isMismatch = (message: RegExp) => (error: unknown) =>
  error instanceof SchemaMismatch && message.test(error.message);

test('a migration that was edited after it ran is refused', async () => {
  await using database = await createTestDatabase();
  const { url } = database;
  await migrate({ url, migrations: await readWith(addName) });
  const edited = await readWith(`${addName} -- edited`);
  await assert.rejects(
    migrate({ url, migrations: edited }),
    isMismatch(/^migration 2 \(legal_name\) was edited after it had run here$/),
  );
});

test('a database of an unreleased schema is refused with instructions', async () => {
  await using database = await createTestDatabase();
  const { url } = database;
  await query(url, `update migrations set hash = 'other'`);
  await assert.rejects(
    migrate({ url }),
    isMismatch(/^the database was made .* never released.*use a new database .*data folder/),
  );
});

test('a database migrated by a newer release is refused', async () => {
  await using database = await createTestDatabase();
  const { url } = database;
  await query(
    url,
    `insert into migrations (version, name, hash, works_beside) values (3, 'newer', '', 2)`,
  );
  await assert.rejects(migrate({ url }), isMismatch(/by a newer release: update the program/));
});

test('the previous release starts on a database whose migration works beside it', async () => {
  await using database = await createTestDatabase();
  const { url } = database;
  const migrations = await readWith(addName);
  await migrate({ url, migrations });
  await migrate({ url, migrations: migrations.slice(0, 1) });
});

test('a migration says beside which older schema it works', async () => {
  const refusal = /0002_legal_name.sql must begin with "-- works beside schema NNNN"/;
  await assert.rejects(readWith('alter table accounts add column legal_name text;'), refusal);
  await assert.rejects(readWith('-- works beside schema 0003\nselect 1;'), refusal);
});

test('a migration waits for a lock only briefly, and is tried again', async () => {
  await using database = await createTestDatabase();
  const { url } = database;
  const migrations = await readWith(addName);
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  await holder.query('begin; select from accounts');
  const migrating = migrate({ url, migrations });
  // A request that queues behind the migration waits no longer than the migration itself does: without
  // that, the first one would wait for the holder, which ends after all of them.
  for (let request = 0; request < 20; request += 1) {
    await query(url, 'select count(*) from accounts');
  }
  await holder.query('commit');
  await holder.end();
  await migrating;
  assert.equal((await query(url, 'select from migrations')).length, 2);
});

test('a migration that gets no lock fails, and names its tries', async () => {
  await using database = await createTestDatabase();
  const { url } = database;
  const migrations = await readWith(addName);
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  await holder.query('begin; select from accounts');
  await assert.rejects(migrate({ url, migrations, triesMax: 2 }), /2 times: .* lock timeout/);
  await holder.end();
});

test('a login that may not change the schema is told to migrate with the login that owns it', async () => {
  await using database = await createTestDatabase({ isEmpty: true });
  const login = `login_${randomBytes(6).toString('hex')}`;
  await query(database.url, `create role ${login} login password 'none'`);
  try {
    const url = new URL(database.url);
    url.username = login;
    url.password = 'none';
    await assert.rejects(
      migrate({ url: url.href }),
      isMismatch(/^the database does not have the schema of this release, .*outlay admin migrate/),
    );
  } finally {
    await query(database.url, `drop role ${login}`);
  }
});
