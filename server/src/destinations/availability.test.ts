import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getSandboxPayer, sandboxCatalog } from '../../testing/setups/destinations.ts';
import type { AvailabilityRule } from '../rails/contract/declarations.ts';
import { addDays } from '../rails/kit/calendar.ts';
import { isHoliday } from '../rails/kit/holidays.ts';
import {
  estimateAvailability,
  findAvailability,
  findDeadlineMs,
  findOpeningMs,
  findRunMs,
} from './availability.ts';

function estimate(rule: AvailabilityRule, now: string): string {
  return new Date(estimateAvailability(rule, Date.parse(now))).toISOString().slice(0, 19);
}

function getRule(key: string): AvailabilityRule {
  return getSandboxPayer(key).availability;
}

/** The next business day at noon, sent until 15:00. */
const mexico = getRule('mex-bank-meridian');
const nextDayIn = (
  timeZone: string,
  changes: Partial<AvailabilityRule> = {},
): AvailabilityRule => ({
  timeZone,
  calendar: null,
  weekend: [],
  cutOff: '15:00',
  delay: { businessDays: 1, arrival: '12:00' },
  ...changes,
});

test('in Mexico on the Friday before a Monday holiday, the cut-off decides between two days', () => {
  // Friday 13 March 2026; Monday 16 March is the holiday of Benito Juarez. UTC-6.
  assert.equal(estimate(mexico, '2026-03-13T20:59:00Z'), '2026-03-17T18:00:00');
  assert.equal(estimate(mexico, '2026-03-13T21:00:00Z'), '2026-03-17T18:00:00');
  assert.equal(estimate(mexico, '2026-03-13T21:00:00.001Z'), '2026-03-18T18:00:00');
  assert.equal(estimate(mexico, '2026-03-15T12:00:00Z'), '2026-03-18T18:00:00');
});

test('in Saudi Arabia Friday and Saturday are the weekend', () => {
  const rule = getRule('sau-bank-meridian');
  // Thursday 15 January 2026, 11:00 local, and the same evening.
  assert.equal(estimate(rule, '2026-01-15T08:00:00Z'), '2026-01-18T09:00:00');
  assert.equal(estimate(rule, '2026-01-15T18:00:00Z'), '2026-01-19T09:00:00');
});

test('in the Emirates it is Saturday and Sunday', () => {
  const rule = getRule('are-bank-meridian');
  // Thursday 8 January 2026: Friday the 9th is a business day.
  assert.equal(estimate(rule, '2026-01-08T08:00:00Z'), '2026-01-09T08:00:00');
});

test('a holiday of several days counts in full', () => {
  // Eid al-Fitr in Saudi Arabia, 19 to 22 March 2026; Wednesday 18 March after the cut-off.
  assert.equal(
    estimate(getRule('sau-bank-meridian'), '2026-03-18T15:00:00Z'),
    '2026-03-24T09:00:00',
  );
});

test('the change to summer time in New York moves the hour of arrival in UTC', () => {
  // The clocks change on Sunday 8 March 2026. Noon is 17:00 before and 16:00 after.
  const rule = getRule('usa-bank-meridian');
  assert.equal(estimate(rule, '2026-03-05T15:00:00Z'), '2026-03-06T17:00:00');
  assert.equal(estimate(rule, '2026-03-06T15:00:00Z'), '2026-03-09T16:00:00');
  // And back on Sunday 1 November 2026.
  assert.equal(estimate(rule, '2026-10-29T15:00:00Z'), '2026-10-30T16:00:00');
  assert.equal(estimate(rule, '2026-10-30T15:00:00Z'), '2026-11-02T17:00:00');
});

test('the cut-off follows the clocks, too', () => {
  const rule = nextDayIn('Europe/Berlin');
  // 15:00 is 14:00 UTC in winter and 13:00 in summer.
  assert.equal(estimate(rule, '2026-03-27T13:30:00Z'), '2026-03-28T11:00:00');
  assert.equal(estimate(rule, '2026-03-30T13:30:00Z'), '2026-04-01T10:00:00');
});

