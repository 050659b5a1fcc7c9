import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findNextClosing, findOpenClosing, fromEastern } from './banking-days.ts';

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
