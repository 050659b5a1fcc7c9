import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExactBytes } from '../../core/exact-json.ts';
import { readBatch } from './batch-answers.ts';

/** What the answer to a batch means for one of its orders. */

const money = { reference: 'a', amountMinor: 10_010n, currency: 'EUR' };
const payment = {
  reference: 'a',
  amount: '100.10',
  currency: 'EUR',
  state: 'accepted',
  charges: [],
  returns: [],
};

function read(orders: readonly object[], { batch = 'b', status = 200 } = {}) {
  const raw = Buffer.from(JSON.stringify({ batch, orders }));
  const json = parseExactBytes(raw);
  const answered = { kind: 'answered', status, json, raw, createdS: 7, retryAfterMs: 0 } as const;
  return readBatch(answered, 'b')(money);
}

const explain = (...given: Parameters<typeof read>): string => {
  const reading = read(...given);
  return reading.kind === 'unclear' ? reading.detail : reading.kind;
};

test('an order with a payment has what the partner states, and only that is kept', () => {
  const other = { reference: 'z', error: 'busy' };
  const reading = read([other, { reference: 'a', payment }]);
  assert.equal(reading.kind, 'payment');
  const kept = reading.kind === 'payment' ? JSON.parse(reading.raw.toString()) : undefined;
  assert.deepEqual(kept, payment);
});

test('an order with an error is refused by itself, at the time of the answer', () => {
  for (const code of ['busy', 'malformed', 'reference_conflict', 'unknown_reference']) {
    const reading = read([{ reference: 'a', error: code }]);
    assert.deepEqual(reading, { kind: 'refused', code, createdS: 7, retryAfterMs: 0 });
  }
});

test('an entry that proves nothing is unclear, and leaves the others alone', () => {
  const right = { reference: 'a', payment };
  assert.equal(explain([{}, { reference: 'z', payment: {} }, right]), 'payment');
  const notClear = [
    [],
    [{ reference: 'a' }],
    [right, right],
    [{ ...right, error: 'busy' }],
    [{ reference: 'a', error: 'tired' }],
    [{ reference: 'a', payment: { ...payment, amount: '100.11' } }],
    [{ reference: 'a', payment: { ...payment, reference: 'z' } }],
    [{ reference: 'a', payment: { ...payment, state: 'gone' } }],
  ];
  for (const orders of notClear) assert.equal(read(orders).kind, 'unclear', JSON.stringify(orders));
});

test('an answer about another batch, or of another status, proves nothing', () => {
  assert.match(explain([{ reference: 'a', payment }], { batch: 'c' }), /another batch/);
  assert.match(explain([{ reference: 'a', payment }], { status: 202 }), /202/);
});
