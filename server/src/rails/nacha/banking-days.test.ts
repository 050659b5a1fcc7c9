import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addBankingDays,
  addDays,
  findNextClosing,
  findOpenClosing,
  fromEastern,
  isBankingDay,
  nextBankingDay,
  toEastern,
} from './banking-days.ts';

function listHolidays(year: number): string[] {
  const found: string[] = [];
  for (let day = `${year}-01-01`; day.startsWith(String(year)); day = addDays(day, 1)) {
    const weekday = new Date(`${day}T00:00:00Z`).getUTCDay();
    if (weekday !== 0 && weekday !== 6 && !isBankingDay(day)) found.push(day);
  }
  return found;
}

test('the Federal Reserve rests on the days that it has announced', () => {
  // As published by the Federal Reserve; days on a Saturday are kept on no other day.
  assert.deepEqual(listHolidays(2026), [
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
  assert.deepEqual(listHolidays(2027), [
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
  assert.equal(isBankingDay('2021-06-18'), true);
  assert.equal(listHolidays(2022).includes('2022-06-20'), true);
});

test('banking days are counted over weekends and holidays', () => {
  assert.equal(nextBankingDay('2026-11-20'), '2026-11-23');
  assert.equal(nextBankingDay('2026-11-25'), '2026-11-27');
  assert.equal(addBankingDays('2026-11-21', 0), '2026-11-23');
  assert.equal(addBankingDays('2026-11-24', 2), '2026-11-27');
});

test('the time of New York is that of the season', () => {
  assert.deepEqual(toEastern(Date.parse('2026-11-20T14:59:00Z')), {
    day: '2026-11-20',
    time: '09:59',
  });
  assert.deepEqual(toEastern(Date.parse('2026-07-02T03:30:00Z')), {
    day: '2026-07-01',
    time: '23:30',
  });
  for (const at of ['2026-03-09T13:30:00Z', '2026-11-02T14:30:00Z', '2026-07-01T04:00:00Z']) {
    assert.equal(fromEastern(toEastern(Date.parse(at))), Date.parse(at));
  }
});

test('a window is open from its closing to its deadline, on banking days', () => {
  const windows = [
    { closesAt: '10:00', deadline: '10:30', sameDay: true },
    { closesAt: '20:00', deadline: '21:00', sameDay: false },
  ];
  const at = (time: string, day = '2026-11-20') => fromEastern({ day, time });
  assert.equal(findOpenClosing(windows, at('09:59')), undefined);
  assert.equal(findOpenClosing(windows, at('10:00'))?.closesAt, '10:00');
  assert.equal(findOpenClosing(windows, at('10:30')), undefined);
  assert.equal(findOpenClosing(windows, at('20:59'))?.sameDay, false);
  assert.equal(findOpenClosing(windows, at('10:15', '2026-11-21')), undefined);
  assert.equal(findNextClosing(windows, at('10:00'))?.closesAtMs, at('20:00'));
  assert.equal(findNextClosing(windows, at('20:00'))?.closesAtMs, at('10:00', '2026-11-23'));
});