test('a skipped local time is shifted forward; of a repeated one the first is taken', () => {
  const rule = nextDayIn('Europe/Berlin', { delay: { businessDays: 1, arrival: '02:30' } });
  assert.equal(estimate(rule, '2026-03-28T10:00:00Z'), '2026-03-29T01:30:00');
  assert.equal(estimate(rule, '2026-10-24T10:00:00Z'), '2026-10-25T00:30:00');
});

test('zones with offsets of parts of an hour work', () => {
  const rule = nextDayIn('Asia/Kathmandu');
  assert.equal(estimate(rule, '2026-01-05T09:15:00Z'), '2026-01-06T06:15:00');
  assert.equal(estimate(rule, '2026-01-05T09:15:01Z'), '2026-01-07T06:15:00');
});

test('business days continue over the end of the year', () => {
  // Thursday 31 December 2026 after the cut-off: New Year and the weekend lie between.
  const rule = getRule('deu-bank-meridian');
  assert.equal(estimate(rule, '2026-12-31T15:00:00Z'), '2027-01-05T11:00:00');
});

test('an instant payer never waits, and its estimate is stable for a minute', () => {
  const rule = getRule('ken-wallet-tamarind');
  assert.equal(estimate(rule, '2026-12-25T03:00:00Z'), '2026-12-25T03:06:00');
  assert.equal(estimate(rule, '2026-12-25T03:00:59.999Z'), '2026-12-25T03:06:00');
  assert.equal(estimate(rule, '2026-12-25T03:01:00Z'), '2026-12-25T03:07:00');
});

test('a closed payer pays out from its opening', () => {
  const rule = getRule('mex-cash-meridian');
  // Saturday 14 March 2026: open, early, late. Sunday is closed, Monday a holiday. UTC-6.
  assert.equal(estimate(rule, '2026-03-14T18:00:00Z'), '2026-03-14T18:31:00');
  assert.equal(estimate(rule, '2026-03-14T10:00:00Z'), '2026-03-14T15:30:00');
  assert.equal(estimate(rule, '2026-03-15T01:00:00Z'), '2026-03-17T15:30:00');
});

test('an estimate at the cut-off does not hold after it', () => {
  const rule = getRule('mex-cash-meridian');
  // Thursday 12 March 2026, 18:00 local.
  assert.equal(estimate(rule, '2026-03-13T00:00:00.000Z'), '2026-03-13T00:31:00');
  assert.equal(estimate(rule, '2026-03-13T00:00:00.001Z'), '2026-03-13T15:30:00');
});

const format = (atMs: number): string => new Date(atMs).toISOString().slice(0, 19);

test('a payout for a later time runs then, or at the opening after a cut-off or a rest', () => {
  const run = (rule: AvailabilityRule, at: string): string =>
    format(findRunMs(rule, Date.parse(at)));
  // Friday 13 March 2026 up to 15:00, then over the weekend and a Monday holiday. UTC-6.
  assert.equal(run(mexico, '2026-03-13T11:00:00Z'), '2026-03-13T11:00:00');
  assert.equal(run(mexico, '2026-03-13T21:00:00Z'), '2026-03-13T21:00:00');
  assert.equal(run(mexico, '2026-03-13T21:00:01Z'), '2026-03-17T15:00:00');
  assert.equal(run(mexico, '2026-03-14T21:00:00Z'), '2026-03-17T15:00:00');
  // The day is that of the payer: Friday morning in Tokyo is Thursday in UTC.
  const tokyo = nextDayIn('Asia/Tokyo', { weekend: [5] });
  assert.equal(run(tokyo, '2026-03-12T20:00:00Z'), '2026-03-14T00:00:00');
  // A cut-off before the usual opening.
  const early = nextDayIn('UTC', { cutOff: '07:00' });
  assert.equal(run(early, '2026-03-12T07:00:01Z'), '2026-03-13T00:00:00');
});

