import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  context,
  describeConfig,
  newInstruction,
  openPaypalTest,
  type PaypalTest,
} from '../../../testing/setups/paypal.ts';
import type { Instruction } from '../contract/contract.ts';
import { configSchema } from './config.ts';
import { railModule } from './rail.ts';

/** Expired keys, restores and the report of transactions. */

const dayMs = 86_400_000;

let subject: PaypalTest;

before(async () => {
  subject = await openPaypalTest();
});
after(() => subject.close());

const send = (instruction: Instruction) => subject.rail.send(instruction, context);
const query = (instruction: Instruction) => subject.rail.query(instruction, context);
const countBatches = ({ reference }: Instruction): number =>
  [...subject.paypal.books.batches.values()].filter(
    ({ senderBatchId }) => senderBatchId === reference,
  ).length;

describe('after 28 days PayPal may have forgotten the key of an order', () => {
  test('so one that never arrived is not sent again', async () => {
    const instruction = newInstruction();
    subject.paypal.setOptions({ faults: [{ kind: 'reset_before', count: 1 }] });
    assert.equal((await send(instruction)).outcome, 'unknown');
    subject.clock.aheadMs += 29 * dayMs;
    const expected = { outcome: 'unknown', reason: 'no_answer', code: 'KEY_EXPIRED' };
    assert.deepEqual(await query(instruction), expected);
    assert.deepEqual(await send(instruction), expected);
    assert.equal(countBatches(instruction), 0);
  });

  test('and one that was booked is found in the report', async () => {
    const instruction = newInstruction();
    subject.paypal.setOptions({ faults: [{ kind: 'reset_after', count: 1 }], lostShare: 1 });
    await send(instruction);
    await subject.turn();
    subject.paypal.setOptions({ lostShare: 0 });
    subject.clock.aheadMs += 31 * dayMs;
    const answer = await query(instruction);
    assert.deepEqual([answer.outcome, answer.code], ['paid', 'KEY_EXPIRED']);
    assert.equal(countBatches(instruction), 1);
  });
});

describe('after a restore to before a payment', () => {
  test('it is noticed, listed, and not paid again, however long ago it was', async () => {
    for (const days of [1, 40]) {
      const sinceMs = Date.now() + subject.clock.aheadMs - 1000;
      const instruction = newInstruction();
      await send(instruction);
      await subject.turn();
      subject.clock.aheadMs += days * dayMs;
      const { rail } = await subject.restore();
      if (days === 1) {
        assert.match((await rail.findUnknownPayments?.(context)) ?? '', /PayPal shows \d+ payouts/);
      }
      const recovered = await rail.recover?.(sinceMs, context);
      const found = recovered?.find(({ reference }) => reference === instruction.reference);
      assert.deepEqual(
        [found?.amountMinor, found?.currency, found?.outcome],
        [10_010n, 'USD', 'paid'],
      );
      const answer = await rail.send(instruction, context);
      assert.equal(answer.outcome, 'paid');
      assert.equal(countBatches(instruction), 1);
    }
  });

  test('nothing is unknown where every payment has or had a record', async () => {
    const { host, rail } = await subject.restore();
    subject.clock.aheadMs += 60 * dayMs;
    const instruction = newInstruction();
    await rail.send(instruction, context);
    await subject.turn(2);
    assert.equal(await rail.findUnknownPayments?.(context), undefined);
    await host.eraseRecipient(instruction.reference);
    assert.equal(await rail.findUnknownPayments?.(context), undefined);
  });
});

describe('the daily comparison with the report', () => {
  test('opens an exception for a payout without a record or with another amount', async () => {
    const { host, rail } = await subject.restore();
    // Behind the payments of the tests before.
    subject.clock.aheadMs += dayMs;
    await rail.work?.(context);
    const [known, changed, unknown] = [newInstruction(), newInstruction(), newInstruction()];
    for (const instruction of [known, changed]) await rail.send(instruction, context);
    await subject.rail.send(unknown, context);
    await subject.turn(3);
    const batch = [...subject.paypal.books.batches.values()].find(
      ({ senderBatchId }) => senderBatchId === changed.reference,
    );
    assert.ok(batch !== undefined);
    const items = batch.items.map((item) => ({ ...item, value: '100.11' }));
    subject.paypal.books.putBatch({ ...batch, items });
    subject.clock.aheadMs += 2 * dayMs;
    await rail.work?.(context);
    const found = host.problems.filter(({ id }) => id.startsWith('report:'));
    const details = found.map(({ detail }) => detail.replace(/^transaction \S+ of /, ''));
    assert.deepEqual(
      details.toSorted(),
      [`${changed.reference} has another amount`, `${unknown.reference} has no record`].toSorted(),
    );
    assert.deepEqual(
      found.map(({ currency }) => currency),
      ['USD', 'USD'],
    );
    subject.clock.aheadMs += 2 * dayMs;
    await rail.work?.(context);
    assert.equal(host.problems.filter(({ id }) => id.startsWith('report:')).length, found.length);
  });
});

