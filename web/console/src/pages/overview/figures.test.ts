import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listCorridors, listDays, readCost } from './figures.ts';

test('days without payouts are shown, and quotes are not counted', () => {
  const counts = [
    { day: '2026-11-20', status: 'COMPLETED', count: 2 },
    { day: '2026-11-22', status: 'HOLD', count: 1 },
    { day: '2026-11-22', status: 'PENDING', count: 9 },
  ];
  assert.deepEqual(listDays(counts, 3), [
    { date: '2026-11-20', completed: 2, open: 0, canceled: 0 },
    { date: '2026-11-21', completed: 0, open: 0, canceled: 0 },
    { date: '2026-11-22', completed: 0, open: 1, canceled: 0 },
  ]);
  assert.deepEqual(listDays([], 3), []);
});

test('corridors are read from their names, the busiest first', () => {
  const group = { completed: 1, canceled: 0, success: 1, median_seconds: 5 };
  const [first, second] = listCorridors([
    { ...group, name: 'KEN MOBILE_WALLET KES', committed: 1, fee_bps: null, margin_bps: null },
    { ...group, name: 'MEX BANK_DEPOSIT MXN', committed: 4, fee_bps: 125, margin_bps: 75 },
  ]);
  assert.deepEqual(
    [first?.country, first?.delivery, first?.currency],
    ['MEX', 'BANK_DEPOSIT', 'MXN'],
  );
  assert.equal(first && readCost(first), 0.02);
  assert.equal(second && readCost(second), undefined);
});
