import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import pg from 'pg';
import { freezeSchema, migrate, readMigrations } from '../server/src/db/migrate.ts';
import { readSchema } from '../server/src/db/schema.ts';
import { createTestDatabase } from '../server/testing/setups/database.ts';
import { compareCatalogs, readCatalog } from './catalog.ts';

const folder = await mkdtemp(join(tmpdir(), 'outlay-migrations-'));
after(() => rm(folder, { recursive: true }));

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

/** The migration of the test below that changes the schema without its files. */
const laterChange =
  'alter table accounts add column legal_name text; grant insert on accounts to outlay_tenant;';

/** The catalog of the schema files, and that after the later change. Reading the files takes longest. */
const fromFiles = (async () => {
  await using database = await createTestDatabase({ isEmpty: true });
  return await withClient(database.url, async (client) => {
    await client.query(await readSchema());
    const catalog = await readCatalog(client);
    await client.query(laterChange);
    return { catalog, changed: await readCatalog(client) };
  });
})();

test('migrating an empty database and reading the schema files give the same catalog', async () => {
  // A copy of the database that `migrate` made from an empty one.
  await using database = await createTestDatabase({ isFresh: true });
  const migrated = await withClient(database.url, readCatalog);
  assert.deepEqual(compareCatalogs(migrated, (await fromFiles).catalog), []);
});

test('a later migration must change the schema files, too', async () => {
  assert.equal(await freezeSchema(folder), join(folder, '0001_initial.sql'));
  const migration = `-- works beside schema 0001\n${laterChange}`;
  await writeFile(join(folder, '0002_legal_name.sql'), migration);
  const migrations = await readMigrations(folder);
  await using database = await createTestDatabase({ isEmpty: true });
  await migrate({ url: database.url, migrations });
  const migrated = await withClient(database.url, readCatalog);
  const { catalog, changed } = await fromFiles;
  assert.deepEqual(compareCatalogs(migrated, catalog), [
    'only in the migrations: column accounts.legal_name 13 text storage x "default"',
    'only in the migrations: grant INSERT on accounts to outlay_tenant',
  ]);
  assert.deepEqual(compareCatalogs(migrated, changed), []);
});

test('every kind of change shows in the catalog', async () => {
  // Without the schema, of which each look would read all functions and rows again.
  await using database = await createTestDatabase({ isEmpty: true });
  await withClient(database.url, async (client) => {
    await client.query('create table migrations (id integer primary key)');
    const readAfter = async (...changes: string[]): Promise<string[]> => {
      await client.query('begin');
      try {
        await client.query('create table sample (a integer, b text)');
        await client.query(`create function one() returns integer language sql as 'select 1'`);
        for (const change of changes) await client.query(change);
        return await readCatalog(client);
      } finally {
        await client.query('rollback');
      }
    };
    const before = await readAfter();
    const body = `create or replace function one() returns integer language sql as`;
    for (const change of changes) {
      assert.notDeepEqual(await readAfter(change), before, change);
    }
    assert.notDeepEqual(await readAfter(`${body} 'select 2'`), before);
    assert.deepEqual(await readAfter(`${body} E'-- A comment.\\n  select  1'`), before);
  });
});

const changes = [
  'alter table sample add c bigint not null default 7',
  'alter table sample alter a set not null',
  'alter table sample alter a set (n_distinct = 1)',
  'alter table sample alter b set storage external',
  'alter table sample set (fillfactor = 50)',
  'alter table sample add primary key (a)',
  'alter table sample add constraint positive check (a > 0)',
  'alter table sample add foreign key (a) references migrations',
  'create index on sample (b) where a > 1',
  'alter table sample enable row level security',
  'create policy mine on sample using (a = 1)',
  'grant select on sample to outlay_tenant',
  'grant update (b) on sample to outlay_tenant',
  'alter function one() stable security definer',
  'alter function one() set jit = off',
  'revoke execute on function one from public',
  `create type colour as enum ('red', 'blue')`,
  'create domain amount as bigint check (value > 0)',
  'create view samples as select a from sample',
  'create sequence numbers',
  'create statistics pairs on a, b from sample',
  `comment on table sample is 'A sample.'`,
  'insert into sample values (1)',
  `create trigger watch before update on sample
     for each row execute function suppress_redundant_updates_trigger()`,
];

test('freezing keeps the text, and does not overwrite what is frozen', async () => {
  const text = await readFile(join(folder, '0001_initial.sql'), 'utf8');
  assert.equal(text, await readSchema());
  await assert.rejects(freezeSchema(folder), /EEXIST/);
});