describe('money that came back without an event', () => {
  type Restored = Awaited<ReturnType<PaypalTest['restore']>>;

  /** Paid, and reported, by a rail that has compared the report before. */
  async function openPaid() {
    const restored = await subject.restore();
    subject.clock.aheadMs += dayMs;
    await restored.rail.work?.(context);
    const instruction = newInstruction();
    await restored.rail.send(instruction, context);
    for (let turn = 0; turn < 3; turn += 1) {
      await subject.paypal.advance();
      subject.clock.aheadMs += 5 * 60_000;
      await restored.rail.work?.(context);
    }
    return { ...restored, instruction };
  }

  function reverse(reference: string, changes: object = {}): void {
    const { books } = subject.paypal;
    const batch = [...books.batches.values()].find(
      ({ senderBatchId }) => senderBatchId === reference,
    );
    assert.ok(batch !== undefined);
    const atMs = Date.now() + subject.clock.aheadMs;
    const items = batch.items.map((item) => {
      const reversed = { ...item, status: 'REVERSED', atMs } as const;
      return { ...reversed, ...changes };
    });
    books.putBatch({ ...batch, items });
  }

  async function work({ rail }: Restored, days: number): Promise<void> {
    subject.clock.aheadMs += days * dayMs;
    for (let pass = 0; pass < 2; pass += 1) await rail.work?.(context);
  }

  const outcomes = ({ host }: Restored, reference: string) =>
    host.observations
      .filter((one) => one.reference === reference)
      .map(({ outcome, reason }) => [outcome, reason]);
  const problems = ({ host }: Restored) =>
    host.problems.map(({ detail, currency, amountMinor }) => [
      detail.replace(/^transaction \S+ /, '').replaceAll(/[0-9A-Z]{13}$/g, '*'),
      currency,
      amountMinor,
    ]);

  test('is found in the report, with or without its reference', async () => {
    for (const hasBareReturns of [false, true]) {
      const paid = await openPaid();
      const { reference } = paid.instruction;
      // Longer than a window of the report, so that its payout is looked for in an earlier one.
      for (let step = 0; hasBareReturns && step < 2; step += 1) await work(paid, 20);
      subject.paypal.setOptions({ hasBareReturns });
      reverse(reference);
      await work(paid, 2);
      await work(paid, 2);
      subject.paypal.setOptions({ hasBareReturns: false });
      assert.deepEqual(outcomes(paid, reference), [
        ['paid', undefined],
        ['returned', 'recalled'],
      ]);
      assert.deepEqual(problems(paid), []);
    }
  });

  test('opens an exception where the batch still says paid, or its recipient was erased', async () => {
    const paid = await openPaid();
    const { reference } = paid.instruction;
    const fetchPaid: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      const text = (await response.text()).replaceAll('"REVERSED"', '"SUCCESS"');
      return new Response(text, { status: response.status });
    };
    const { paypal } = subject;
    const config = configSchema.parse(describeConfig(paypal, paypal.baseUrl));
    const rail = await railModule.create(config, { ...paid.host, fetch: fetchPaid });
    reverse(reference);
    await work({ ...paid, rail }, 2);
    assert.deepEqual(outcomes(paid, reference), [['paid', undefined]]);
    const about = `of ${reference}, money that came back,`;
    assert.deepEqual(problems(paid), [[`${about} is no return in its batch *`, 'USD', 10_010n]]);
    const erased = await openPaid();
    await erased.host.eraseRecipient(erased.instruction.reference);
    reverse(erased.instruction.reference);
    await work(erased, 2);
    assert.match(String(problems(erased).at(-1)?.[0]), /was paid to an erased recipient$/);
  });

  test('and that no batch or no payment tells of opens an exception', async () => {
    const paid = await openPaid();
    const { reference } = paid.instruction;
    reverse(reference, { value: '40.00' });
    await work(paid, 2);
    assert.deepEqual(outcomes(paid, reference), [['paid', undefined]]);
    assert.ok(
      problems(paid).some(([, currency, amount]) => currency === 'USD' && amount === 4000n),
    );
    const restored = await subject.restore();
    await restored.rail.work?.(context);
    const unknown = newInstruction();
    await subject.rail.send(unknown, context);
    await subject.turn(3);
    reverse(unknown.reference);
    await work(restored, 2);
    const found = problems(restored).filter(([detail]) => String(detail).includes('came back'));
    assert.deepEqual(found, [
      [`of ${unknown.reference}, money that came back, has no record`, 'USD', 10_010n],
    ]);
  });
});

