import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { habits } from '../../../testing/counterparties/fspiop/hub-callbacks.ts';
import { context, instruct, openScene, type Scene } from '../../../testing/setups/fspiop.ts';
import { nameTransfer } from './payment.ts';

let scene: Scene;
before(async () => {
  scene = await openScene();
});
after(() => scene.close());

function observed(reference: string) {
  return scene.host.observations.filter((one) => one.reference === reference);
}

test('a payment is looked up, quoted and transferred', async () => {
  const instruction = instruct();
  const sent = await scene.rail.send(instruction, context);
  assert.equal(sent.outcome, 'accepted');
  await scene.until(() => observed(instruction.reference).length > 0);
  const [observation] = observed(instruction.reference);
  assert.equal(observation?.outcome, 'paid');
  const answer = await scene.rail.query(instruction, context);
  assert.equal(answer.outcome, 'paid');
  assert.deepEqual(answer.charges, []);
  const transferId = nameTransfer(instruction.reference);
  assert.equal(answer.providerReference, transferId);
  const booked = scene.simulator.books.find(transferId);
  assert.equal(booked?.state, 'COMMITTED');
  assert.equal(booked.amount, '1500.5');
  assert.equal(booked.reference, instruction.reference);
});

test('what the API or the recipient refuses is refused with its code', async () => {
  const cases = [
    ['3204', 'account_not_found'],
    ['5101', 'recipient_refused'],
    ['5104', 'recipient_refused'],
    ['4001', 'no_funds'],
    ['5200', 'amount_refused'],
  ] as const;
  for (const [habit, reason] of cases) {
    const instruction = instruct({ habit });
    await scene.rail.send(instruction, context);
    await scene.until(() => observed(instruction.reference).length > 0);
    const answer = await scene.rail.query(instruction, context);
    assert.equal(answer.outcome, 'rejected', habit);
    assert.equal(answer.reason, reason);
    assert.equal(answer.code, habit);
  }
});

test("a wallet of another name than the recipient's is not paid", async () => {
  const instruction = instruct({ habit: habits.otherName });
  await scene.rail.send(instruction, context);
  await scene.until(() => observed(instruction.reference).length > 0);
  const answer = await scene.rail.query(instruction, context);
  assert.equal(answer.outcome, 'rejected');
  assert.equal(answer.reason, 'name_mismatch');
  assert.equal(scene.simulator.books.find(nameTransfer(instruction.reference)), undefined);
});

test('a lost callback is asked for, and one that comes twice counts once', async () => {
  for (const habit of [habits.lostCallbacks, habits.repeatedCallbacks, habits.failsAfterBooking]) {
    const instruction = instruct({ habit });
    await scene.rail.send(instruction, context);
    await scene.until(() => observed(instruction.reference).length > 0);
    await scene.simulator.settle();
    assert.deepEqual(
      observed(instruction.reference).map(({ outcome }) => outcome),
      ['paid'],
      habit,
    );
  }
});

test('a fulfilment that does not fit proves nothing', async () => {
  const instruction = instruct({ habit: habits.wrongFulfilment });
  await scene.rail.send(instruction, context);
  await scene.until(async () => {
    const answer = await scene.rail.query(instruction, context);
    return answer.outcome === 'unknown' && answer.reason === 'not_understood';
  });
  assert.deepEqual(observed(instruction.reference), []);
});

test('a reference is sent once, however often it is handed over', async () => {
  const instruction = instruct();
  await Promise.all([1, 2, 3].map(() => scene.rail.send(instruction, context)));
  await scene.restart();
  await scene.rail.send(instruction, context);
  await scene.until(() => observed(instruction.reference).length > 0);
  const after = await scene.rail.send(instruction, context);
  assert.equal(after.outcome, 'paid');
  const other = await scene.rail.send({ ...instruction, amountMinor: 1n }, context);
  assert.equal(other.outcome, 'unknown');
  const booked = scene.simulator.books
    .list()
    .filter(({ reference }) => reference === instruction.reference);
  assert.equal(booked.length, 1);
});

test('a payment that has not left can be cancelled, and then never leaves', async () => {
  const early = instruct();
  assert.equal((await scene.rail.cancel?.(early, context))?.outcome, 'rejected');
  assert.equal((await scene.rail.send(early, context)).outcome, 'rejected');
  const begun = instruct();
  await scene.rail.send(begun, context);
  assert.equal((await scene.rail.cancel?.(begun, context))?.outcome, 'rejected');
  await scene.simulator.settle();
  await scene.rail.work?.(context);
  assert.equal(scene.simulator.books.find(nameTransfer(begun.reference)), undefined);
  const paid = instruct();
  await scene.rail.send(paid, context);
  await scene.until(() => observed(paid.reference).length > 0);
  assert.equal((await scene.rail.cancel?.(paid, context))?.outcome, 'paid');
});

test('a reference that was never sent can be sent', async () => {
  assert.equal((await scene.rail.query(instruct(), context)).outcome, 'retry');
});
