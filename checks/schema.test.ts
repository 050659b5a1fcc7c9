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

async function readCatalogOf(make: (url: string) => Promise<unknown>): Promise<string[]> {
  await using database = await createTestDatabase({ isEmpty: true });
  await make(database.url);
  return await withClient(database.url, readCatalog);
}

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

/** The catalog of the schema files, with `change` made to them. */
const readFiles = (change = ''): Promise<string[]> =>
  readCatalogOf((url) =>
    withClient(url, async (client) =>
      client.query(`${await readSchema()}
${change}`),
    ),
  );

test('migrating an empty database and reading the schema files give the same catalog', async () => {
  const migrated = await readCatalogOf((url) => migrate({ url }));
  assert.deepEqual(compareCatalogs(migrated, await readFiles()), []);
});

test('a later migration must change the schema files, too', async () => {
  assert.equal(await freezeSchema(folder), join(folder, '0001_initial.sql'));
  const change =
    '-- works beside schema 0001\nalter table accounts add column legal_name text; grant insert on accounts to outlay_tenant;';
  await writeFile(join(folder, '0002_legal_name.sql'), change);
  const migrations = await readMigrations(folder);
  const migrated = await readCatalogOf((url) => migrate({ url, migrations }));
  assert.deepEqual(compareCatalogs(migrated, await readFiles()), [
    'only in the migrations: column accounts.legal_name 13 text storage x "default"',
    'only in the migrations: grant INSERT on accounts to outlay_tenant',
  ]);
  assert.deepEqual(compareCatalogs(migrated, await readFiles(change)), []);
});

test('every kind of change shows in the catalog', async () => {
  await using database = await createTestDatabase();
  await withClient(database.url, async (client) => {
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
