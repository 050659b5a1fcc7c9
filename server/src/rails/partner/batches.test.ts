import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, test } from 'node:test';
import type { Fault } from '../../../testing/counterparties/partner/simulator-options.ts';
import {
  context,
  newInstruction,
  newKeys,
  openPartner,
  openPartnerRail,
  type PartnerRail,
  type PartnerRailOptions,
  waitUntil,
} from '../../../testing/setups/partner.ts';
import type { Instruction, RailAnswer } from '../contract/contract.ts';
import { findPaymentRecord } from './records.ts';

/** Several orders in one request, against the simulator at the signed level. */

const keys = newKeys();
let partner: Awaited<ReturnType<typeof openPartner>>;
let subject: PartnerRail;
const requests: string[] = [];
/** The clock of both sides. */
let aheadMs = 0;
const realNowMs = (): number => Date.now() + aheadMs;
const passExpiry = (): void => {
  aheadMs += 660_000;
};

before(async () => {
  partner = await openPartner(
    { settleMs: 86_400_000, capabilities: ['batches'], batchOrdersMax: 50 },
    keys,
  );
  Object.assign(partner.state, { nowMs: realNowMs });
  subject = await open({});
});
after(async () => {
  await subject.close();
  await partner.close();
});
afterEach(() => {
  requests.length = 0;
  partner.state.options = {
    ...partner.state.options,
    faults: [],
    batchBusyPattern: '',
    batchOrdersMax: 50,
    defects: [],
    rejectPattern: '',
  };
});

async function open(
  batches: NonNullable<PartnerRailOptions['config']>['batches'],
): Promise<PartnerRail> {
  return await openPartnerRail({
    keys,
    url: `http://127.0.0.1:${partner.port}`,
    realNowMs,
    config: { capabilities: ['batches'], batches },
    fetch: async (input, init) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      requests.push(`${init?.method ?? 'GET'} ${pathname.split('/')[1]}`);
      return await fetch(input, init);
    },
  });
}

const createSeveral = (count: number): Instruction[] =>
  Array.from({ length: count }, () => newInstruction());

function sendAll(
  instructions: readonly Instruction[],
  rail: PartnerRail = subject,
): Promise<RailAnswer[]> {
  return Promise.all(instructions.map((one) => rail.rail.send(one, context)));
}

const listOutcomes = (answers: readonly RailAnswer[]): string[] =>
  answers.map(({ outcome }) => outcome);

const breakBatch = (kind: Fault['kind'], on: Fault['on'] = 'batch'): void => {
  const fault = { on, kind, share: 1, count: 1, pattern: '', delayMs: 1000 } as const;
  partner.state.options.faults = [fault];
};

const countOrders = ({ reference }: Instruction): number =>
  partner.state.orderCounts.get(reference) ?? 0;

test('orders that are due at once leave in one request, each with its own payment', async () => {
  const instructions = createSeveral(20);
  const answers = await sendAll(instructions);
  assert.deepEqual(new Set(listOutcomes(answers)), new Set(['accepted']));
  assert.deepEqual(requests, ['PUT batches']);
  const numbers = new Set(answers.map((one) => one.providerReference));
  assert.equal(numbers.size, 20);
  for (const one of instructions) assert.equal(countOrders(one), 1);
});

test('an order by itself leaves at once, without a batch', async () => {
  assert.deepEqual(listOutcomes(await sendAll(createSeveral(1))), ['accepted']);
  assert.deepEqual(requests, ['PUT payments']);
});

test('no batch is larger than the limits, and none waits for another', async () => {
  const small = await open({ ordersMax: 8, requestsMax: 3 });
  try {
    const answers = await sendAll(createSeveral(20), small);
    assert.deepEqual(new Set(listOutcomes(answers)), new Set(['accepted']));
    assert.deepEqual(requests, ['PUT batches', 'PUT batches', 'PUT batches']);
  } finally {
    await small.close();
  }
});

test('orders that come while every request is taken leave together when one is free', async () => {
  const narrow = await open({ requestsMax: 1 });
  try {
    const fault = { on: 'put', kind: 'delay', share: 1, count: 1, pattern: '' } as const;
    partner.state.options.faults = [{ ...fault, delayMs: 300 }];
    const first = sendAll(createSeveral(1), narrow);
    await waitUntil(() => requests.length === 1, 'the first order leaves');
    const second = sendAll(createSeveral(3), narrow);
    const third = sendAll(createSeveral(2), narrow);
    assert.equal(listOutcomes(await first).length, 1);
    assert.deepEqual(new Set(listOutcomes([...(await second), ...(await third)])).size, 1);
    assert.deepEqual(requests, ['PUT payments', 'PUT batches']);
  } finally {
    await narrow.close();
  }
});

