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

const dayMs = 86_400_000;

let subject: PaypalTest;

before(async () => {
  subject = await openPaypalTest({
    options: {
      failPattern: '^fail',
      unclaimedPattern: '^unclaimed',
      holdPattern: '^hold',
      blockPattern: '^block',
      denyPattern: '^deny',
      refundPattern: '^refund',
    },
  });
});
after(() => subject.close());

let people = 0;

/** A payment whose recipient decides what the simulated PayPal does with it. */
function instruct(plannedOutcome: string, changes: Partial<Instruction> = {}): Instruction {
  people += 1;
  const instruction = newInstruction(changes);
  const email = `${plannedOutcome}.${people}@example.com`;
  return { ...instruction, beneficiary: { ...instruction.beneficiary, email } };
}

const send = (instruction: Instruction) => subject.rail.send(instruction, context);
const query = (instruction: Instruction) => subject.rail.query(instruction, context);
const observed = ({ reference }: Instruction) =>
  subject.host.observations.filter((one) => one.reference === reference);
const countBatches = ({ reference }: Instruction): number =>
  [...subject.paypal.books.batches.values()].filter(
    ({ senderBatchId }) => senderBatchId === reference,
  ).length;

describe('an order', () => {
  test('is paid once, with its fee, and reported by a webhook', async () => {
    const instruction = instruct('paid');
    assert.equal((await send(instruction)).outcome, 'accepted');
    await subject.turn();
    const [observation] = observed(instruction);
    const charges = [{ id: 'fee', kind: 'partner', currency: 'USD', amountMinor: 100n }];
    assert.equal(observation?.outcome, 'paid');
    assert.equal(observation.amountMinor, 10_010n);
    assert.deepEqual(observation.charges, charges);
    const answer = await query(instruction);
    assert.equal(answer.outcome, 'paid');
    assert.deepEqual(answer.charges, charges);
    assert.equal((await send(instruction)).outcome, 'paid');
    assert.equal(countBatches(instruction), 1);
  });

  test('whose answer is lost is found again by its sender_batch_id', async () => {
    for (const kind of ['reset_after', 'error_after', 'garbage'] as const) {
      const instruction = instruct('paid');
      subject.paypal.setOptions({ faults: [{ kind, count: 1 }] });
      assert.equal((await send(instruction)).outcome, 'unknown', kind);
      assert.equal((await query(instruction)).outcome, 'accepted', kind);
      await subject.turn();
      assert.equal((await query(instruction)).outcome, 'paid', kind);
      assert.equal(countBatches(instruction), 1, kind);
    }
  });

  test('that PayPal was too busy for is to be sent again', async () => {
    const instruction = instruct('paid');
    subject.paypal.setOptions({ faults: [{ kind: 'busy', count: 1 }] });
    const answer = await send(instruction);
    assert.deepEqual(
      [answer.outcome, 'reason' in answer ? answer.reason : '', answer.retryAfterMs],
      ['retry', 'busy', 2000],
    );
    assert.equal((await query(instruction)).outcome, 'retry');
    assert.equal((await send(instruction)).outcome, 'accepted');
  });

  test('during maintenance is unknown, and never refused', async () => {
    const instruction = instruct('paid');
    subject.paypal.setOptions({ faults: [{ kind: 'maintenance', count: 1 }] });
    assert.equal((await send(instruction)).outcome, 'unknown');
    subject.paypal.setOptions({ isInMaintenance: true });
    assert.equal((await query(instruction)).outcome, 'unknown');
    subject.paypal.setOptions({ isInMaintenance: false });
    assert.equal((await query(instruction)).outcome, 'accepted');
    assert.equal(countBatches(instruction), 1);
  });

  test('that PayPal refuses for its content is rejected permanently', async () => {
    const instruction = instruct('paid', { amountMinor: 2_000_001n });
    const answer = await send(instruction);
    const expected = { outcome: 'rejected', reason: 'amount_refused', code: 'VALIDATION_ERROR' };
    assert.deepEqual(answer, expected);
    const before = subject.paypal.orders.count;
    assert.deepEqual(await send(instruction), expected);
    assert.deepEqual(await query(instruction), expected);
    assert.equal(subject.paypal.orders.count, before);
  });

  test('that is refused with a code that is not known stays unknown', async () => {
    const { host, paypal } = subject;
    const stub: typeof fetch = async (input, init) => {
      const isOrder = init?.method === 'POST' && new Request(input).url.endsWith('/payouts');
      const json = { name: 'SOMETHING_NEW', message: 'What is this?', debug_id: '1' };
      return isOrder ? Response.json(json, { status: 400 }) : fetch(input, init);
    };
    const config = configSchema.parse(describeConfig(paypal, paypal.baseUrl));
    const rail = await railModule.create(config, { ...host, fetch: stub });
    const answer = await rail.send(instruct('paid'), context);
    assert.deepEqual([answer.outcome, answer.code], ['unknown', 'SOMETHING_NEW']);
  });

  test('under the reference of another payment is not sent', async () => {
    const instruction = instruct('paid');
    await send(instruction);
    const other = await send({ ...instruction, amountMinor: 10_011n });
    assert.deepEqual(other, { outcome: 'unknown', reason: 'duplicate' });
    assert.equal(countBatches(instruction), 1);
    const byPhone = instruct('paid', { payerKey: 'phone' });
    await send(byPhone);
    const attributes = { PhoneNumber: '+14085559876' };
    const stranger = await send({ ...byPhone, attributes });
    assert.deepEqual(stranger, { outcome: 'unknown', reason: 'duplicate' });
    assert.equal(countBatches(byPhone), 1);
  });

  test('to a telephone number has its country code', async () => {
    const instruction = instruct('paid', { payerKey: 'phone' });
    await send(instruction);
    const [batch] = [...subject.paypal.books.batches.values()].filter(
      ({ senderBatchId }) => senderBatchId === instruction.reference,
    );
    const [item] = batch?.items ?? [];
    assert.deepEqual([item?.recipientType, item?.receiver], ['PHONE', '1-4085551234']);
  });

  test('needs a token: without one nothing leaves, and a revoked one is renewed', async () => {
    const instruction = instruct('paid');
    const stranger = await subject.again({
      clientSecret: 'not the secret'.replaceAll(' ', '-') + '-x',
    });
    const answer = await stranger.send(instruction, context);
    assert.deepEqual(answer, { outcome: 'retry', reason: 'not_configured' });
    subject.paypal.revokeTokens();
    assert.equal((await send(instruction)).outcome, 'accepted');
  });
});

