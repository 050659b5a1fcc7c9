import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  context,
  newInstruction,
  openPaypalTest,
  type PaypalTest,
} from '../../../testing/setups/paypal.ts';
import type { Instruction } from '../contract/contract.ts';

/** A client may change the e-mail address of a recipient while PayPal has, or may have, the payment. */

let subject: PaypalTest;

function change(instruction: Instruction, email = 'changed@example.com'): Instruction {
  return { ...instruction, beneficiary: { ...instruction.beneficiary, email } };
}

function listItems({ reference }: Instruction) {
  return [...subject.paypal.books.batches.values()]
    .flatMap(({ items }) => items)
    .filter((item) => item.senderItemId === reference);
}

for (const batchItemsMax of [1, 5]) {
  describe(`a payment in a batch of at most ${batchItemsMax}`, () => {
    before(async () => {
      subject = await openPaypalTest({ config: { batchItemsMax, batchWaitSeconds: 0 } });
    });
    after(() => subject.close());

    test('is answered for at once, and goes to the address of its order', async () => {
      const instruction = newInstruction();
      const changed = change(instruction);
      assert.equal((await subject.rail.send(instruction, context)).outcome, 'accepted');
      assert.equal((await subject.rail.query(changed, context)).outcome, 'accepted');
      await subject.turn();
      for (const call of [subject.rail.query, subject.rail.send]) {
        assert.equal((await call(changed, context)).outcome, 'paid');
      }
      const items = listItems(instruction);
      assert.deepEqual(
        items.map(({ receiver }) => receiver),
        [instruction.beneficiary.email],
      );
    });

    test('that is not claimed can be canceled', async () => {
      const instruction = newInstruction();
      subject.paypal.setOptions({ abandonPattern: instruction.reference });
      await subject.rail.send(instruction, context);
      await subject.turn();
      const changed = change(instruction);
      assert.equal((await subject.rail.query(changed, context)).outcome, 'ready_for_pickup');
      assert.equal((await subject.rail.cancel?.(changed, context))?.outcome, 'returned');
      subject.paypal.setOptions({ abandonPattern: '' });
    });

    test('of another amount is another payment', async () => {
      const instruction = newInstruction();
      await subject.rail.send(instruction, context);
      const other = { ...change(instruction), amountMinor: 10_011n };
      const duplicate = { outcome: 'unknown', reason: 'duplicate' };
      for (const call of [subject.rail.query, subject.rail.send]) {
        assert.deepEqual(await call(other, context), duplicate);
      }
    });
  });
}

describe('an order', () => {
  before(async () => {
    subject = await openPaypalTest();
  });
  after(() => subject.close());

  test('whose answer was lost is repeated as it was', async () => {
    for (const kind of ['reset_after', 'reset_before'] as const) {
      const instruction = newInstruction();
      subject.paypal.setOptions({ faults: [{ kind, count: 1 }] });
      assert.equal((await subject.rail.send(instruction, context)).outcome, 'unknown');
      assert.equal((await subject.rail.query(change(instruction), context)).outcome, 'accepted');
      await subject.turn();
      assert.equal((await subject.rail.query(change(instruction), context)).outcome, 'paid');
      const receivers = listItems(instruction).map(({ receiver }) => receiver);
      assert.deepEqual(receivers, [instruction.beneficiary.email], kind);
    }
  });

  test('that has certainly not left goes to the changed address', async () => {
    const instruction = newInstruction();
    const changed = change(instruction, 'later@example.com');
    subject.paypal.setOptions({ faults: [{ kind: 'busy', count: 1 }] });
    assert.equal((await subject.rail.send(instruction, context)).outcome, 'retry');
    assert.equal((await subject.rail.query(changed, context)).outcome, 'retry');
    assert.equal((await subject.rail.send(changed, context)).outcome, 'accepted');
    await subject.turn();
    const receivers = listItems(instruction).map(({ receiver }) => receiver);
    assert.deepEqual(receivers, ['later@example.com']);
  });

  test('that has certainly not left is refused where the address was removed', async () => {
    const instruction = newInstruction();
    const removed = change(instruction, '');
    subject.paypal.setOptions({ faults: [{ kind: 'busy', count: 1 }] });
    assert.equal((await subject.rail.send(instruction, context)).outcome, 'retry');
    const refused = { outcome: 'rejected', reason: 'invalid_details' };
    assert.deepEqual(await subject.rail.send(removed, context), refused);
    assert.deepEqual(await subject.rail.send(instruction, context), refused);
    assert.deepEqual(listItems(instruction), []);
  });
});
