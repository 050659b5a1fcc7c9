import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  addBankingDays,
  addDays,
  type BankingCalendar,
  findNextTime,
  isBankingDay,
  toInstant,
  toLocalTime,
} from './calendar.ts';
import { isHoliday } from './holidays.ts';

const newYork = {
  timeZone: 'America/New_York',
  weekend: [0, 6],
  calendar: 'FEDERAL_RESERVE',
} satisfies BankingCalendar;
const berlin = {
  timeZone: 'Europe/Berlin',
  weekend: [0, 6],
  calendar: 'TARGET',
  closedDays: ['2026-03-05'],
} satisfies BankingCalendar;

const format = (atMs: number | undefined) => new Date(atMs ?? 0).toISOString();

describe('holidays of payment systems', () => {
  test('the Federal Reserve is closed on the days that it publishes', () => {
    const isWeekday = (day: string) => ![0, 6].includes(new Date(day).getUTCDay());
    const list = (year: number) =>
      Array.from({ length: 366 }, (_, index) => addDays(`${year}-01-01`, index))
        .filter((day) => day.startsWith(`${year}-`) && isWeekday(day))
        .filter((day) => isHoliday('FEDERAL_RESERVE', day));
    // frbservices.org, holiday schedules; a holiday on a Saturday is kept on no other day.
    assert.deepEqual(list(2026), [
      '2026-01-01',
      '2026-01-19',
      '2026-02-16',
      '2026-05-25',
      '2026-06-19',
      '2026-09-07',
      '2026-10-12',
      '2026-11-11',
      '2026-11-26',
      '2026-12-25',
    ]);
    // July 4, 2027 is a Sunday; June 19 and December 25 are Saturdays.
    assert.deepEqual(list(2027), [
      '2027-01-01',
      '2027-01-18',
      '2027-02-15',
      '2027-05-31',
      '2027-07-05',
      '2027-09-06',
      '2027-10-11',
      '2027-11-11',
      '2027-11-25',
    ]);
    assert.equal(isBankingDay(newYork, '2020-06-19'), true);
    assert.equal(isBankingDay(newYork, '2022-06-20'), false);
    assert.equal(isBankingDay(newYork, '2023-01-02'), false);
  });

  test('T2 is closed on the days of the European Central Bank', () => {
    const closed = ['2024-03-29', '2024-04-01', '2025-04-18', '2025-04-21', '2026-01-01'];
    closed.push('2026-04-03', '2026-04-06', '2026-05-01', '2026-12-25', '2038-04-23', '2038-04-26');
    for (const day of closed) assert.equal(isBankingDay(berlin, day), false, day);
    const everyDay = { ...berlin, weekend: [] };
    for (const day of ['2026-04-02', '2026-04-05', '2026-05-02', '2026-12-24', '2026-10-03']) {
      assert.equal(isBankingDay(everyDay, day), true, day);
    }
  });
});

test('banking days are counted over weekends and holidays', () => {
  assert.equal(addBankingDays(newYork, '2026-11-21', 0), '2026-11-23');
  assert.equal(addBankingDays(newYork, '2026-11-20', 1), '2026-11-23');
  assert.equal(addBankingDays(newYork, '2026-11-24', 2), '2026-11-27');
  assert.equal(addBankingDays(berlin, '2026-03-04', 1), '2026-03-06');
  assert.equal(addDays('2026-02-28', 1), '2026-03-01');
});

describe('the next of several times of day', () => {
  const cutOffs = ['14:00', '09:30'];
  const findNext = (time: string) =>
    format(findNextTime(berlin, cutOffs, Date.parse(time))?.atMs).slice(0, 16);

  test('is on the same day up to the instant itself', () => {
    assert.equal(findNext('2026-03-04T06:00:00Z'), '2026-03-04T08:30');
    assert.equal(findNext('2026-03-04T08:30:00Z'), '2026-03-04T08:30');
    assert.equal(findNext('2026-03-04T08:30:00.001Z'), '2026-03-04T13:00');
  });

  test('is on the next banking day after the last one', () => {
    // The bank is closed on Thursday, and Good Friday and Easter Monday are holidays.
    assert.equal(findNext('2026-03-04T13:00:01Z'), '2026-03-06T08:30');
    assert.equal(findNext('2026-04-02T18:00:00Z'), '2026-04-07T07:30');
  });

  test('does not exist without times, or without a banking day', () => {
    assert.equal(findNextTime(berlin, [], 0), undefined);
    const closed = { ...berlin, weekend: [0, 1, 2, 3, 4, 5, 6] };
    assert.throws(() => findNextTime(closed, cutOffs, 0), /no banking day/);
  });
});

describe('local times', () => {
  test('follow the season', () => {
    const toEastern = (text: string) => toLocalTime('America/New_York', Date.parse(text));
    assert.deepEqual(toEastern('2026-11-20T14:59:00Z'), { day: '2026-11-20', time: '09:59' });
    assert.deepEqual(toEastern('2026-07-02T03:30:00Z'), { day: '2026-07-01', time: '23:30' });
    for (const text of ['2026-03-09T13:30:00Z', '2026-11-02T14:30:00Z', '2026-07-01T04:00:00Z']) {
      assert.equal(toInstant('America/New_York', toEastern(text)), Date.parse(text));
    }
  });

  test('that a clock change skips are that much later, and the first of two that occur twice', () => {
    const convert = (day: string) => format(toInstant('Europe/Berlin', { day, time: '02:30' }));
    assert.equal(convert('2026-03-29'), '2026-03-29T01:30:00.000Z');
    assert.equal(convert('2026-10-25'), '2026-10-25T00:30:00.000Z');
  });

  test('know offsets of parts of an hour', () => {
    const atMs = toInstant('Asia/Kathmandu', { day: '2026-01-05', time: '12:00' });
    assert.equal(format(atMs), '2026-01-05T06:15:00.000Z');
  });
});

