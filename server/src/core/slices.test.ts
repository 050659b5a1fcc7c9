import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countTurns } from '../../testing/setups/turns.ts';
import { inSlices, textInSlices } from './slices.ts';

test('slices are the whole in order, and others have a turn after each', async () => {
  const items = Array.from({ length: 25 }, (_, index) => index);
  const [slices, turns] = await countTurns(() => Array.fromAsync(inSlices(items, 10)));
  assert.deepEqual(slices.flat(), items);
  assert.deepEqual(
    slices.map(({ length }) => length),
    [10, 10, 5],
  );
  assert.ok(turns >= 3);
  assert.deepEqual(await Array.fromAsync(inSlices([], 10)), []);
});

test('portions of a text are the whole', async () => {
  const text = 'Añá 𝔘𝔫'.repeat(7);
  const [portions, turns] = await countTurns(() => Array.fromAsync(textInSlices(text, 9)));
  assert.equal(portions.join(''), text);
  assert.equal(turns >= portions.length, true);
});
