import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseDelayMs, retryMsMax } from './retry-times.ts';

const plain = { retryAfterMs: 0, random: 0.5 };

test('delays grow to an hour and stay within a fifth of it', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 300].map((failures) =>
    chooseDelayMs({ ...plain, failures }),
  );
  assert.deepEqual(
    delays.map((delayMs) => delayMs / 1000),
    [5, 30, 120, 600, 1800, 3600, 3600, 3600],
  );
  assert.equal(chooseDelayMs({ ...plain, failures: 6, random: 0 }), 2_880_000);
  assert.equal(chooseDelayMs({ ...plain, failures: 6, random: 1 }), 4_320_000);
  assert.equal(retryMsMax / 86_400_000, 14);
});

test('Retry-After is a minimum, and a day at most', () => {
  const delay = (retryAfterMs: number) => chooseDelayMs({ failures: 1, retryAfterMs, random: 0.5 });
  assert.equal(delay(120_000), 120_000);
  assert.equal(delay(1000), 5000);
  assert.equal(delay(90 * 86_400_000), 86_400_000);
});
