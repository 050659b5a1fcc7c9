import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { hubBehaviors } from '../../../testing/counterparties/fspiop/hub-callbacks.ts';
import { context, instruct, openTestRun, type TestRun } from '../../../testing/setups/fspiop.ts';
import { nameTransfer } from './payment.ts';

let run: TestRun;
before(async () => {
  run = await openTestRun();
});
after(() => run.close());

/** The service counts an observation once, by its id. */
function observed(reference: string) {
  const byId = new Map(run.host.observations.map((one) => [one.id, one]));
  return [...byId.values()].filter((one) => one.reference === reference);
}

test('a payment is looked up, quoted and transferred', async () => {
  const instruction = instruct();
  const sent = await run.rail.send(instruction, context);
  assert.equal(sent.outcome, 'accepted');
  await run.until(() => observed(instruction.reference).length > 0);
  const [observation] = observed(instruction.reference);
  assert.equal(observation?.outcome, 'paid');
  const answer = await run.rail.query(instruction, context);
  assert.equal(answer.outcome, 'paid');
  assert.deepEqual(answer.charges, []);
  const transferId = nameTransfer(instruction.reference);
  assert.equal(answer.providerReference, transferId);
  const booked = run.simulator.books.find(transferId);
  assert.equal(booked?.state, 'COMMITTED');
  assert.equal(booked.amount, '1500.5');
  assert.equal(booked.reference, instruction.reference);
});

test('error codes of the API become reasons', async () => {
  const cases = [
    ['3204', 'account_not_found'],
    ['5101', 'recipient_refused'],
    ['5104', 'recipient_refused'],
    ['4001', 'no_funds'],
    ['5200', 'amount_refused'],
  ] as const;
  for (const [behavior, reason] of cases) {
    const instruction = instruct({ behavior });
    await run.rail.send(instruction, context);
    await run.until(() => observed(instruction.reference).length > 0);
    const answer = await run.rail.query(instruction, context);
    assert.equal(answer.outcome, 'rejected', behavior);
    assert.equal(answer.reason, reason);
    assert.equal(answer.code, behavior);
  }
});

test('a wallet with another name is not paid', async () => {
  const instruction = instruct({ behavior: hubBehaviors.otherName });
  await run.rail.send(instruction, context);
  await run.until(() => observed(instruction.reference).length > 0);
  const answer = await run.rail.query(instruction, context);
  assert.equal(answer.outcome, 'rejected');
  assert.equal(answer.reason, 'name_mismatch');
  assert.equal(run.simulator.books.find(nameTransfer(instruction.reference)), undefined);
});

test('a lost callback is queried and a repeated one counts once', async () => {
  for (const behavior of [
    hubBehaviors.lostCallbacks,
    hubBehaviors.repeatedCallbacks,
    hubBehaviors.failsAfterBooking,
  ]) {
    const instruction = instruct({ behavior });
    await run.rail.send(instruction, context);
    await run.until(() => observed(instruction.reference).length > 0);
    await run.simulator.settle();
    assert.deepEqual(
      observed(instruction.reference).map(({ outcome }) => outcome),
      ['paid'],
      behavior,
    );
  }
});

test('a wrong fulfilment does not prove a payment', async () => {
  const instruction = instruct({ behavior: hubBehaviors.wrongFulfilment });
  await run.rail.send(instruction, context);
  await run.until(async () => {
    const answer = await run.rail.query(instruction, context);
    return answer.outcome === 'unknown' && answer.reason === 'not_understood';
  });
  assert.deepEqual(observed(instruction.reference), []);
});

test('a reference is paid once however often it is sent', async () => {
  const instruction = instruct();
  await Promise.all([1, 2, 3].map(() => run.rail.send(instruction, context)));
  await run.restart();
  await run.rail.send(instruction, context);
  await run.until(() => observed(instruction.reference).length > 0);
  const after = await run.rail.send(instruction, context);
  assert.equal(after.outcome, 'paid');
  const other = await run.rail.send({ ...instruction, amountMinor: 1n }, context);
  assert.equal(other.outcome, 'unknown');
  const booked = run.simulator.books
    .list()
    .filter(({ reference }) => reference === instruction.reference);
  assert.equal(booked.length, 1);
});

test('a payment without a transfer can be canceled for good', async () => {
  const early = instruct();
  assert.equal((await run.rail.cancel?.(early, context))?.outcome, 'rejected');
  assert.equal((await run.rail.send(early, context)).outcome, 'rejected');
  const begun = instruct();
  await run.rail.send(begun, context);
  assert.equal((await run.rail.cancel?.(begun, context))?.outcome, 'rejected');
  await run.simulator.settle();
  await run.rail.work?.(context);
  assert.equal(run.simulator.books.find(nameTransfer(begun.reference)), undefined);
  const paid = instruct();
  await run.rail.send(paid, context);
  await run.until(() => observed(paid.reference).length > 0);
  assert.equal((await run.rail.cancel?.(paid, context))?.outcome, 'paid');
});

test('a number that a client changes meanwhile changes no answer about the payment', async () => {
  const { attributes, beneficiary, ...rest } = instruct();
  const mobileNumber = attributes['PhoneNumber'] ?? beneficiary.mobileNumber;
  const instruction = { ...rest, attributes: {}, beneficiary: { ...beneficiary, mobileNumber } };
  const changed = {
    ...instruction,
    beneficiary: { ...beneficiary, mobileNumber: `${mobileNumber.slice(0, -1)}7` },
  };
  assert.equal((await run.rail.send(instruction, context)).outcome, 'accepted');
  assert.equal((await run.rail.query(changed, context)).outcome, 'accepted');
  await run.until(() => observed(instruction.reference).length > 0);
  assert.equal((await run.rail.query(changed, context)).outcome, 'paid');
  const booked = run.simulator.books.find(nameTransfer(instruction.reference));
  assert.equal(booked?.amount, '1500.5');
});

test('a refusal for an invalid number stays when the number is corrected', async () => {
  const { attributes, ...rest } = instruct();
  const refused = { outcome: 'rejected', reason: 'invalid_details' };
  const wrong = { ...rest, attributes: { ...attributes, PhoneNumber: '12' } };
  for (const instruction of [wrong, { ...rest, attributes }]) {
    const { outcome, reason } = { reason: '', ...(await run.rail.send(instruction, context)) };
    assert.deepEqual({ outcome, reason }, refused);
  }
  assert.equal(run.simulator.books.find(nameTransfer(rest.reference)), undefined);
});

test('a query for a reference never sent answers retry', async () => {
  assert.equal((await run.rail.query(instruct(), context)).outcome, 'retry');
});