describe('what PayPal does not show', () => {
  const missing = ({ host }: Pick<PaypalTest, 'host'>) =>
    host.problems.filter(({ kind }) => kind === 'report_missing').map(({ id }) => id.split(':')[0]);

  test('in its report yet is compared once it does', async () => {
    const restored = await subject.restore();
    await restored.rail.work?.(context);
    const unknown = newInstruction();
    await send(unknown);
    await subject.turn(3);
    subject.paypal.setOptions({ reportLagMs: 4 * dayMs });
    const found = () => restored.host.problems.filter(({ id }) => id.startsWith('report:'));
    for (let days = 0; days < 3; days += 1) {
      subject.clock.aheadMs += dayMs;
      await restored.rail.work?.(context);
    }
    assert.deepEqual(found(), []);
    subject.clock.aheadMs += 3 * dayMs;
    await restored.rail.work?.(context);
    subject.paypal.setOptions({ reportLagMs: 0 });
    assert.equal(found().length, 1);
    assert.match(found()[0]?.detail ?? '', /has no record$/);
  });

  test('for days opens an exception for the list of events and for the report', async () => {
    const restored = await subject.restore();
    await restored.rail.work?.(context);
    subject.paypal.setOptions({ faults: [{ on: 'other', kind: 'error_before' }] });
    const fail = async (days: number) => {
      subject.clock.aheadMs += days * dayMs;
      await restored.rail.work?.(context).catch(() => undefined);
    };
    await fail(2);
    assert.deepEqual(missing(restored), []);
    await fail(2);
    await fail(1);
    assert.deepEqual(missing(restored), ['unread-events', 'unread-report']);
    await fail(40);
    subject.paypal.setOptions({ faults: [] });
    subject.clock.aheadMs += 600_000;
    while ((await restored.rail.work?.(context)) !== undefined);
    assert.deepEqual(missing(restored), ['unread-events', 'unread-report', 'lost-events']);
  });
});

describe('the report of transactions', () => {
  test('is read in parts where it is too long', async () => {
    const { rail } = await subject.restore();
    const sinceMs = Date.now() + subject.clock.aheadMs - 1000;
    const instructions = Array.from({ length: 5 }, () => newInstruction());
    for (const instruction of instructions) {
      await send(instruction);
      subject.clock.aheadMs += 5 * dayMs;
    }
    await subject.turn();
    subject.paypal.setOptions({ reportMax: 2 });
    const recovered = await rail.recover?.(sinceMs, context);
    subject.paypal.setOptions({ reportMax: 10_000 });
    assert.deepEqual(
      recovered?.map(({ reference }) => reference).toSorted(),
      instructions.map(({ reference }) => reference).toSorted(),
    );
  });

  test('says so where it is too long for any part', async () => {
    const { rail } = await subject.restore();
    const sinceMs = Date.now() + subject.clock.aheadMs - 1000;
    for (let count = 0; count < 3; count += 1) await send(newInstruction());
    await subject.turn();
    subject.paypal.setOptions({ reportMax: 2 });
    await assert.rejects(async () => rail.recover?.(sinceMs, context), /too many transactions/);
    subject.paypal.setOptions({ reportMax: 10_000 });
  });

  test('also shows payouts that the account received, which are not ours', async () => {
    const { rail } = await subject.restore();
    const sinceMs = Date.now() + subject.clock.aheadMs + 1000;
    subject.clock.aheadMs += 60 * dayMs;
    const { reference } = newInstruction();
    subject.paypal.setOptions({ receivedItem: reference });
    const found = [
      await rail.findUnknownPayments?.(context),
      await rail.recover?.(sinceMs, context),
    ];
    subject.paypal.setOptions({ receivedItem: '' });
    assert.deepEqual(found, [undefined, []]);
  });
});

describe('the account', () => {
  test('shows what is left of each balance', async () => {
    const funds = (await subject.rail.readFunds?.(context)) ?? [];
    const usd = funds.find(({ currency }) => currency === 'USD');
    assert.match(usd?.amount ?? '', /^99\d{4}(\.\d+)?$/);
    assert.ok((usd?.asOfMs ?? 0) > 0);
  });

  test('blames neither credentials nor permissions while PayPal is busy or down', async () => {
    const { paypal } = subject;
    try {
      paypal.setOptions({ faults: [{ on: 'token', kind: 'busy' }] });
      const busy = await (await subject.again({})).check?.(context);
      assert.match(busy?.[0] ?? '', /issues no access token now/);
      paypal.setOptions({ faults: [{ on: 'other', kind: 'maintenance', count: 1 }] });
      const down = await subject.rail.check?.(context);
      assert.deepEqual(down, ['the webhook cannot be read: PayPal answered 503']);
      paypal.setOptions({ faults: [{ on: 'other', kind: 'maintenance' }] });
      await assert.rejects(
        subject.rail.readFunds?.(context) ?? Promise.resolve(),
        /balances cannot be read: PayPal answered 503/,
      );
    } finally {
      paypal.setOptions({ faults: [] });
    }
  });

  test('has no faults, or says which', async () => {
    assert.deepEqual(await subject.rail.check?.(context), []);
    const wrong = await subject.again({ webhookId: 'ANOTHER' });
    const faults = await wrong.check?.(context);
    assert.deepEqual(faults, ['webhookId must be the id of a webhook of the app']);
    const stranger = await subject.again({ clientSecret: 'x'.repeat(20) });
    const refused = await stranger.check?.(context);
    assert.deepEqual(refused, ['PayPal refuses clientId and clientSecret']);
    const nowhere = await subject.again({ baseUrl: 'http://127.0.0.1:1' });
    const unreachable = await nowhere.check?.(context);
    assert.match(unreachable?.[0] ?? '', /issues no access token now/);
  });
});
