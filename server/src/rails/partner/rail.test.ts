import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Fault } from '../../../testing/counterparties/partner/simulator-options.ts';
import {
  context,
  newInstruction,
  openPartner,
  openPartnerRail,
  type PartnerProcess,
  type PartnerRail,
  startPartner,
  waitUntil,
} from '../../../testing/setups/partner.ts';

let partner: PartnerProcess;
let subject: PartnerRail;

before(async () => {
  partner = await startPartner({ fee: '0.75', settleMs: 100, collectMs: null });
  subject = await openPartnerRail({ keys: partner.keys, url: partner.url });
});
after(async () => {
  await subject.close();
  await partner.close();
});

function breakOnce(kind: Fault['kind'], reference: string, more: Partial<Fault> = {}) {
  const fault = { on: 'put' as const, kind, pattern: `^${reference}$`, count: 1, ...more };
  return partner.setOptions({ faults: [fault] });
}

async function awaitObservations(reference: string, count: number) {
  const find = () => subject.host.observations.filter((entry) => entry.reference === reference);
  await waitUntil(() => find().length >= count, `${count} observations of a payment`);
  return find();
}

/** Until the partner has none left of the payments so far. */
const awaitCallbacks = () =>
  waitUntil(async () => (await partner.readRecords()).pendingEvents === 0, 'callbacks are taken');

test('a payment is accepted, paid once, and reported by a signed callback', async () => {
  const instruction = newInstruction();
  const { reference } = instruction;
  const answer = await subject.rail.send(instruction, context);
  assert.equal(answer.outcome, 'accepted');
  const [observation] = await awaitObservations(reference, 1);
  assert.equal(observation?.outcome, 'paid');
  const asked = await subject.rail.query(instruction, context);
  assert.equal(asked.outcome, 'paid');
  assert.deepEqual(asked.charges, [
    { id: 'fee', kind: 'partner', currency: 'EUR', amountMinor: 75n },
  ]);
  const { payments } = await partner.readRecords();
  assert.equal(payments[reference]?.paidCount, 1);
  assert.equal(payments[reference]?.amount, '100.10');
});

test('a second sending only asks, and pays nothing', async () => {
  const instruction = newInstruction();
  await subject.rail.send(instruction, context);
  await awaitObservations(instruction.reference, 1);
  const again = await subject.rail.send(instruction, context);
  assert.equal(again.outcome, 'paid');
  const { payments } = await partner.readRecords();
  assert.equal(payments[instruction.reference]?.paidCount, 1);
  assert.equal(payments[instruction.reference]?.orders, 1);
});

test('cash waits for its recipient until it is collected', async () => {
  const instruction = newInstruction({ deliveryType: 'CASH_PICKUP', pickupCode: '123456' });
  await subject.rail.send(instruction, context);
  const [ready] = await awaitObservations(instruction.reference, 1);
  assert.equal(ready?.outcome, 'ready_for_pickup');
  const { reference } = instruction;
  await partner.control('/control/state', { reference, state: 'paid' });
  const [, paid] = await awaitObservations(reference, 2);
  assert.equal(paid?.outcome, 'paid');
});

const unclearFaults = [
  'error_before',
  'error_after',
  'reset_before',
  'reset_after',
  'cut',
  'garbage',
  'unsigned',
  'wrong_signature',
  'wrong_amount',
  'wrong_reference',
] as const;

for (const kind of unclearFaults) {
  test(`an answer spoilt by ${kind} is unknown, and the payment happens at most once`, async () => {
    const instruction = newInstruction();
    const { reference } = instruction;
    await breakOnce(kind, reference);
    const answer = await subject.rail.send(instruction, context);
    assert.equal(answer.outcome, 'unknown');
    const again = await subject.rail.send(instruction, context);
    assert.equal(again.outcome === 'accepted' || again.outcome === 'paid', true);
    await awaitObservations(reference, 1);
    const { payments } = await partner.readRecords();
    assert.equal(payments[reference]?.paidCount, 1);
  });
}

test('an answer that does not come in time is unknown', async () => {
  const impatient = await openPartnerRail({
    keys: partner.keys,
    url: partner.url,
    config: { timeoutSeconds: 0.5 },
  });
  try {
    const instruction = newInstruction();
    await breakOnce('silent_after', instruction.reference);
    const answer = await impatient.rail.send(instruction, context);
    assert.deepEqual(answer, { outcome: 'unknown', reason: 'no_answer' });
    const asked = await impatient.rail.query(instruction, context);
    assert.equal(asked.outcome === 'accepted' || asked.outcome === 'paid', true);
  } finally {
    await impatient.close();
  }
});

