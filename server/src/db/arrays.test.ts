import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { plainArray, textArray } from './arrays.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

test('texts arrive unchanged, also those that look like array syntax', async () => {
  const texts = fc.array(
    fc.oneof(
      fc.constantFrom(null, '', 'NULL', 'null', '{', '}', '"', '\\', ',', '{"a"}', ' x ', '\n'),
      fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', '')),
    ),
    { maxLength: 20 },
  );
  await fc.assert(
    fc.asyncProperty(texts, async (given) => {
      const [row] = await money.rows<{ back: (string | null)[] }>('select $1::text[] as back', [
        textArray(given),
      ]);
      assert.deepEqual(row?.back, given);
    }),
    { numRuns: 200 },
  );
});

test('numbers, identifiers and NULL arrive unchanged', async () => {
  const [row] = await money.rows<{ whole: string; truth: string }>(
    'select $1::bigint[]::text as whole, $2::boolean[]::text as truth',
    [plainArray([1n, null, -9_223_372_036_854_775_808n, 7]), plainArray([true, undefined, false])],
  );
  assert.equal(row?.whole, '{1,NULL,-9223372036854775808,7}');
  assert.equal(row?.truth, '{t,NULL,f}');
});

test('arrays are written in the form that PostgreSQL reads', () => {
  assert.equal(plainArray([1, undefined, 2n, true]), '{1,NULL,2,true}');
  assert.equal(
    textArray(['a', undefined, 'NULL', '', 'x"\\,{}']),
    '{"a",NULL,"NULL","","x\\"\\\\,{}"}',
  );
});
