import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeRails } from './rail-screen.ts';

const nowMs = Date.parse('2026-11-27T12:00:00Z');
const idle = {
  being_sent: 0,
  handed_over: 0,
  waiting: 0,
  prefunding: [],
  prices: null,
  reported_at: '',
  oldest_unanswered_at: '',
  unresolved_inbound: 0,
  unmatched_inbound: 0,
  refused_callbacks_last_day: 0,
  next_cut_off_at: '',
  last_day: null,
  last_30_days: null,
};
const results = {
  name: 'bank',
  committed: 12,
  completed: 9,
  canceled: 1,
  success: 0.9,
  median_seconds: 5400,
  fee_bps: 95,
  margin_bps: 75,
  on_time: 0.875,
  charged: 3,
  quoted_cost_bps: 60,
  cost_bps: 62.5,
};

test('the screen of rails shows what each does, and only what there is', () => {
  const busy = {
    ...idle,
    rail: 'bank',
    kind: 'iso20022',
    handed_over: 3,
    reported_at: '2026-11-27T11:58:00Z',
    oldest_unanswered_at: '2026-11-27T09:00:00Z',
    unmatched_inbound: 2,
    next_cut_off_at: '2026-11-27T15:30:00Z',
    prefunding: [{ currency: 'EUR', funds: '', committed: '10.00', scheduled: '0.00', left: '' }],
    prices: { age_seconds: 45, unpriced: 1 },
    last_30_days: results,
  };
  const lines = writeRails([busy, { ...idle, rail: 'chain', kind: 'evm' }], nowMs).split('\n');
  assert.deepEqual(lines, [
    'NOW',
    '  rail   kind      being sent  at the rail  waiting  oldest  last report  next cut-off',
    '  bank   iso20022           0            3        0  3h 0m   2m 0s        2026-11-27 15:30',
    '  chain  evm                0            0        0  none    never        none',
    'INBOUND THAT WAITS FOR A PERSON',
    '  rail  unresolved  unmatched  refused in 24 hours',
    '  bank           0          2                    0',
    'PREFUNDING',
    '  rail  currency  funds    committed  scheduled  left',
    '  bank  EUR       unknown  10.00      0.00       unknown',
    'PRICES OF PROVIDERS',
    '  rail  age  payers without a price',
    '  bank  45s                       1',
    'RESULTS',
    '  rail  in       committed  success  on time  median  cost     quoted',
    '  bank  30 days         12  90 %     87.5 %   1h 30m  62.5 bp  60 bp',
  ]);
});

test('without rails the screen says so', () => {
  assert.equal(writeRails([], nowMs).split('\n')[1], '  none');
});