test('the bytes of a batch are limited as well', async () => {
  const small = await open({ bytesMax: 10_000 });
  try {
    const city = 'x'.repeat(900);
    const instructions = createSeveral(20).map((one) => ({
      ...one,
      beneficiary: { ...one.beneficiary, city },
    }));
    await sendAll(instructions, small);
    assert.equal(requests.length >= 3 && requests.length <= 4, true, String(requests.length));
  } finally {
    await small.close();
  }
});

test('a batch is accepted in part: each order has its own outcome', async () => {
  const [rejected, busy, conflicting, ...others] = createSeveral(6);
  assert.ok(rejected !== undefined && busy !== undefined && conflicting !== undefined);
  const refused = { ...rejected, payerKey: 'refused' };
  // Another order has the reference already.
  const before = await openPartnerRail({ keys, url: `http://127.0.0.1:${partner.port}` });
  await before.rail.send({ ...conflicting, amountMinor: 5n }, context);
  await before.close();
  partner.state.options.rejectPattern = '^refused$';
  partner.state.options.batchBusyPattern = busy.reference;
  const answers = await sendAll([refused, busy, conflicting, ...others]);
  assert.deepEqual(listOutcomes(answers), [
    'rejected',
    'retry',
    'unknown',
    'accepted',
    'accepted',
    'accepted',
  ]);
  partner.state.options.batchBusyPattern = '';
  assert.deepEqual(listOutcomes(await sendAll([busy])), ['accepted']);
});

const lostAnswers = ['error_after', 'reset_after', 'cut', 'garbage', 'unsigned'] as const;

for (const kind of lostAnswers) {
  test(`a batch whose answer is spoilt by ${kind} is resolved by one query, and pays once`, async () => {
    const instructions = createSeveral(10);
    breakBatch(kind);
    assert.deepEqual(new Set(listOutcomes(await sendAll(instructions))), new Set(['unknown']));
    requests.length = 0;
    const asked = await Promise.all(instructions.map((one) => subject.rail.query(one, context)));
    assert.deepEqual(new Set(listOutcomes(asked)), new Set(['accepted']));
    assert.deepEqual(requests, ['GET batches']);
    for (const one of instructions) assert.equal(countOrders(one), 1);
  });
}

test('a batch that never arrived is sent again after its expiry, each order by itself', async () => {
  const instructions = createSeveral(3);
  breakBatch('reset_before');
  assert.deepEqual(new Set(listOutcomes(await sendAll(instructions))), new Set(['unknown']));
  const ask = () => Promise.all(instructions.map((one) => subject.rail.query(one, context)));
  assert.deepEqual(new Set(listOutcomes(await ask())), new Set(['unknown']));
  passExpiry();
  assert.deepEqual(new Set(listOutcomes(await ask())), new Set(['retry']));
  requests.length = 0;
  assert.deepEqual(new Set(listOutcomes(await sendAll(instructions))), new Set(['accepted']));
  assert.deepEqual(requests, ['PUT payments', 'PUT payments', 'PUT payments']);
});

test('a partner without a list of the batch is asked for each payment after the expiry', async () => {
  const instructions = createSeveral(2);
  breakBatch('reset_after');
  await sendAll(instructions);
  partner.state.options.defects = ['forgets_batches'];
  const ask = () => Promise.all(instructions.map((one) => subject.rail.query(one, context)));
  assert.deepEqual(new Set(listOutcomes(await ask())), new Set(['unknown']));
  passExpiry();
  assert.deepEqual(new Set(listOutcomes(await ask())), new Set(['accepted']));
});

test('a busy partner has booked nothing of the batch, which leaves together again', async () => {
  const instructions = createSeveral(4);
  breakBatch('busy');
  const answers = await sendAll(instructions);
  assert.deepEqual(answers[0], { outcome: 'retry', reason: 'busy' });
  assert.deepEqual(new Set(listOutcomes(answers)), new Set(['retry']));
  requests.length = 0;
  assert.deepEqual(new Set(listOutcomes(await sendAll(instructions))), new Set(['accepted']));
  assert.deepEqual(requests, ['PUT batches']);
});