describe('a batch', () => {
  test('that is denied was not paid', async () => {
    const instruction = instruct('deny');
    await send(instruction);
    await subject.turn();
    const answer = await query(instruction);
    assert.deepEqual(
      [answer.outcome, 'reason' in answer ? answer.reason : '', answer.code],
      ['rejected', 'payer_refused', 'ACCOUNT_RESTRICTED'],
    );
    assert.equal(observed(instruction)[0]?.outcome, 'rejected');
  });

  test('without funds is refused for its funds', async () => {
    const instruction = instruct('paid', { currency: 'GBP' });
    await send(instruction);
    await subject.turn();
    const answer = await query(instruction);
    assert.deepEqual(
      [answer.outcome, 'reason' in answer ? answer.reason : ''],
      ['rejected', 'no_funds'],
    );
  });

  test('fails, is held or is blocked as PayPal says', async () => {
    const outcomes = [
      ['fail', 'rejected', 'account_blocked'],
      ['block', 'unknown', 'review'],
    ] as const;
    for (const [plannedOutcome, outcome, reason] of outcomes) {
      const instruction = instruct(plannedOutcome);
      await send(instruction);
      await subject.turn();
      const answer = await query(instruction);
      assert.deepEqual(
        [answer.outcome, 'reason' in answer ? answer.reason : ''],
        [outcome, reason],
      );
    }
    const held = instruct('hold');
    await send(held);
    await subject.turn(2);
    assert.equal((await query(held)).outcome, 'accepted');
    await subject.turn();
    assert.equal((await query(held)).outcome, 'paid');
  });

  test('that its recipient returns is returned', async () => {
    const instruction = instruct('refund');
    await send(instruction);
    await subject.turn(6);
    const outcomes = observed(instruction).map(({ outcome }) => outcome);
    assert.deepEqual(outcomes.slice(-1), ['returned']);
    const answer = await query(instruction);
    assert.equal(answer.outcome, 'returned');
    assert.equal('reason' in answer && answer.reason, 'sent_back');
  });
});

