import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type AgeLimit, getExpiryMs, isTargetClosingDay, liveAgeLimits } from './age-limits.ts';

const hourMs = 3_600_000;
const workingDayAndAHalf: AgeLimit = { maxAgeMs: 36 * hourMs, calendar: 'target' };

function getExpiry(asOf: string): string {
  return new Date(getExpiryMs(Date.parse(asOf), workingDayAndAHalf)).toISOString().slice(0, 16);
}

test('a rate of Monday expires in the night to Wednesday', () => {
  assert.equal(getExpiry('2026-11-16T14:00:00Z'), '2026-11-18T02:00');
});

test('a rate of Friday expires in the night to Tuesday', () => {
  assert.equal(getExpiry('2026-11-20T14:00:00Z'), '2026-11-24T02:00');
});

test('a rate of Maundy Thursday holds over Easter', () => {
  assert.equal(getExpiry('2026-04-02T14:00:00Z'), '2026-04-08T02:00');
});

test('a rate of Christmas Eve holds over the holidays', () => {
  assert.equal(getExpiry('2025-12-24T14:00:00Z'), '2025-12-30T02:00');
  assert.equal(getExpiry('2026-12-31T14:00:00Z'), '2027-01-05T02:00');
});

test('a rate of a closing day ages from the next working day', () => {
  assert.equal(getExpiry('2026-11-21T09:00:00Z'), '2026-11-24T12:00');
});

test('closing days follow Easter', () => {
  // The earliest and latest dates, and the years in which the epact's exceptions apply, included.
  const easterMondays = [
    '1954-04-19',
    '1981-04-20',
    '2000-04-24',
    '2008-03-24',
    '2019-04-22',
    '2024-04-01',
    '2025-04-21',
    '2026-04-06',
    '2027-03-29',
    '2038-04-26',
    '2285-03-23',
  ];
  for (const day of easterMondays) {
    const mondayMs = Date.parse(`${day}T12:00:00Z`);
    assert.equal(isTargetClosingDay(mondayMs), true, day);
    assert.equal(isTargetClosingDay(mondayMs - 72 * hourMs), true, `Good Friday before ${day}`);
    assert.equal(isTargetClosingDay(mondayMs - 96 * hourMs), false, `Thursday before ${day}`);
    assert.equal(isTargetClosingDay(mondayMs + 24 * hourMs), false, `Tuesday after ${day}`);
  }
});

test('a working day of every year is open', () => {
  assert.equal(isTargetClosingDay(Date.parse('2026-11-20T23:59:59.999Z')), false);
  assert.equal(isTargetClosingDay(Date.parse('2026-11-21T00:00:00Z')), true);
  assert.equal(isTargetClosingDay(Date.parse('2026-05-01T12:00:00Z')), true);
});

test('closing days never extend a rate beyond a week', () => {
  const firstMs = Date.parse('1999-01-04T14:00:00Z');
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 150 * 365 * 24 }), (hours) => {
      const asOfMs = firstMs + hours * hourMs;
      const ageMs = getExpiryMs(asOfMs, workingDayAndAHalf) - asOfMs;
      assert.ok(ageMs >= workingDayAndAHalf.maxAgeMs);
      assert.ok(ageMs <= 7 * 24 * hourMs, new Date(asOfMs).toISOString());
    }),
  );
});

test('a newer rate never expires before an older one', () => {
  const firstMs = Date.parse('2020-01-01T00:00:00Z');
  const minutes = fc.integer({ min: 0, max: 20 * 365 * 1440 });
  fc.assert(
    fc.property(minutes, fc.integer({ min: 0, max: 20_000 }), (start, later) => {
      const asOfMs = firstMs + start * 60_000;
      const laterMs = asOfMs + later * 60_000;
      assert.ok(
        getExpiryMs(asOfMs, workingDayAndAHalf) <= getExpiryMs(laterMs, workingDayAndAHalf),
      );
    }),
  );
});

test('cryptocurrencies age on every day, in minutes', () => {
  const asOfMs = Date.parse('2026-11-21T09:00:00Z');
  const limit = liveAgeLimits['crypto'];
  assert.ok(limit);
  assert.equal(getExpiryMs(asOfMs, limit), asOfMs + 15 * 60_000);
});

test('an invalid limit is refused', () => {
  for (const maxAgeMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => getExpiryMs(0, { maxAgeMs, calendar: 'target' }), /maxAgeMs must be/);
  }
});
