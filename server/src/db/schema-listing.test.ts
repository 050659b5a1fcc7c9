import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase } from '../../testing/setups/database.ts';
import { listSchema } from './schema-listing.ts';

const database = await createTestDatabase();
const client = new pg.Client({ connectionString: database.url });
client.on('error', () => undefined);
await client.connect();
after(async () => {
  await client.end();
  await database.drop();
});

/** Runs statements, lists the schema that they leave, and takes them back. */
async function listAfter(...statements: string[]): Promise<string> {
  await client.query('begin');
  try {
    for (const statement of statements) await client.query(statement);
    return await listSchema(client);
  } finally {
    await client.query('rollback');
  }
}

test('schema.sql is the schema that the migrations make', async () => {
  const file = new URL('schema.sql', import.meta.url);
  assert.equal(await listSchema(client), readFileSync(file, 'utf8'), 'run npm run generate');
});

test('every kind of change shows in the listing', async () => {
  const before = await listAfter('create table sample (a integer, b text)');
  const changes = [
    'alter table sample add c bigint not null default 7',
    'alter table sample alter a set not null',
    'alter table sample add primary key (a)',
    'alter table sample add constraint positive check (a > 0)',
    'alter table sample add foreign key (a) references migrations',
    'create index on sample (b) where a > 1',
    'alter table sample enable row level security',
    'create policy mine on sample using (a = 1)',
    'grant select on sample to outlay_tenant',
    'grant update (b) on sample to outlay_tenant',
    `create function added() returns integer language sql as 'select 1'`,
    `create type colour as enum ('red', 'blue')`,
    'create domain amount as bigint check (value > 0)',
    'create view samples as select a from sample',
    `create trigger watch before update on sample execute function suppress_redundant_updates_trigger()`,
  ];
  for (const change of changes) {
    const listing = await listAfter('create table sample (a integer, b text)', change);
    assert.notEqual(listing, before, change);
  }
});

test('another body of a function shows in the listing', async () => {
  const create = 'create function f() returns integer language sql as';
  const one = await listAfter(`${create} 'select 1'`);
  assert.notEqual(await listAfter(`${create} 'select 2'`), one);
});
