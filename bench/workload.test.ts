import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountCount, createPicker } from './workload.ts';

function countPicks(pick: () => number, picks: number): number[] {
  const counts = Array.from({ length: accountCount }, () => 0);
  for (let index = 0; index < picks; index += 1) {
    const account = pick();
    counts[account] = (counts[account] ?? Number.NaN) + 1;
  }
  return counts;
}

test('the hot workload charges one account', () => {
  assert.equal(countPicks(createPicker('hot'), 100)[0], 100);
});

test('the uniform workload charges every account about equally', () => {
  const counts = countPicks(createPicker('uniform'), 100_000);
  assert.ok(Math.min(...counts) > 50);
  assert.ok(Math.max(...counts) < 160);
});

test('the Zipf workload charges the second account half as often as the first', () => {
  const counts = countPicks(createPicker('zipf'), 200_000);
  const [first = 0, second = 0] = counts;
  assert.ok(Math.abs(first / second - 2) < 0.15, `${first} and ${second}`);
  assert.ok(counts.reduce((sum, count) => sum + count, 0) === 200_000);
});
