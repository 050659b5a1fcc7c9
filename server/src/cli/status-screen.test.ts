import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../monitoring/status.ts';
import { writeStatus } from './status-screen.ts';

const id = '01a21b56-bccd-72dd-a265-2fca479cf5c3';
const now = new Date('2026-11-27T04:50:00Z');
const many = <Row>(count: number, row: Row): Row[] => Array.from({ length: count }, () => row);

const freeze = {
  id,
  scope: 'recipient',
  account_id: id,
  user_id: id,
  country: null,
  delivery_type: null,
  currency: null,
  rail: null,
  reason:
    'a court has ordered it, and this reason is much longer than a line of a terminal is wide',
  frozen_by: 'an-operator-with-a-name-as-long-as-it-is',
  since: new Date('2026-11-20T01:00:00Z'),
  waiting: 12_345,
} as unknown as Status['freezes'][number];

const stuck = {
  payout_id: id,
  rail: 'a_rail_with_the_longest_name_that_it_has',
  age_seconds: 400_000,
  exceptions: ['unknown_outcome', 'approval'],
} as unknown as Status['stuck']['oldest'][number];

const crowded: Status = {
  now,
  accounts: 12_345,
  batchesCommitting: 123,
  freezes: many(30, freeze),
  freezesInForce: 30,
  recovery: 'collecting',
  rails: many(12, { rail: stuck.rail, beingSent: 1, handedOver: 2, waiting: 3, oldestSeconds: 4 }),
  byStatus: many(8, { status: 'PROCESSING', count: 1_000_000 }),
  exceptions: many(9, { kind: 'paid_after_refusal', count: 3, oldest_seconds: 5 }),
  stuck: { matching: 57, oldest: many(5, stuck) },
  lists: many(5, { list: 'ofac_sdn', checkedAtMs: 0 }),
};

test('the screen fits on 80 columns and 24 lines, however much there is, and counts the rest', () => {
  const screen = writeStatus('live', crowded, many(3, { source: 'ecb', age: '14h 49m' }));
  const lines = screen.split('\n');
  assert.ok(lines.length <= 24, `${lines.length} lines`);
  assert.ok(Math.max(...lines.map((line) => line.length)) <= 80);
  for (const rest of [
    'and 28 more: freeze list',
    'and 9 more: rail list',
    'and 55 more: payout list --stuck',
    'and 7 more: exception list',
  ]) {
    assert.ok(screen.includes(rest), rest);
  }
  assert.ok(screen.includes(id), 'what freeze lift asks for');
});

test('with nothing to tell it says so in each place', () => {
  const none = {
    freezes: [],
    freezesInForce: 0,
    rails: [],
    byStatus: [],
    exceptions: [],
    lists: [],
  };
  const status = { ...crowded, ...none, stuck: { matching: 0, oldest: [] } };
  assert.equal(
    writeStatus('live', status, []),
    `live 2026-11-27T04:50:00Z  sending: yes  commits: yes
recovery: collecting  batches: 123  accounts: 12345
STOPPED
  none
RAILS      being sent / at the rail / waiting / oldest
  none
PAYOUTS NOT ENDED: none
STUCK: 0
  none
EXCEPTIONS
  none
AGE OF DATA: none`,
  );
});