test('a day opens in the morning of the payer, and at midnight where it never closes', () => {
  assert.equal(format(findOpeningMs(mexico, '2026-03-13')), '2026-03-13T15:00:00');
  const always = getRule('mex-cash-kestrel');
  assert.equal(format(findOpeningMs(always, '2026-03-14')), '2026-03-14T06:00:00');
});

test('a deadline counts business days, and keeps the local time of day', () => {
  const deadline = (rule: AvailabilityRule, at: string): string =>
    format(findDeadlineMs(rule, Date.parse(at), 3));
  assert.equal(deadline(mexico, '2026-03-12T16:30:00Z'), '2026-03-18T16:30:00');
  // The clocks change in New York on Sunday 8 March 2026.
  const newYork = nextDayIn('America/New_York', { weekend: [0, 6] });
  assert.equal(deadline(newYork, '2026-03-06T15:00:00Z'), '2026-03-11T14:00:00');
});

test('observances are business days', () => {
  assert.ok(isHoliday('MX', '2026-03-16'));
  assert.ok(!isHoliday('MX', '2026-05-10'));
  assert.ok(!isHoliday('US', '2026-02-14'));
});

test('a holiday at the end of a year continues in the next', () => {
  // Eid al-Adha began on 31 December 2006.
  assert.ok(isHoliday('SA', '2006-12-31'));
  assert.ok(isHoliday('SA', '2007-01-02'));
});

test('half holidays do not count, and a country without a calendar has weekends only', () => {
  assert.ok(!isHoliday('CN', '2026-03-08'));
  for (let day = '2026-01-01'; day < '2027'; day = addDays(day, 1)) {
    assert.ok(!isHoliday('AQ', day), day);
  }
  assert.ok(isHoliday('JO', '2026-05-25'));
});

test('a cached estimate equals the computed one', () => {
  for (const key of [
    'mex-bank-harbour',
    'irn-bank-meridian',
    'mex-cash-meridian',
    'phl-app-kestrel',
  ]) {
    const rule = getRule(key);
    let keptCount = 0;
    let previous = findAvailability(rule, Date.UTC(2026, 2, 1));
    for (let step = 0; step < 2_000; step += 1) {
      const nowMs = Date.UTC(2026, 2, 1) + step * 20 * 60_000 + (step % 3);
      const kept = findAvailability(rule, nowMs);
      if (kept === previous) keptCount += 1;
      previous = kept;
      assert.equal(kept.availableAtMs, estimateAvailability({ ...rule }, nowMs), `${key} ${nowMs}`);
    }
    const isOfDays = 'businessDays' in rule.delay;
    assert.equal(keptCount > 1_000, isOfDays, `${key} was kept ${keptCount} times`);
  }
});

test('every estimate is after the commit and within a bound', () => {
  const nowMs = Date.UTC(2026, 3, 1, 17);
  for (const { country } of sandboxCatalog.servedCountries()) {
    for (const payer of sandboxCatalog.payersIn(country.code)) {
      const waitMs = estimateAvailability(payer.availability, nowMs) - nowMs;
      assert.ok(waitMs > 0 && waitMs < 16 * 86_400_000, `${payer.key} ${waitMs}`);
    }
  }
});

test('money arrives after the cut-off also where a change of the clocks skips that', () => {
  const rule = { calendar: null, weekend: [], cutOff: '02:30' };
  const delay = { businessDays: 0, arrival: '03:00' };
  const newYork = { ...rule, timeZone: 'America/New_York', delay };
  // 02:30 is 03:30 on this day; it is 03:15.
  assert.equal(
    estimateAvailability(newYork, Date.parse('2026-03-08T07:15:00Z')),
    Date.parse('2026-03-08T07:30:00Z'),
  );
  const nextDay = { businessDays: 1, arrival: '00:15' };
  const nuuk = { ...rule, timeZone: 'America/Nuuk', cutOff: '23:30', delay: nextDay };
  // 23:30 is 00:30 of the next day; it is 00:20.
  assert.equal(
    estimateAvailability(nuuk, Date.parse('2026-03-29T01:20:00Z')),
    Date.parse('2026-03-29T01:30:00Z'),
  );
});
