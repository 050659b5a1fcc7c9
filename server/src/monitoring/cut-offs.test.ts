import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PayerDeclaration } from '../rails/contract/declarations.ts';
import { findNextTime } from '../rails/kit/calendar.ts';
import { findNextCutOff } from './cut-offs.ts';

type Availability = PayerDeclaration['availability'];

const delay = { minutes: 5 };
const make = (change: Partial<Availability>): Availability => ({
  timeZone: 'UTC',
  calendar: null,
  weekend: [0, 6],
  cutOff: '16:00',
  delay,
  ...change,
});
const railOf = (availabilities: readonly Availability[]) => ({
  payers: availabilities.map((availability) => ({ availability })) as unknown as PayerDeclaration[],
});

test('the first cut-off of all payers is found, past weekends and holidays', () => {
  const zones = ['UTC', 'Asia/Tokyo', 'America/New_York', 'Pacific/Auckland', 'Asia/Kathmandu'];
  const calendars = [null, 'US', 'JP', 'NZ'];
  const cutOffs = ['00:30', '09:00', '16:00', null];
  const all = zones.flatMap((timeZone, zone) =>
    calendars.flatMap((calendar) =>
      cutOffs.map((cutOff) => make({ timeZone, calendar, cutOff, weekend: [zone, 6] })),
    ),
  );
  for (let hour = 0; hour < 24 * 14; hour += 5) {
    const nowMs = Date.UTC(2026, 11, 23, hour, 1);
    const times = all.flatMap(({ cutOff, ...calendar }) =>
      cutOff === null ? [] : (findNextTime(calendar, [cutOff], nowMs)?.atMs ?? []),
    );
    const expected = times.reduce((a, b) => Math.min(a, b));
    assert.equal(findNextCutOff(railOf(all), nowMs), expected, new Date(nowMs).toISOString());
  }
  assert.equal(findNextCutOff(railOf([make({ cutOff: null })]), 0), undefined);
});

test('holidays of payers that cannot be the first are not computed', () => {
  const nowMs = Date.UTC(2026, 10, 26, 15, 0);
  let reads = 0;
  const late = Object.defineProperty(make({ cutOff: '17:00' }), 'calendar', {
    enumerable: false,
    get: () => {
      reads += 1;
      return null;
    },
  });
  // Its cut-off is two hours away whatever its holidays are, and there is one in an hour.
  assert.equal(findNextCutOff(railOf([late, make({})]), nowMs), Date.UTC(2026, 10, 26, 16));
  assert.equal(reads, 0);
  assert.equal(findNextCutOff(railOf([late]), nowMs), Date.UTC(2026, 10, 26, 17));
  assert.ok(reads > 0);
});
