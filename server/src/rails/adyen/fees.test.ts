import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  adyenAttributes,
  context,
  newAdyenInstruction,
  prepareAdyenBench,
} from '../../../testing/setups/adyen.ts';
import type { Instruction, RailObservation } from '../contract/contract.ts';
import { listFees, listMoneyProblems, listReturns } from './money-moves.ts';
import { type Transfer, transferSchema } from './wire.ts';

/** What Adyen takes for a payment, as charges. */

const bench = prepareAdyenBench();

async function pay(changes: Partial<Instruction> = {}): Promise<Instruction> {
  const instruction = newAdyenInstruction(changes);
  assert.equal((await bench.rail.send(instruction, context)).outcome, 'accepted');
  await bench.advance(4);
  return instruction;
}

const listed = ({ reference }: Instruction) =>
  bench.host.observations.filter((observation) => observation.reference === reference);

function listCharges(observations: readonly RailObservation[]) {
  const charges = observations.flatMap(({ charges: found = [] }) => found);
  return [...new Map(charges.map((charge) => [charge.id, charge])).values()];
}

const takenAs = (amountMinor: bigint, currency = 'EUR') => ({
  kind: 'partner',
  currency,
  amountMinor,
});
const withoutId = ({ id: _id, ...charge }: { id: string }) => charge;

describe('a fee that is an event of the transfer', () => {
  test('is a charge of the payment in answers, webhooks and the list, with the same id', async () => {
    bench.simulator.setOptions({ fee: { value: 35, currency: 'EUR', by: 'event' } });
    const instruction = await pay({ payerKey: 'card', attributes: adyenAttributes.card });
    const answer = await bench.rail.query(instruction, context);
    assert.equal(answer.outcome, 'paid');
    const [charge] = answer.charges ?? [];
    assert.ok(charge !== undefined);
    assert.deepEqual(withoutId(charge), takenAs(35n));
    assert.deepEqual(listCharges(await bench.readWebhooks(instruction)), [charge]);
    await bench.rail.work?.(context);
    assert.deepEqual(listCharges(listed(instruction)), [charge]);
  });

  test('may be in another currency than the payment', async () => {
    bench.simulator.setOptions({ fee: { value: 20, currency: 'USD', by: 'event' } });
    const instruction = await pay();
    const answer = await bench.rail.query(instruction, context);
    assert.deepEqual(answer.charges?.map(withoutId), [takenAs(20n, 'USD')]);
  });

  test('is reported where the payment was refused or came back, and says nothing new of it', async () => {
    bench.simulator.setOptions({ fee: { value: 35, currency: 'EUR', by: 'event' } });
    const instant = newAdyenInstruction({ payerKey: 'instant' });
    bench.simulator.expect(instant.reference, 'failed');
    await bench.rail.send(instant, context);
    await bench.advance(5);
    const refused = await bench.rail.query(instant, context);
    assert.equal(refused.outcome, 'rejected');
    assert.deepEqual(refused.charges?.map(withoutId), [takenAs(35n)]);

    const returned = await pay();
    bench.simulator.force(returned.reference, 'returned');
    for (const instruction of [instant, returned]) {
      const observations = await bench.readWebhooks(instruction);
      const fees = observations.filter(({ charges }) => charges !== undefined);
      assert.ok(fees.length > 0);
      const others = observations.filter(({ charges }) => charges === undefined);
      const firstMs = Math.min(...others.map(({ atMs }) => atMs));
      for (const { outcome, atMs, amountMinor, providerReference } of fees) {
        assert.equal(outcome, 'accepted');
        assert.ok(atMs <= firstMs);
        assert.deepEqual([amountMinor, providerReference], [undefined, undefined]);
      }
    }
  });
});

describe('a fee that is a transfer of its own', () => {
  test('is a charge of the payment whose reference it has, and no payment', async () => {
    bench.simulator.setOptions({ fee: { value: 7, currency: 'EUR', by: 'transfer' } });
    const instruction = await pay();
    // By its reference, as after a lost answer: two transfers have it, and one of them is the fee.
    assert.equal((await bench.rail.query(instruction, context)).outcome, 'paid');
    const observations = await bench.readWebhooks(instruction);
    assert.deepEqual(listCharges(observations).map(withoutId), [takenAs(7n)]);
    for (let pass = 0; pass < 3; pass += 1) await bench.rail.work?.(context);
    assert.deepEqual(listCharges(listed(instruction)), listCharges(observations));
    const ids = listed(instruction).map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
  });

  test('does not keep a payment from being found, nor counts as one after a restore', async () => {
    bench.simulator.setOptions({ fee: { value: 7, currency: 'EUR', by: 'transfer' } });
    const instruction = newAdyenInstruction();
    bench.simulator.setOptions({ faults: [{ on: 'create', kind: 'reset_after' }] });
    assert.equal((await bench.rail.send(instruction, context)).outcome, 'unknown');
    bench.simulator.setOptions({ faults: [] });
    await bench.advance(4);
    assert.equal((await bench.rail.query(instruction, context)).outcome, 'paid');
    const recovered = await bench.rail.recover?.(bench.clock.nowMs - 3_600_000, context);
    const ours = recovered?.filter(({ reference }) => reference === instruction.reference) ?? [];
    assert.deepEqual(
      ours.map(({ amountMinor, outcome }) => [amountMinor, outcome]),
      [[12_345n, 'paid']],
    );
    assert.equal(await bench.rail.findUnknownPayments?.(context), undefined);
  });
});

describe('the events of a transfer', () => {
  const read = (events: readonly object[]): Transfer =>
    transferSchema.parse({
      id: '6JKRLZ8LOT47J7RY',
      reference: 'r',
      amount: { value: 1_000, currency: 'EUR' },
      category: 'bank',
      status: 'booked',
      events,
    });
  const event = (status: string, balance: number, currency = 'EUR') => ({
    id: `EV${status}${balance}`,
    status,
    type: 'accounting',
    mutations: [{ currency, balance }],
  });
  const booked = event('booked', -1_000);

  test('are fees by their status, when the balance has changed', () => {
    const pending = { ...event('feePending', 0), mutations: [{ currency: 'EUR', reserved: -3 }] };
    const transfer = read([booked, pending, event('fee', -3), event('miscCost', -4)]);
    assert.deepEqual(
      listFees(transfer).map(({ id, amountMinor }) => [id, amountMinor]),
      [
        ['EVfee-3', 3n],
        ['EVmiscCost-4', 4n],
      ],
    );
    assert.deepEqual(listReturns(transfer), []);
    assert.deepEqual(listMoneyProblems(transfer), []);
  });

  test('without an id have that of their position', () => {
    const { id: _id, ...nameless } = event('fee', -3);
    assert.deepEqual(
      listFees(read([booked, nameless])).map(({ id }) => id),
      ['1'],
    );
  });

  test('that no charge or return can stand for open an exception', () => {
    const transfer = read([
      booked,
      event('fee', 3),
      event('returned', 900, 'USD'),
      event('fee', -5, 'CLP'),
    ]);
    assert.deepEqual(listFees(transfer), []);
    assert.deepEqual(listReturns(transfer), []);
    assert.deepEqual(
      listMoneyProblems(transfer).map(({ kind, currency, amountMinor }) => ({
        kind,
        currency,
        amountMinor,
      })),
      [
        { kind: 'not_understood', currency: 'EUR', amountMinor: 3n },
        { kind: 'not_understood', currency: 'USD', amountMinor: 900n },
        { kind: 'not_understood', currency: undefined, amountMinor: undefined },
      ],
    );
  });
});
