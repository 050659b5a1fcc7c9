import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../testing/setups/database.ts';
import { findSkeleton } from './names.ts';
import { createWordIndex, type ListedWord, trigramShareMin } from './word-index.ts';

const parts = ['al', 'mo', 'ham', 'ad', 'ov', 'ich', 'ser', 'gei', 'ev', 'tan', 'a', 'kim', '3'];
const syllables = (seed: number): string =>
  [seed % 13, (seed * 7) % 11, (seed * 5) % 12, seed % 3].map((at) => parts[at]).join('');
const texts = [...new Set(Array.from({ length: 600 }, (_, seed) => syllables(seed + 1)))];
const index = await createWordIndex(
  texts.map((text): ListedWord => {
    const skeleton = findSkeleton(text);
    return { text, skeleton, nameCount: 1, spellingCount: 1 };
  }),
);

let database: TestDatabase;
let client: pg.Client;
before(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('create extension pg_trgm');
});
after(async () => {
  await client.end();
  await database.drop();
});

test('finds what the trigrams of PostgreSQL find, and equal skeletons', async () => {
  await client.query(`set pg_trgm.similarity_threshold = ${trigramShareMin}`);
  for (const searched of [
    'mohamad',
    'muhammed',
    'sergeev',
    'a',
    'kimova',
    '3',
    'zzz',
    ...texts.slice(0, 40),
  ]) {
    const { rows } = await client.query<{ word: string }>(
      'select word from unnest($1::text[]) word where word % $2',
      [texts, searched],
    );
    const skeleton = findSkeleton(searched);
    const alike = texts.filter((text) => findSkeleton(text) === skeleton);
    const expected = new Set([...rows.map(({ word }) => word), ...alike]);
    const found = index.findSimilar({ text: searched, skeleton }).map(({ text }) => text);
    assert.deepEqual(found.toSorted(), [...expected].toSorted(), searched);
  }
});

test('an index without words finds nothing', async () => {
  const empty = await createWordIndex([]);
  assert.deepEqual(empty.findSimilar({ text: 'mohamad', skeleton: 'mhmd' }), []);
  assert.equal(empty.find('mohamad'), undefined);
  assert.deepEqual(empty.findSkeleton('mhmd'), []);
});