test('after a batch that was too large orders leave by themselves', async () => {
  const fresh = await open({});
  try {
    partner.state.options.batchOrdersMax = 2;
    const instructions = createSeveral(3);
    const answers = await sendAll(instructions, fresh);
    assert.deepEqual(new Set(listOutcomes(answers)), new Set(['retry']));
    requests.length = 0;
    const again = await sendAll(instructions, fresh);
    assert.deepEqual(new Set(listOutcomes(again)), new Set(['accepted']));
    assert.deepEqual(requests, ['PUT payments', 'PUT payments', 'PUT payments']);
  } finally {
    await fresh.close();
  }
});

test('a second process that sends the same orders pays nothing again', {
  timeout: 60_000,
}, async () => {
  const patient = await openPartnerRail({
    keys,
    url: `http://127.0.0.1:${partner.port}`,
    realNowMs,
    config: { capabilities: ['batches'], timeoutSeconds: 120 },
  });
  const instructions = createSeveral(5);
  breakBatch('silent_after');
  const aborted = new AbortController();
  const lost = Promise.all(
    instructions.map((one) => patient.rail.send(one, { signal: aborted.signal })),
  );
  await waitUntil(() => instructions.every((one) => countOrders(one) === 1), 'the batch arrives');
  aborted.abort();
  assert.deepEqual(new Set(listOutcomes(await lost)), new Set(['unknown']));
  await patient.close();
  const second = await sendAll(instructions);
  assert.deepEqual(new Set(listOutcomes(second)), new Set(['accepted']));
  const { payments } = await partner.readRecords();
  assert.equal(
    instructions.every(({ reference }) => payments[reference] !== undefined),
    true,
  );
});

test('an order whose answer is no longer awaited does not leave the queue', async () => {
  const narrow = await open({ requestsMax: 1 });
  try {
    const fault = { on: 'put', kind: 'delay', share: 1, count: 1, pattern: '' } as const;
    partner.state.options.faults = [{ ...fault, delayMs: 300 }];
    const first = sendAll(createSeveral(1), narrow);
    await waitUntil(() => requests.length === 1, 'the first order leaves');
    const late = newInstruction();
    const aborted = new AbortController();
    const answer = narrow.rail.send(late, { signal: aborted.signal });
    aborted.abort();
    assert.deepEqual(await answer, { outcome: 'unknown', reason: 'no_answer' });
    await first;
    assert.equal(countOrders(late), 0);
    assert.equal(await findPaymentRecord(narrow.host.store, late.reference), undefined);
    assert.equal((await narrow.rail.query(late, context)).outcome, 'retry');
  } finally {
    await narrow.close();
  }
});

test('a request for which a client waits is not behind those of payments', async () => {
  const narrow = await open({ requestsMax: 1 });
  try {
    const fault = { on: 'put', kind: 'silent_after', share: 1, count: 1, pattern: '' } as const;
    partner.state.options.faults = [{ ...fault, delayMs: 0 }];
    const aborted = new AbortController();
    const sent = narrow.rail.send(newInstruction(), { signal: aborted.signal });
    await waitUntil(() => requests.length === 1, 'the order leaves');
    assert.deepEqual(await narrow.rail.check?.(context), [
      'the partner takes 50 orders in a batch: lower batches.ordersMax',
    ]);
    aborted.abort();
    assert.equal((await sent).outcome, 'unknown');
  } finally {
    await narrow.close();
  }
});

test('an order of a batch is canceled by itself', async () => {
  const instructions = createSeveral(3);
  await sendAll(instructions);
  const [first, ...others] = instructions;
  assert.ok(first !== undefined);
  assert.equal((await subject.rail.cancel?.(first, context))?.outcome, 'rejected');
  for (const one of others) {
    assert.equal((await subject.rail.query(one, context)).outcome, 'accepted');
  }
});

test('the doctor compares the limits of the configuration with those of the partner', async () => {
  const large = await open({ ordersMax: 51, bytesMax: 1_000_001 });
  try {
    assert.deepEqual(await large.rail.check?.(context), [
      'the partner takes 50 orders in a batch: lower batches.ordersMax',
      'the partner takes batches of 1000000 bytes: lower batches.bytesMax',
    ]);
    const smaller = await open({ ordersMax: 50 });
    assert.deepEqual(await smaller.rail.check?.(context), []);
    await smaller.close();
  } finally {
    await large.close();
  }
});

test('references of one batch are sent in the form that the partner reads', async () => {
  const reference = `batch-${randomUUID()}`;
  const answers = await sendAll([newInstruction({ reference }), newInstruction()]);
  assert.deepEqual(listOutcomes(answers), ['accepted', 'accepted']);
});
