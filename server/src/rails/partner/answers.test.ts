import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newInstruction } from '../../../testing/setups/partner.ts';
import { describePayment, describeReturns, readExchange } from './answers.ts';
import { refusalCodes, refusalStatus } from './protocol.ts';

const instruction = newInstruction();
const createdS = Date.UTC(2030, 0, 15) / 1000;

function read(status: number, json: Parameters<typeof describe>[0]) {
  return readExchange(describe(json, status), instruction);
}

type Json = Extract<Parameters<typeof readExchange>[0], { kind: 'answered' }>['json'];

function describe(json: Json, status: number) {
  return {
    kind: 'answered',
    status,
    json,
    raw: Buffer.alloc(0),
    createdS,
    retryAfterMs: 0,
  } as const;
}

function newPayment(changes: { [name: string]: Json } = {}): Json {
  const { reference } = instruction;
  const money = { amount: '100.10', currency: 'EUR' };
  return { reference, ...money, state: 'paid', charges: [], returns: [], ...changes };
}

test('a refusal counts under its own status only', () => {
  for (const code of refusalCodes) {
    assert.equal(read(refusalStatus[code], { error: code }).kind, 'refused');
    for (const status of [500, 502, 200, 201, 404, 503]) {
      if (status === refusalStatus[code]) continue;
      assert.equal(read(status, { error: code }).kind, 'unclear', `${code} ${status}`);
    }
  }
  assert.equal(read(404, {}).kind, 'unclear');
  assert.equal(read(404, { error: 'no such page' }).kind, 'unclear');
});

test('a payment counts under status 200 only, and with the right echo only', () => {
  assert.equal(read(200, newPayment()).kind, 'payment');
  assert.equal(read(200, newPayment({ amount: '100.1' })).kind, 'payment');
  assert.equal(read(201, newPayment()).kind, 'unclear');
  for (const changes of [
    { amount: '100.11', state: 'accepted' },
    { amount: '100.11', state: 'rejected' },
    { amount: '1e2' },
    { amount: '100.001' },
    { currency: 'USD' },
    { reference: `${instruction.reference}0` },
    { state: 'PAID' },
    { state: 'returned' },
  ]) {
    assert.equal(read(200, newPayment(changes)).kind, 'unclear', JSON.stringify(changes));
  }
});

test('a time for the next query is converted from the partner’s clock to the environment’s', () => {
  const reading = read(200, newPayment({ state: 'accepted', check_at: '2030-01-15T00:10:00Z' }));
  assert.ok(reading.kind === 'payment');
  const answer = describePayment(reading, 5_000_000);
  assert.deepEqual(answer, { outcome: 'accepted', checkAtMs: 5_600_000 });
});

test('words that are not ours, also the names of things that every object has, mean a refusal', () => {
  for (const reason of ['constructor', 'to_string', 'made_up']) {
    const reading = read(200, newPayment({ state: 'rejected', reason }));
    assert.ok(reading.kind === 'payment');
    assert.deepEqual(describePayment(reading, 0), { outcome: 'rejected', reason: 'other' });
  }
});

test('a return is reported separately, whole or in part, and the answer keeps the earlier outcome', () => {
  const entry = { id: 'a', amount: '100.10', reason: 'x', occurred_at: '2030-01-15T00:00:00Z' };
  const returns = [entry, { ...entry, id: 'b', amount: '1' }];
  const reading = read(200, newPayment({ state: 'returned', returns }));
  assert.ok(reading.kind === 'payment');
  assert.deepEqual(describePayment(reading, 0), { outcome: 'paid', amountMinor: 10_010n });
  const reports = describeReturns(reading.payment, reading.raw).flatMap((one) => one.observations);
  assert.deepEqual(
    reports.map(({ outcome, amountMinor }) => `${outcome} ${amountMinor}`),
    ['returned 10010', 'returned 100'],
  );
});

test('another amount that was paid is a fact, and a charge of zero is none', () => {
  const charges = [
    { id: 'a', amount: '0.00', currency: 'EUR' },
    { id: 'b', amount: '0.25', currency: 'EUR' },
  ];
  const reading = read(200, newPayment({ amount: '99', charges }));
  assert.ok(reading.kind === 'payment');
  assert.deepEqual(describePayment(reading, 0), {
    outcome: 'paid',
    amountMinor: 9_900n,
    charges: [{ id: 'b', kind: 'partner', currency: 'EUR', amountMinor: 25n }],
  });
});