describe('local times, against the clocks of Intl', () => {
  const zones = [
    'Pacific/Kiritimati',
    'America/St_Johns',
    'Europe/Berlin',
    'America/New_York',
    'America/Nuuk',
    'Australia/Lord_Howe',
    'Pacific/Apia',
    'Africa/Casablanca',
  ];
  const readers = new Map(
    zones.map((timeZone) => [
      timeZone,
      new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }),
    ]),
  );
  const show = (timeZone: string, atMs: number): string =>
    readers.get(timeZone)?.format(atMs) ?? assert.fail();
  const halfHourMs = 1_800_000;
  const fromMs = Date.parse('2011-12-20T00:00:00Z');
  const instants = fc.record({
    timeZone: fc.constantFrom(...zones),
    atMs: fc
      .integer({ min: 0, max: 30 * 365 * 48 })
      .map((halfHours) => fromMs + halfHours * halfHourMs),
  });
  /** Around changes of the clocks, the leap day and the end of a year. */
  const edges = fc.record({
    timeZone: fc.constantFrom(...zones),
    atMs: fc
      .tuple(
        fc.constantFrom(
          '2011-12-30T00:00Z',
          '2023-03-25T12:00Z',
          '2024-02-29T00:00Z',
          '2024-03-10T06:00Z',
          '2024-03-31T00:00Z',
          '2024-10-27T00:00Z',
          '2024-11-03T06:00Z',
          '2024-12-31T12:00Z',
          '2025-04-05T15:00Z',
        ),
        fc.integer({ min: -96, max: 96 }),
      )
      .map(([day, halfHours]) => Date.parse(day) + halfHours * halfHourMs),
  });

  test('an instant is shown as Intl shows it, and found again or is its first occurrence', () => {
    fc.assert(
      fc.property(fc.oneof(instants, edges), ({ timeZone, atMs }) => {
        const local = toLocalTime(timeZone, atMs);
        assert.equal(`${local.day} ${local.time}`, show(timeZone, atMs));
        const found = toInstant(timeZone, local);
        assert.equal(show(timeZone, found), show(timeZone, atMs));
        assert.ok(found <= atMs);
      }),
      { numRuns: 1_000 },
    );
  });

  test('the next of several times is the earliest that the clocks reach, on a banking day', () => {
    const times = fc.uniqueArray(
      fc.integer({ min: 0, max: 47 }).map((half) => {
        const hour = String(Math.floor(half / 2)).padStart(2, '0');
        return `${hour}:${half % 2 === 0 ? '00' : '30'}`;
      }),
      { minLength: 1, maxLength: 4 },
    );
    const calendars = fc.constantFrom('TARGET', 'FEDERAL_RESERVE', null);
    fc.assert(
      fc.property(fc.oneof(instants, edges), times, calendars, ({ timeZone, atMs }, all, name) => {
        const calendar = { timeZone, weekend: [0, 6], calendar: name };
        const next = findNextTime(calendar, all, atMs);
        assert.ok(next !== undefined && next.atMs >= atMs);
        assert.ok(isBankingDay(calendar, next.day));
        // No half hour in between is one of the times on a banking day, for the first time.
        for (let at = Math.ceil(atMs / halfHourMs) * halfHourMs; at < next.atMs; at += halfHourMs) {
          const shown = show(timeZone, at);
          const [day = '', time = ''] = shown.split(' ');
          const isDue = all.includes(time) && isBankingDay(calendar, day);
          const isFirst = [1, 2].every((back) => show(timeZone, at - back * halfHourMs) !== shown);
          assert.ok(!(isDue && isFirst), `${shown} comes before ${next.day} ${next.time}`);
        }
        // A time that is skipped is later by as much as the clocks are put forward.
        const [shownDay = '', shownTime = ''] = show(timeZone, next.atMs).split(' ');
        const isShown = shownDay === next.day && shownTime === next.time;
        const lateMs =
          Date.parse(`${shownDay}T${shownTime}Z`) - Date.parse(`${next.day}T${next.time}Z`);
        assert.ok(isShown || lateMs > 0, `${next.day} ${next.time}`);
      }),
      { numRuns: 1_000 },
    );
  });

  test('times around a skipped hour come in the order in which the clocks reach them', () => {
    const calendar = { timeZone: 'Europe/Berlin', weekend: [], calendar: null };
    const find = (text: string) =>
      format(findNextTime(calendar, ['02:30', '03:00'], Date.parse(text))?.atMs);
    assert.equal(find('2026-03-29T00:00:00Z'), '2026-03-29T01:00:00.000Z');
    assert.equal(find('2026-03-29T01:00:00.001Z'), '2026-03-29T01:30:00.000Z');
  });

  test('a time that is skipped at midnight falls on the day after, and is found there', () => {
    const calendar = { timeZone: 'America/Nuuk', weekend: [0], calendar: null };
    const next = findNextTime(calendar, ['23:30'], Date.parse('2025-03-30T01:10:00Z'));
    assert.deepEqual([next?.day, format(next?.atMs)], ['2025-03-29', '2025-03-30T01:30:00.000Z']);
  });
});
