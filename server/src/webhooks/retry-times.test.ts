import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseDelayMs, readRetryAfterMs, retryMsMax } from './retry-times.ts';

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

test('Retry-After is a minimum, in seconds or as a date, and a day at most', () => {
  const nowMs = Date.parse('2026-11-20T12:00:00Z');
  assert.equal(readRetryAfterMs('120', nowMs), 120_000);
  assert.equal(readRetryAfterMs('Fri, 20 Nov 2026 12:01:00 GMT', nowMs), 60_000);
  assert.equal(readRetryAfterMs('Fri, 20 Nov 2026 11:00:00 GMT', nowMs), 0);
  assert.equal(readRetryAfterMs('soon', nowMs), 0);
  assert.equal(readRetryAfterMs(undefined, nowMs), 0);
  const delay = (retryAfterMs: number) => chooseDelayMs({ failures: 1, retryAfterMs, random: 0.5 });
  assert.equal(delay(120_000), 120_000);
  assert.equal(delay(1000), 5000);
  assert.equal(delay(90 * 86_400_000), 86_400_000);
});
