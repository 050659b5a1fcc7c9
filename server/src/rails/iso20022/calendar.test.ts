import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findCutOff, findExecutionDay, isTargetClosingDay, type Schedule } from './calendar.ts';

const berlin: Schedule = {
  timeZone: 'Europe/Berlin',
  cutOffs: ['09:30', '14:00'],
  everySeconds: 60,
  weekend: [0, 6],
  closesWithTarget: true,
  closedDays: ['2026-03-05'],
  executionDays: 0,
};

function cutOffOf(time: string, schedule: Schedule = berlin): string {
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

  test('the clocks of the bank count, in summer and in winter', () => {
    assert.equal(cutOffOf('2026-03-27T23:00:00Z'), '2026-03-30T07:30:00.000Z');
    assert.equal(cutOffOf('2026-07-01T22:30:00Z'), '2026-07-02T07:30:00.000Z');
  });

  test('Easter closes the settlement system of the euro', () => {
    // Thursday evening before Good Friday; Tuesday is the next business day.
    assert.equal(cutOffOf('2026-04-02T18:00:00Z'), '2026-04-07T07:30:00.000Z');
  });

  test('without cut-offs a payment waits so many seconds', () => {
    const schedule = { ...berlin, cutOffs: [], everySeconds: 90 };
    assert.equal(cutOffOf('2026-03-07T12:00:00Z', schedule), '2026-03-07T12:01:30.000Z');
  });

  test('a schedule that is never open is refused', () => {
    const schedule = { ...berlin, weekend: [0, 1, 2, 3, 4, 5, 6] };
    assert.throws(() => cutOffOf('2026-03-04T06:00:00Z', schedule), /no business day/);
  });
});

test('the day of execution is a business day, as many later as configured', () => {
  const day = (time: string, executionDays: number): string =>
    findExecutionDay({ ...berlin, executionDays }, Date.parse(time));
  assert.equal(day('2026-03-04T08:30:00Z', 0), '2026-03-04');
  assert.equal(day('2026-03-04T08:30:00Z', 1), '2026-03-06');
  assert.equal(day('2026-03-07T08:30:00Z', 0), '2026-03-09');
  // Late in the evening it is the next day already there.
  assert.equal(day('2026-03-08T23:30:00Z', 0), '2026-03-09');
});

test('the closing days are those of the European Central Bank', () => {
  const closed = [
    '2024-03-29',
    '2024-04-01',
    '2025-04-18',
    '2025-04-21',
    '2026-01-01',
    '2026-04-03',
    '2026-04-06',
    '2026-05-01',
    '2026-12-25',
    '2026-12-26',
    '2038-04-23',
    '2038-04-26',
  ];
  for (const day of closed) assert.equal(isTargetClosingDay(day), true, day);
  for (const day of ['2026-04-02', '2026-04-05', '2026-05-02', '2026-12-24', '2026-10-03']) {
    assert.equal(isTargetClosingDay(day), false, day);
  }
});
