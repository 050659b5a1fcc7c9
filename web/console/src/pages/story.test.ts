import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PayoutDecision } from '../api/payout-queries.ts';
import { nestStory } from './story.ts';

const time = (second: number): string => `2026-11-26T15:03:${String(second).padStart(2, '0')}`;
const entry = (status: string, second: number) => ({ status, time: time(second) });

function nest(timeline: ReturnType<typeof entry>[], attempts: number[], exceptions: number[] = []) {
  const story = {
    attempts: attempts.map((second) => ({ started_at: time(second) })),
    exceptions: exceptions.map((second) => ({ opened_at: time(second) })),
  } as unknown as PayoutDecision;
  return nestStory(timeline, story).map((chapter) => [
    chapter.attempts.map(({ started_at: started }) => started),
    chapter.exceptions.map(({ opened_at: opened }) => opened),
  ]);
}

test('an attempt is shown where the payout was processed, also when it ended in the same second', () => {
  const timeline = [entry('PENDING', 3), entry('PROCESSING', 3), entry('COMPLETED', 4)];
  for (const second of [3, 4]) {
    assert.deepEqual(nest(timeline, [second]), [
      [[], []],
      [[time(second)], []],
      [[], []],
    ]);
  }
});

test('each attempt and each exception is shown once, in the state in which it began', () => {
  const timeline = [
    entry('PENDING', 0),
    entry('PROCESSING', 1),
    entry('ERROR', 5),
    entry('PROCESSING', 9),
    entry('COMPLETED', 12),
  ];
  assert.deepEqual(nest(timeline, [1, 9, 11], [5]), [
    [[], []],
    [[time(1)], []],
    [[], [time(5)]],
    [[time(9), time(11)], []],
    [[], []],
  ]);
});

test('an attempt that began before the state was written is not lost', () => {
  assert.deepEqual(nest([entry('PENDING', 2), entry('PROCESSING', 5)], [4]), [
    [[], []],
    [[time(4)], []],
  ]);
});
