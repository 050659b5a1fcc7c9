import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { z } from 'zod';
import { createTestDatabase, type TestDatabase } from '../../testing/setups/database.ts';
import { describeStatement } from '../../testing/setups/describe-statement.ts';
import { createSession } from './postgres/connection.ts';
import {
  column,
  defineQuery,
  exec,
  listColumnFaults,
  listQueries,
  many,
  maybeOne,
  nullable,
  one,
} from './rows.ts';

let database: TestDatabase;
let client: pg.Client;
before(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
after(async () => {
  await client.end();
  await database.drop();
});

const session = createSession(({ text }, values = []) => client.query(text, [...values]));

test('every declared query returns the columns that it declares', async () => {
  // A module declares its queries when it is imported.
  const folder = join(import.meta.dirname, '..');
  for await (const file of glob('**/*.ts', { cwd: folder })) {
    if (file.endsWith('.test.ts')) continue;
    const path = join(folder, file);
    if ((await readFile(path, 'utf8')).includes('defineQuery(')) await import(path);
  }
  const faults: string[] = [];
  for (const { name, text, columns } of listQueries()) {
    const fields = await describeStatement(client, text);
    faults.push(...listColumnFaults(columns, fields).map((fault) => `${name}: ${fault}`));
  }
  assert.deepEqual(faults, []);
});

describe('a read', () => {
  const numbers = defineQuery({
    name: 'test_numbers',
    text: 'select n, null::text as note from generate_series(1, $1::integer) n',
    columns: { n: column.integer, note: nullable(column.text) },
  });

  test('many returns every row, maybeOne and one refuse several', async () => {
    assert.deepEqual(await many(session, numbers, [2]), [
      { n: 1, note: null },
      { n: 2, note: null },
    ]);
    assert.equal(await maybeOne(session, numbers, [0]), undefined);
    assert.deepEqual(await one(session, numbers, [1]), { n: 1, note: null });
    await assert.rejects(one(session, numbers, [0]), /test_numbers returned no row/);
    await assert.rejects(maybeOne(session, numbers, [2]), /returned 2 rows instead of one/);
  });

  test('exec returns how many rows were affected', async () => {
    const statement = { name: '', text: 'select from generate_series(1, 3)' };
    assert.equal(await exec(session, statement), 3);
  });

  test('a column of another name or type is refused', async () => {
    const renamed = { ...numbers, columns: { m: column.text, note: column.integer } };
    await assert.rejects(
      many(session, renamed, [1]),
      /column n is not declared; column m is not returned; column note has type 25 instead of 21 or 23/,
    );
  });

  test('NULL, an unknown value and JSON of another shape are refused without their values', async () => {
    const cases = {
      note: [`null::text as note`, column.text, 'column note is NULL'],
      state: [`'secret' as state`, column.oneOf('paid'), 'column state has an unexpected form'],
      body: [
        `'{"a":"secret"}'::jsonb as body`,
        column.json(z.object({ a: z.number() })),
        'column body has an unexpected form',
      ],
    } as const;
    for (const [name, [expression, declared, fault]] of Object.entries(cases)) {
      const columns = { [name]: declared };
      const query = { name: 'test_fault', text: `select ${expression}`, columns };
      await assert.rejects(many(session, query), (error: Error) => {
        assert.ok(error.message.includes(fault), error.message);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      });
    }
  });
});