test('a return counts once, whatever else of its batch changes', async () => {
  const instruction = instruct('refund');
  await send(instruction);
  await subject.turn(6);
  const { host, paypal } = subject;
  const returns = () => observed(instruction).filter(({ outcome }) => outcome === 'returned');
  assert.equal(returns().length, 1);
  const event = paypal.books.events.findLast(({ type }) => type.endsWith('REFUNDED'));
  assert.ok(event !== undefined);
  paypal.books.addEvent({ ...event, id: 'WH-again', body: { ...event.body, id: 'WH-again' } });
  await paypal.advance();
  const fetchOtherStatus: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const text = (await response.text()).replace(
      '"batch_status":"SUCCESS"',
      '"batch_status":"PROCESSING"',
    );
    return new Response(text, { status: response.status });
  };
  const config = configSchema.parse(describeConfig(paypal, paypal.baseUrl));
  const rail = await railModule.create(config, { ...host, fetch: fetchOtherStatus });
  await rail.work?.(context);
  assert.equal((await host.store.list('unread', { count: 10 })).length, 0);
  assert.equal(returns().length, 1);
});

describe('money that is not claimed', () => {
  test('waits for its recipient, and comes back after 30 days', async () => {
    const instruction = instruct('unclaimed');
    await send(instruction);
    await subject.turn();
    const waiting = await query(instruction);
    assert.deepEqual(
      [waiting.outcome, waiting.code],
      ['ready_for_pickup', 'RECEIVER_UNREGISTERED'],
    );
    subject.clock.aheadMs += 29 * dayMs;
    await subject.turn();
    assert.equal((await query(instruction)).outcome, 'ready_for_pickup');
    subject.clock.aheadMs += dayMs;
    await subject.turn();
    const outcomes = observed(instruction).map(({ outcome, reason }) => [outcome, reason]);
    assert.deepEqual(outcomes, [
      ['ready_for_pickup', undefined],
      ['returned', 'not_collected'],
    ]);
    const answer = await query(instruction);
    assert.deepEqual(
      [answer.outcome, 'amountMinor' in answer && answer.amountMinor],
      ['returned', 10_010n],
    );
  });

  test('is paid when it is claimed', async () => {
    const instruction = instruct('unclaimed');
    await send(instruction);
    await subject.turn();
    subject.paypal.setOptions({ claimMs: 0 });
    await subject.turn();
    subject.paypal.setOptions({ claimMs: null });
    assert.equal((await query(instruction)).outcome, 'paid');
  });

  test('can be taken back; what was claimed can not', async () => {
    const instruction = instruct('unclaimed');
    await send(instruction);
    await subject.turn();
    const answer = await subject.rail.cancel?.(instruction, context);
    assert.equal(answer?.outcome, 'returned');
    assert.equal('reason' in answer && answer.reason, 'recalled');
    const paid = instruct('paid');
    await send(paid);
    await subject.turn();
    assert.equal((await subject.rail.cancel?.(paid, context))?.outcome, 'paid');
  });
});

describe('a webhook', () => {
  test('that is lost is made up for by the list of events', async () => {
    const instruction = instruct('paid');
    subject.paypal.setOptions({ lostShare: 1 });
    await send(instruction);
    await subject.turn();
    assert.deepEqual(observed(instruction), []);
    subject.paypal.setOptions({ lostShare: 0 });
    subject.clock.aheadMs += 5 * 60_000;
    // The rail has a month to read that the tests before have jumped over.
    while ((await subject.rail.work?.(context)) !== undefined);
    assert.equal(observed(instruction)[0]?.outcome, 'paid');
  });

  test('with a wrong signature is refused', async () => {
    const from = subject.readings.length;
    const instruction = instruct('paid');
    subject.paypal.setOptions({ forgedShare: 1 });
    await send(instruction);
    await subject.turn();
    subject.paypal.setOptions({ forgedShare: 0 });
    const readings = subject.readings.slice(from);
    const refused = readings.filter((one) => one === 'refused');
    assert.equal(refused.length, readings.length / 2);
    assert.equal(observed(instruction).length, 1);
  });

  test('is not believed: what happened is read from the API', async () => {
    const instruction = instruct('paid');
    await send(instruction);
    await subject.turn();
    const { paypal } = subject;
    const event = paypal.books.events.findLast(
      ({ type }) => type === 'PAYMENT.PAYOUTS-ITEM.SUCCEEDED',
    );
    assert.ok(event !== undefined);
    const type = 'PAYMENT.PAYOUTS-ITEM.RETURNED';
    const text = JSON.stringify(event.body).replaceAll('"SUCCESS"', '"RETURNED"');
    const body = { ...(JSON.parse(text) as object), id: 'WH-wrong', event_type: type };
    paypal.books.addEvent({ id: 'WH-wrong', atMs: event.atMs, type, body });
    await subject.turn();
    assert.deepEqual(
      observed(instruction).map(({ outcome }) => outcome),
      ['paid'],
    );
  });
});
