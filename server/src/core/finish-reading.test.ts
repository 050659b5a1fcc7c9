import assert from 'node:assert/strict';
import { test } from 'node:test';
import { finishReading } from './finish-reading.ts';

test('all callers that ask before the loop has read what arrived continue together', async () => {
  const first = finishReading();
  await Promise.resolve();
  assert.equal(finishReading(), first);
  await first;
  const second = finishReading();
  assert.notEqual(second, first);
  await second;
});

test('a caller of the same turn continues before anything that arrives in a later one', async () => {
  const order: string[] = [];
  const asked = [1, 2, 3].map((name) => finishReading().then(() => order.push(`asked ${name}`)));
  setImmediate(() => order.push('later'));
  await Promise.all(asked);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(order, ['asked 1', 'asked 2', 'asked 3', 'later']);
});