test('asked for what never arrived, it says retry only after the order has expired', async () => {
  let aheadMs = 0;
  const realNowMs = (): number => Date.now() + aheadMs;
  const steered = await openPartner({});
  const { keys, port, state } = steered;
  // The clock of both sides.
  Object.assign(state, { nowMs: realNowMs });
  const own = await openPartnerRail({ keys, url: `http://127.0.0.1:${port}`, realNowMs });
  try {
    const instruction = newInstruction();
    const fault = { on: 'put', kind: 'reset_before', share: 1, count: 1, pattern: '' } as const;
    state.options.faults = [{ ...fault, delayMs: 0 }];
    assert.equal((await own.rail.send(instruction, context)).outcome, 'unknown');
    assert.deepEqual(await own.rail.query(instruction, context), {
      outcome: 'unknown',
      reason: 'no_answer',
    });
    aheadMs = 660_000;
    assert.equal((await own.rail.query(instruction, context)).outcome, 'retry');
    assert.equal((await own.rail.send(instruction, context)).outcome, 'accepted');
  } finally {
    await own.close();
    await steered.close();
  }
});

test('of a reference never sent it says retry', async () => {
  const answer = await subject.rail.query(newInstruction(), context);
  assert.equal(answer.outcome, 'retry');
});

test('a partner that takes no more for the moment gives a retry', async () => {
  const instruction = newInstruction();
  await breakOnce('busy', instruction.reference);
  const answer = await subject.rail.send(instruction, context);
  assert.deepEqual(answer, { outcome: 'retry', reason: 'busy' });
  assert.equal((await subject.rail.send(instruction, context)).outcome, 'accepted');
});

test('after an unclear sending a busy partner is no retry', async () => {
  const instruction = newInstruction();
  await breakOnce('reset_before', instruction.reference);
  await subject.rail.send(instruction, context);
  await breakOnce('busy', instruction.reference);
  const answer = await subject.rail.send(instruction, context);
  assert.deepEqual(answer, { outcome: 'unknown', reason: 'busy' });
});

test('a definite refusal carries its reason', async () => {
  const reference = `refused${randomUUID().slice(0, 8)}`;
  await partner.setOptions({ rejectPattern: '^refused', rejectReason: 'account_blocked' });
  const answer = await subject.rail.send(newInstruction({ reference }), context);
  assert.equal(answer.outcome, 'rejected');
  assert.equal('reason' in answer && answer.reason, 'account_blocked');
  await partner.setOptions({ rejectReason: 'our_computer_says_no' });
  const other = newInstruction({ reference: `${reference}b` });
  const refused = await subject.rail.send(other, context);
  assert.equal('reason' in refused && refused.reason, 'other');
  await partner.setOptions({ rejectPattern: '' });
});

test('a payment that was canceled before it came is never paid', async () => {
  const instruction = newInstruction();
  const cancelled = await subject.rail.cancel?.(instruction, context);
  assert.equal(cancelled?.outcome, 'rejected');
  const late = await openPartnerRail({ keys: partner.keys, url: partner.url });
  try {
    // A process that knows nothing of the cancellation sends it anyway.
    const sent = await late.rail.send(instruction, context);
    assert.equal(sent.outcome, 'rejected');
  } finally {
    await late.close();
  }
  const { payments } = await partner.readRecords();
  assert.equal(payments[instruction.reference]?.paidCount, 0);
});

test('canceling what has been paid says so', async () => {
  const instruction = newInstruction();
  await subject.rail.send(instruction, context);
  await awaitObservations(instruction.reference, 1);
  assert.equal((await subject.rail.cancel?.(instruction, context))?.outcome, 'paid');
});

test('returns, of all or of a part, come as observations with their amounts', async () => {
  const whole = newInstruction();
  const parts = newInstruction();
  for (const instruction of [whole, parts]) {
    await subject.rail.send(instruction, context);
    await awaitObservations(instruction.reference, 1);
  }
  await partner.control('/control/return', { reference: whole.reference, amount: '100.10' });
  assert.equal((await subject.rail.query(whole, context)).outcome, 'paid');
  const reported = (await awaitObservations(whole.reference, 2))[1];
  assert.equal(reported?.outcome, 'returned');
  assert.equal(reported?.amountMinor, 10_010n);
  assert.equal(reported?.reason, 'account_closed');

  const { reference } = parts;
  await partner.control('/control/return', { reference, id: 'a', amount: '40' });
  await awaitObservations(reference, 2);
  assert.equal((await subject.rail.query(parts, context)).outcome, 'paid');
  await partner.control('/control/return', { reference, id: 'b', amount: '90.5' });
  await awaitCallbacks();
  assert.equal((await subject.rail.query(parts, context)).outcome, 'paid');
  const returns = subject.host.observations.filter(
    (entry) => entry.reference === reference && entry.outcome === 'returned',
  );
  const amounts = new Map(returns.map((entry) => [entry.id, entry.amountMinor]));
  assert.deepEqual(
    [...amounts],
    [
      [`return:${reference}:a`, 4000n],
      [`return:${reference}:b`, 9050n],
    ],
  );
});

