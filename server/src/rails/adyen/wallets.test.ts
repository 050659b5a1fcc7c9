import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  adyenAttributes,
  context,
  newAdyenInstruction,
  prepareAdyenBench,
} from '../../../testing/setups/adyen.ts';
import type { Instruction, RailObservation } from '../contract/contract.ts';

/** Payments to accounts that Adyen keeps; conformance of them is in wallet-conformance.test.ts. */

const bench = prepareAdyenBench();

const walletId = adyenAttributes.wallet.BankAccountNumber;

const newWalletPayment = (changes: Partial<Instruction> = {}): Instruction =>
  newAdyenInstruction({
    payerKey: 'wallet',
    deliveryType: 'MOBILE_WALLET',
    attributes: adyenAttributes.wallet,
    ...changes,
  });

async function pay(instruction: Instruction): Promise<void> {
  assert.equal((await bench.rail.send(instruction, context)).outcome, 'accepted');
  await bench.advance(2);
  assert.equal((await bench.rail.query(instruction, context)).outcome, 'paid');
}

const amounts = (observations: readonly RailObservation[]) =>
  new Map(
    observations
      .filter(({ outcome }) => outcome === 'returned')
      .map(({ id, amountMinor }) => [id, amountMinor]),
  );

describe('a wallet', () => {
  test('is a balance account, and its money is there when it is booked', async () => {
    const before = bench.simulator.getWalletBalance(walletId);
    const instruction = newWalletPayment();
    await pay(instruction);
    const transfer = bench.simulator.books.list().at(-1);
    assert.equal(transfer?.order.category, 'internal');
    assert.equal(transfer.order.type, 'internalTransfer');
    assert.deepEqual(transfer.order.counterparty, { balanceAccountId: walletId });
    assert.equal(transfer.order.referenceForBeneficiary, instruction.reference);
    assert.equal(bench.simulator.getWalletBalance(walletId), before + 12_345);
  });

  test('that Adyen does not know is refused for good', async () => {
    bench.simulator.setOptions({ unknownPattern: '^BA9' });
    const instruction = newWalletPayment({
      attributes: { BankAccountNumber: 'BA99999999999999999999999' },
    });
    const refused = { outcome: 'rejected', reason: 'invalid_details', code: '30_001' };
    assert.deepEqual(await bench.rail.send(instruction, context), refused);
    bench.simulator.setOptions({ unknownPattern: '$^' });
    assert.deepEqual(await bench.rail.send(instruction, context), refused);
  });

  test('has webhooks of both balance accounts, of which those of ours count', async () => {
    const instruction = newWalletPayment();
    await pay(instruction);
    const outcomes = (await bench.readWebhooks(instruction)).map(({ id, outcome }) => ({
      id,
      outcome,
    }));
    const { id } = bench.simulator.books.list().at(-1) ?? { id: '' };
    assert.deepEqual(outcomes, [
      { id: `${id}:accepted`, outcome: 'accepted' },
      { id: `${id}:accepted`, outcome: 'accepted' },
      { id: `${id}:paid`, outcome: 'paid' },
    ]);
  });

  for (const sentBackStatus of ['returned', 'booked'] as const) {
    test(`that sends back a part has kept the rest, with the status ${sentBackStatus}`, async () => {
      bench.simulator.setOptions({ sentBackStatus });
      const before = bench.simulator.getWalletBalance(walletId);
      const instruction = newWalletPayment();
      await pay(instruction);
      bench.simulator.force(instruction.reference, 'returned', { value: 345 });
      const part = await bench.rail.query(instruction, context);
      assert.equal(part.outcome, 'returned');
      assert.equal('amountMinor' in part && part.amountMinor, 345n);
      bench.simulator.force(instruction.reference, 'returned', { value: 2_000 });
      const total = await bench.rail.query(instruction, context);
      assert.equal('amountMinor' in total && total.amountMinor, 2_345n);
      assert.equal(bench.simulator.getWalletBalance(walletId), before + 10_000);
      // Each part is one observation, whatever the order of the webhooks, and the list has the same.
      const observed = amounts(await bench.readWebhooks(instruction));
      assert.deepEqual([...observed.values()], [345n, 2_000n]);
      const late = amounts(await bench.readWebhooks(instruction, true));
      assert.deepEqual(
        new Map([...late].toSorted(([a], [b]) => (a < b ? -1 : 1))),
        new Map([...observed].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      );
      await bench.rail.work?.(context);
      const listed = bench.host.observations.filter(
        ({ reference, outcome }) => reference === instruction.reference && outcome === 'returned',
      );
      assert.deepEqual(new Map(listed.map(({ id, amountMinor }) => [id, amountMinor])), observed);
    });
  }

  test('that sends back more after the first part was listed is read again', async () => {
    const instruction = newWalletPayment();
    await pay(instruction);
    const parts = () =>
      bench.host.observations
        .filter(({ reference }) => reference === instruction.reference)
        .filter(({ outcome }) => outcome === 'returned')
        .map(({ amountMinor }) => amountMinor);
    bench.simulator.force(instruction.reference, 'returned', { value: 5 });
    await bench.rail.work?.(context);
    assert.deepEqual(parts(), [5n]);
    await bench.rail.work?.(context);
    bench.simulator.force(instruction.reference, 'returned');
    await bench.rail.work?.(context);
    await bench.rail.work?.(context);
    assert.deepEqual(parts(), [5n, 12_340n]);
  });

  test('fails late as a whole', async () => {
    const instruction = newWalletPayment();
    await pay(instruction);
    bench.simulator.force(instruction.reference, 'failed');
    const answer = await bench.rail.query(instruction, context);
    assert.equal(answer.outcome, 'returned');
    assert.equal('amountMinor' in answer && answer.amountMinor, 12_345n);
  });
});

describe('a transfer instrument', () => {
  test('is a bank account that Adyen knows, with priorities and without a reference', async () => {
    const instruction = newAdyenInstruction({
      payerKey: 'instrument',
      attributes: adyenAttributes.instrument,
    });
    await pay(instruction);
    const order = bench.simulator.books.list().at(-1)?.order;
    assert.equal(order?.category, 'bank');
    assert.equal(order.priority, 'regular');
    assert.equal(order.type, 'bankTransfer');
    // The form of the account is not known, and 15 characters are certain only.
    assert.equal(order.referenceForBeneficiary, undefined);
    assert.deepEqual(order.counterparty, {
      transferInstrumentId: adyenAttributes.instrument.BankAccountNumber,
    });
  });
});
