import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  adyenAttributes,
  context,
  newAdyenInstruction,
  prepareAdyenBench,
} from '../../../testing/setups/adyen.ts';
import type { Instruction } from '../contract/contract.ts';

/** Payments to stored cards; conformance of them is in card-conformance.test.ts. */

const bench = prepareAdyenBench();

const newCardPayment = (changes: Partial<Instruction> = {}): Instruction =>
  newAdyenInstruction({ payerKey: 'card', attributes: adyenAttributes.card, ...changes });

async function send(instruction: Instruction): Promise<void> {
  assert.equal((await bench.rail.send(instruction, context)).outcome, 'accepted');
}

const query = (instruction: Instruction) => bench.rail.query(instruction, context);

describe('a stored card', () => {
  test('is paid by its token alone, and only when the scheme has confirmed it', async () => {
    const instruction = newCardPayment();
    await send(instruction);
    const [transfer] = bench.simulator.books.list();
    assert.equal(transfer?.order.category, 'card');
    assert.equal(transfer.order.priority, undefined);
    assert.deepEqual(transfer.order.counterparty.card, {
      cardHolder: {
        type: 'individual',
        firstName: 'Ana',
        lastName: 'Nunez',
        reference: 'customer 42',
        address: {
          country: 'ES',
          line1: 'Calle Mayor',
          line2: '5',
          city: 'Sevilla',
          postalCode: '41001',
        },
      },
      cardIdentification: { storedPaymentMethodId: 'ZMV627QSCQVDKG66' },
    });
    await bench.advance(2);
    assert.equal((await query(instruction)).outcome, 'accepted');
    await bench.advance(1);
    assert.equal((await query(instruction)).outcome, 'paid');
  });

  test('that Adyen does not know, or of another cardholder, is refused for good', async () => {
    bench.simulator.setOptions({ unknownPattern: '^UNKNOWN' });
    const attributes = { ...adyenAttributes.card, CardNumber: 'UNKNOWN-TOKEN-1' };
    const refused = { outcome: 'rejected', reason: 'invalid_details', code: '30_001' };
    const unknown = newCardPayment({ attributes });
    assert.deepEqual(await bench.rail.send(unknown, context), refused);
    const foreign = newCardPayment({
      attributes: { ...adyenAttributes.card, BillReferenceNumber: 'customer 43' },
    });
    assert.deepEqual(await bench.rail.send(foreign, context), refused);
    assert.deepEqual(await query(foreign), refused);
  });

  test('is never paid where the issuer refuses after the booking', async () => {
    for (const [failReason, reason] of [
      ['doNotHonor', 'account_not_creditable'],
      ['lostCard', 'account_blocked'],
      ['cardExpired', 'invalid_details'],
      ['withdrawalAmountExceeded', 'amount_refused'],
    ] as const) {
      bench.simulator.setOptions({ failReason });
      const instruction = newCardPayment();
      bench.simulator.expect(instruction.reference, 'failed');
      await send(instruction);
      await bench.advance(2);
      assert.equal((await query(instruction)).outcome, 'accepted');
      await bench.advance(1);
      const answer = await query(instruction);
      assert.equal(answer.outcome, 'rejected');
      assert.equal('reason' in answer && answer.reason, reason);
    }
  });

  test('that sends the money back is returned, under whatever status', async () => {
    const instruction = newCardPayment();
    await send(instruction);
    await bench.advance(3);
    assert.equal((await query(instruction)).outcome, 'paid');
    bench.simulator.force(instruction.reference, 'returned');
    for (const status of ['returned', 'refunded', 'reversed']) {
      const [transfer] = bench.simulator.books
        .list()
        .filter(({ reference }) => reference === instruction.reference);
      assert.ok(transfer !== undefined);
      transfer.status = status;
      const answer = await query(instruction);
      assert.equal(answer.outcome, 'returned', status);
      assert.equal('amountMinor' in answer && answer.amountMinor, 12_345n, status);
    }
  });

  test('is refunded by evidence only: an undescribed status without money is not understood', async () => {
    const instruction = newCardPayment();
    await send(instruction);
    await bench.advance(3);
    const transfer = bench.simulator.books.list().at(-1);
    assert.ok(transfer !== undefined);
    transfer.status = 'refunded';
    const answer = await query(instruction);
    assert.deepEqual(answer, {
      outcome: 'unknown',
      reason: 'not_understood',
      code: 'refunded.approved',
    });
  });

  test('waits for approvals and for the review like any transfer', async () => {
    const instruction = newCardPayment();
    bench.simulator.setOptions({ reviewPattern: instruction.reference });
    await send(instruction);
    await bench.advance(3);
    assert.equal((await query(instruction)).outcome, 'accepted');
    await bench.advance(4);
    assert.equal((await query(instruction)).outcome, 'paid');
  });

  test('of a company is that of a person of it; without a name it is refused', async () => {
    const { beneficiary } = newAdyenInstruction();
    const company = newCardPayment({ beneficiary: { ...beneficiary, businessName: 'Núñez S.L.' } });
    await send(company);
    const nameless = newCardPayment({ beneficiary: { ...beneficiary, lastName: '李' } });
    await send(nameless);
    const unwritable = newCardPayment({ beneficiary: { ...beneficiary, lastName: '🙂' } });
    const answer = await bench.rail.send(unwritable, context);
    assert.deepEqual(answer, { outcome: 'rejected', reason: 'invalid_details' });
  });

  test('whose number is given instead of a token never reaches Adyen, a record or the log', async () => {
    const number = '4111111111111111';
    const before = bench.simulator.books.list().length;
    const instruction = newCardPayment({
      attributes: { ...adyenAttributes.card, CardNumber: number },
    });
    const answer = await bench.rail.send(instruction, context);
    assert.deepEqual(answer, { outcome: 'rejected', reason: 'invalid_details' });
    assert.equal(bench.simulator.books.list().length, before);
    const faults = bench.rail.checkRecipient?.(instruction) ?? [];
    assert.deepEqual(
      faults.map(({ field, code }) => [field, code]),
      [['CardNumber', 'invalid']],
    );
    assert.ok(!JSON.stringify([faults, bench.host.lines]).includes(number));
  });
});