test('unsolicited returns, out of order and too large, are all stored', async () => {
  const instruction = newInstruction({ payerKey: 'brings_back', amountMinor: 5n });
  const { reference } = instruction;
  await partner.setOptions({
    returnPattern: '^brings_back$',
    returnAfterMs: 10,
    returnParts: [5000, 20_000],
    reorderShare: 0.5,
    reorderMs: 200,
  });
  await subject.rail.send(instruction, context);
  const observed = await awaitObservations(reference, 3);
  await partner.setOptions({ returnPattern: '', reorderShare: 0 });
  const outcomes = observed.map(({ outcome, amountMinor = 0n }) => `${outcome} ${amountMinor}`);
  assert.deepEqual(outcomes.toSorted(), ['paid 5', 'returned 10', 'returned 2']);
  assert.equal((await partner.readRecords()).payments[reference]?.state, 'returned');
});

test('lost callbacks are made up for by reading the list of events, which has each once', async () => {
  const lost = newInstruction();
  await partner.setOptions({ lostShare: 1 });
  await subject.rail.send(lost, context);
  await waitUntil(
    async () => (await subject.rail.query(lost, context)).outcome === 'paid',
    'it is paid',
  );
  await partner.setOptions({ lostShare: 0 });
  const delivered = newInstruction();
  await subject.rail.send(delivered, context);
  await awaitObservations(delivered.reference, 1);
  await subject.rail.work?.(context);
  for (const { reference } of [lost, delivered]) {
    const outcomes = (await awaitObservations(reference, 1)).map(({ outcome }) => outcome);
    assert.deepEqual(outcomes, ['paid']);
  }
  const cursor = await subject.host.store.get('events', 'cursor');
  await subject.rail.work?.(context);
  assert.deepEqual(await subject.host.store.get('events', 'cursor'), cursor);
});

test('callbacks that are repeated or forged count once or not at all', async () => {
  const instruction = newInstruction();
  await awaitCallbacks();
  await partner.setOptions({ duplicateShare: 1, forgedShare: 1 });
  // On a busy machine they come before the sending is recorded.
  const { length } = subject.readings;
  await subject.rail.send(instruction, context);
  await waitUntil(() => subject.readings.length >= length + 3, 'three callbacks');
  await partner.setOptions({ duplicateShare: 0, forgedShare: 0 });
  const kinds = subject.readings.slice(length).map(({ kind }) => kind);
  assert.deepEqual(kinds, ['accepted', 'accepted', 'refused']);
  assert.equal((await awaitObservations(instruction.reference, 1)).length, 1);
});

test('a partner killed in the middle keeps what it answered for', async () => {
  const instruction = newInstruction();
  assert.equal((await subject.rail.send(instruction, context)).outcome, 'accepted');
  await partner.kill();
  assert.deepEqual(await subject.rail.query(instruction, context), {
    outcome: 'unknown',
    reason: 'unreachable',
  });
  const other = newInstruction();
  assert.deepEqual(await subject.rail.send(other, context), {
    outcome: 'retry',
    reason: 'unreachable',
  });
  await partner.restart();
  await awaitObservations(instruction.reference, 1);
  const { payments } = await partner.readRecords();
  assert.equal(payments[instruction.reference]?.paidCount, 1);
  assert.equal(payments[other.reference], undefined);
});

test('a partner that has forgotten what it knew is no reason to send again', async () => {
  const forgetful = await startPartner();
  const rail = await openPartnerRail({ keys: forgetful.keys, url: forgetful.url });
  try {
    const instruction = newInstruction();
    await rail.rail.send(instruction, context);
    await forgetful.kill();
    rmSync(join(forgetful.folder, 'books.jsonl'));
    await forgetful.restart();
    for (const call of [rail.rail.query, rail.rail.send]) {
      assert.deepEqual(await call(instruction, context), {
        outcome: 'unknown',
        reason: 'not_understood',
      });
    }
    assert.deepEqual((await forgetful.readRecords()).payments, {});
  } finally {
    await rail.close();
    await forgetful.close();
  }
});

test('no personal data is kept once the partner has answered', async () => {
  const instruction = newInstruction();
  await subject.rail.send(instruction, context);
  const record = await subject.host.store.get('payments', instruction.reference);
  assert.deepEqual(record?.value, {
    amount: '10010',
    currency: 'EUR',
    body: '',
    inFlightUntilS: 0,
  });
});

test('another amount under the same reference is unknown', async () => {
  const instruction = newInstruction();
  await breakOnce('reset_after', instruction.reference);
  await subject.rail.send(instruction, context);
  const other = { ...instruction, amountMinor: 10_011n };
  assert.equal((await subject.rail.send(other, context)).outcome, 'unknown');
  const { payments } = await partner.readRecords();
  assert.equal(payments[instruction.reference]?.amount, '100.10');
  assert.equal(payments[instruction.reference]?.orders, 1);
});
