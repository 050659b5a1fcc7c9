import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findCutOff, findExecutionDay } from './calendar.ts';

const berlin = {
  timeZone: 'Europe/Berlin',
  cutOffs: ['09:30', '14:00'],
  everySeconds: 60,
  weekend: [0, 6],
  closesWithTarget: true,
  closedDays: ['2026-03-05'],
  executionDays: 0,
};

function cutOffOf(time: string, schedule = berlin): string {
  return new Date(findCutOff(schedule, Date.parse(time))).toISOString();
}

describe('cut-offs', () => {
  test('a payment goes with the next cut-off of the day, the minute itself included', () => {
    assert.equal(cutOffOf('2026-03-04T06:00:00Z'), '2026-03-04T08:30:00.000Z');
    assert.equal(cutOffOf('2026-03-04T08:30:00Z'), '2026-03-04T08:30:00.000Z');
    assert.equal(cutOffOf('2026-03-04T08:30:00.001Z'), '2026-03-04T13:00:00.000Z');
  });

  test('after the last one it goes with the next business day', () => {
    // The bank is closed on Thursday.
    assert.equal(cutOffOf('2026-03-04T13:00:01Z'), '2026-03-06T08:30:00.000Z');
    assert.equal(cutOffOf('2026-03-06T18:00:00Z'), '2026-03-09T08:30:00.000Z');
  });

  test('without cut-offs a payment waits the configured seconds', () => {
    const schedule = { ...berlin, cutOffs: [], everySeconds: 90 };
    assert.equal(cutOffOf('2026-03-07T12:00:00Z', schedule), '2026-03-07T12:01:30.000Z');
  });
});

test('the execution day is a banking day, as many later as configured', () => {
  const day = (time: string, executionDays: number): string =>
    findExecutionDay({ ...berlin, executionDays }, Date.parse(time));
  assert.equal(day('2026-03-04T08:30:00Z', 0), '2026-03-04');
  assert.equal(day('2026-03-04T08:30:00Z', 1), '2026-03-06');
  assert.equal(day('2026-03-07T08:30:00Z', 0), '2026-03-09');
  // Late in the evening it is the next day already there.
  assert.equal(day('2026-03-08T23:30:00Z', 0), '2026-03-09');
});
