import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRetryAfterMs } from './retry-after.ts';

const nowMs = Date.UTC(2030, 0, 15);

test('Retry-After is read as seconds or as a date', () => {
  assert.equal(readRetryAfterMs('30', nowMs), 30_000);
  assert.equal(readRetryAfterMs('Tue, 15 Jan 2030 00:02:00 GMT', nowMs), 120_000);
  for (const value of [
    null,
    undefined,
    '',
    '-5',
    'soon',
    'Tue, 15 Jan 2020 00:00:00 GMT',
    '1234567890',
  ]) {
    assert.equal(readRetryAfterMs(value, nowMs), 0, String(value));
  }
});
