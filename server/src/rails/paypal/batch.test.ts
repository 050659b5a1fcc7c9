import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import {
  context,
  describeConfig,
  newInstruction,
  openPaypalTest,
  type PaypalTest,
} from '../../../testing/setups/paypal.ts';
import type { Instruction, RailHost } from '../contract/contract.ts';
import { configSchema } from './config.ts';
import { railModule } from './rail.ts';

/** Batches of several items. */

let subject: PaypalTest;
/** What leaves for PayPal in place of `fetch`, for the time of a test. */
let intercept: typeof fetch | undefined;

const readBody = (init?: RequestInit): string => (typeof init?.body === 'string' ? init.body : '');

const isOrder = (input: unknown, init?: RequestInit): boolean =>
  init?.method === 'POST' && JSON.stringify(input).endsWith('/payouts"');

const batchViewSchema = z.looseObject({
  batch_header: z.looseObject({}),
  items: z.array(z.looseObject({ payout_item: z.looseObject({ sender_item_id: z.string() }) })),
});

const batching = { batchItemsMax: 3, batchWaitSeconds: 0 };

before(async () => {
  subject = await openPaypalTest({
    config: batching,
    options: { failPattern: '^fail', denyPattern: '^deny' },
    fetch: (input, init) => (intercept ?? fetch)(input, init),
  });
});
after(() => subject.close());

const send = (instruction: Instruction) => subject.rail.send(instruction, context);
const query = (instruction: Instruction) => subject.rail.query(instruction, context);
const findBatches = ({ reference }: Instruction) =>
  [...subject.paypal.books.batches.values()].filter(({ items }) =>
    items.some(({ senderItemId }) => senderItemId === reference),
  );

test('payments that are due at once share a batch, each with its outcome and fee', async () => {
  const failing = newInstruction();
  const beneficiary = { ...failing.beneficiary, email: 'fail@example.com' };
  const all = [newInstruction(), newInstruction(), { ...failing, beneficiary }];
  for (const instruction of all) assert.equal((await send(instruction)).outcome, 'accepted');
  await subject.rail.work?.(context);
  await subject.turn(4);
  const batches = new Set(all.flatMap(findBatches));
  assert.equal(batches.size, 1);
  const answers = await Promise.all(all.map(query));
  assert.deepEqual(
    answers.map(({ outcome }) => outcome),
    ['paid', 'paid', 'rejected'],
  );
  assert.equal(answers[0]?.charges?.[0]?.amountMinor, 100n);
});

test('a batch is booked once, whatever breaks before and after its order', async () => {
  for (const kind of ['reset_before', 'error_before', 'reset_after', 'error_after'] as const) {
    const all = [newInstruction(), newInstruction()];
    for (const instruction of all) await send(instruction);
    subject.paypal.setOptions({ faults: [{ kind, count: 1 }] });
    await subject.rail.work?.(context);
    // Another process continues.
    subject.clock.aheadMs += 60_000;
    await (await subject.again()).work?.(context);
    await subject.turn(4);
    for (const instruction of all) {
      assert.equal((await query(instruction)).outcome, 'paid', kind);
      assert.equal(findBatches(instruction).length, 1, kind);
    }
  }
});

/** A process that is killed after `steps` writes and calls, before or after the last one took effect. */
function createDyingHost(
  host: RailHost,
  { steps, isAfter }: { readonly steps: number; readonly isAfter: boolean },
): { readonly host: RailHost; isDead(): boolean } {
  let left = steps;
  const step = async <T>(effect: () => Promise<T>): Promise<T> => {
    left -= 1;
    if (left < 0 || (left === 0 && !isAfter)) throw new Error('killed');
    const result = await effect();
    if (left === 0) throw new Error('killed');
    return result;
  };
  const dying: RailHost = {
    ...host,
    store: { ...host.store, write: (changes) => step(() => host.store.write(changes)) },
    fetch: (input, init) => step(() => host.fetch(input, init)),
  };
  return { host: dying, isDead: () => left <= 0 };
}

async function sendPair(): Promise<readonly [Instruction, Instruction]> {
  const pair = [newInstruction(), newInstruction()] as const;
  for (const instruction of pair) await send(instruction);
  return pair;
}

test('a process that is killed at any step leaves one batch, which the next one continues with', async () => {
  const { paypal, host } = subject;
  const config = configSchema.parse({ ...describeConfig(paypal, paypal.baseUrl), ...batching });
  let isComplete = false;
  let kills = 0;
  for (let steps = 1; !isComplete; steps += 1) {
    for (const isAfter of [false, true]) {
      const pair = await sendPair();
      const dying = createDyingHost(host, { steps, isAfter });
      const killed = await railModule.create(config, dying.host);
      await killed.work?.(context).catch(() => undefined);
      isComplete = !dying.isDead();
      kills += isComplete ? 0 : 1;
      const where = `${steps} steps, ${isAfter ? 'after' : 'before'} the effect`;
      // A payment that comes later must not change what the batch has.
      const late = newInstruction();
      await send(late);
      subject.clock.aheadMs += 60_000;
      await (await subject.again()).work?.(context);
      await subject.turn(4);
      const batches = new Set(pair.flatMap(findBatches));
      assert.equal(batches.size, 1, where);
      for (const instruction of [...pair, late]) {
        assert.equal((await query(instruction)).outcome, 'paid', where);
        assert.equal(findBatches(instruction).length, 1, where);
      }
    }
  }
  // The batch, the attempt, the token, the order and its name.
  assert.ok(kills >= 10, `only ${kills} kills`);
});

test('every order of a batch has the same bytes, even if the configuration changes', async () => {
  const pair = await sendPair();
  const bodies: string[] = [];
  intercept = async (input, init) => {
    const response = await fetch(input, init);
    if (!isOrder(input, init)) return response;
    bodies.push(readBody(init));
    if (bodies.length < 3) throw new TypeError('the answer is lost');
    return response;
  };
  try {
    await subject.rail.work?.(context);
    for (const emailSubject of ['Another subject', 'A third one']) {
      subject.clock.aheadMs += 3_600_000;
      await (await subject.again({ emailSubject, batchItemsMax: 1 })).work?.(context);
    }
  } finally {
    intercept = undefined;
  }
  assert.equal(bodies.length, 3);
  assert.equal(new Set(bodies).size, 1);
  await subject.turn(4);
  for (const instruction of pair) assert.equal((await query(instruction)).outcome, 'paid');
});

test('each item reports its outcome and its fee once', async () => {
  const failing = newInstruction();
  const beneficiary = { ...failing.beneficiary, email: 'fail@example.com' };
  const all = [newInstruction(), newInstruction(), { ...failing, beneficiary }];
  for (const instruction of all) await send(instruction);
  await subject.turn(6);
  const observed = all.map(({ reference }) =>
    subject.host.observations
      .filter((one) => one.reference === reference)
      .map(({ outcome, charges }) => [outcome, charges?.[0]?.amountMinor]),
  );
  assert.deepEqual(new Set(observed[0]?.map(String)), new Set(['paid,100']));
  assert.deepEqual(new Set(observed[1]?.map(String)), new Set(['paid,100']));
  assert.deepEqual(new Set(observed[2]?.map(String)), new Set(['rejected,']));
});

test('a currency without funds does not keep the batches of others', async () => {
  const unfunded = [
    newInstruction({ currency: 'GBP' }),
    newInstruction({ currency: 'EUR' }),
  ] as const;
  const rich = newInstruction();
  for (const instruction of [...unfunded, rich]) await send(instruction);
  intercept = async (input, init) => {
    if (!/"currency":"(?:GBP|EUR)"/.test(readBody(init))) return fetch(input, init);
    const error = { name: 'INSUFFICIENT_FUNDS', message: 'Insufficient funds.', details: [] };
    return Response.json(error, { status: 422 });
  };
  try {
    await subject.turn(5);
    assert.equal((await query(rich)).outcome, 'paid');
  } finally {
    intercept = undefined;
  }
  for (const instruction of unfunded) {
    assert.equal((await query(instruction)).outcome, 'accepted');
    assert.equal((await subject.rail.cancel?.(instruction, context))?.outcome, 'rejected');
  }
});

test('an item that PayPal refuses does not keep the others', async () => {
  const all = [newInstruction(), newInstruction({ amountMinor: 2_000_001n })] as const;
  for (const instruction of all) await send(instruction);
  await subject.rail.work?.(context);
  await subject.turn(5);
  assert.equal((await query(all[0])).outcome, 'paid');
  assert.equal((await query(all[1])).outcome, 'rejected');
});

test('an item is canceled before its batch leaves', async () => {
  const all = [newInstruction(), newInstruction()] as const;
  for (const instruction of all) await send(instruction);
  subject.paypal.setOptions({ faults: [{ kind: 'busy', count: 1 }] });
  await subject.rail.work?.(context);
  assert.equal((await subject.rail.cancel?.(all[0], context))?.outcome, 'rejected');
  subject.clock.aheadMs += 60_000;
  await subject.turn(5);
  assert.equal((await query(all[1])).outcome, 'paid');
  assert.equal(findBatches(all[0]).length, 0);
});

test('a restored database learns which payments a batch has', async () => {
  const sinceMs = Date.now() + subject.clock.aheadMs - 1000;
  const all = [newInstruction(), newInstruction()];
  for (const instruction of all) await send(instruction);
  await subject.rail.work?.(context);
  await subject.turn(4);
  const { rail } = await subject.restore();
  await rail.recover?.(sinceMs, context);
  for (const instruction of all) {
    assert.equal((await rail.send(instruction, context)).outcome, 'paid');
    assert.equal(findBatches(instruction).length, 1);
  }
});

test('a batch that PayPal denies is rejected with all of its items', async () => {
  const denied = newInstruction();
  const beneficiary = { ...denied.beneficiary, email: 'deny@example.com' };
  const all = [newInstruction(), { ...denied, beneficiary }] as const;
  for (const instruction of all) await send(instruction);
  await subject.turn(4);
  const batches = all.flatMap(findBatches);
  assert.deepEqual(
    batches.map(({ status }) => status),
    ['DENIED', 'DENIED'],
  );
  for (const instruction of all) assert.equal((await query(instruction)).outcome, 'rejected');
});

test('a payment that a batch does not show is not rejected, regardless of the outcome of the others', async () => {
  const pair = await sendPair();
  await subject.rail.work?.(context);
  const [{ reference: missing }] = pair;
  const observedBefore = subject.host.problems.length;
  intercept = async (input, init) => {
    const response = await fetch(input, init);
    const answer: unknown = await response.clone().json();
    const shown = batchViewSchema.safeParse(answer).data;
    if (shown === undefined) return response;
    const items = shown.items.filter(({ payout_item: item }) => item.sender_item_id !== missing);
    const header = { ...shown.batch_header, batch_status: 'CANCELED' };
    return Response.json({ ...shown, batch_header: header, items });
  };
  try {
    await subject.turn(3);
    assert.equal((await query(pair[0])).outcome, 'unknown');
    assert.equal((await query(pair[1])).outcome, 'paid');
  } finally {
    intercept = undefined;
  }
  const observed = subject.host.observations.filter(({ reference }) => reference === missing);
  assert.deepEqual(observed, []);
  const [problem] = subject.host.problems.slice(observedBefore);
  assert.match(problem?.detail ?? '', /no item of the payment/);
});

test('nothing is rejected after an order that may have left', async () => {
  const pair = [newInstruction(), newInstruction({ amountMinor: 2_000_001n })] as const;
  for (const instruction of pair) await send(instruction);
  subject.paypal.setOptions({ faults: [{ kind: 'error_before', count: 1 }] });
  await subject.rail.work?.(context);
  subject.clock.aheadMs += 60_000;
  await subject.rail.work?.(context);
  for (const instruction of pair) {
    assert.equal((await query(instruction)).outcome, 'unknown');
    assert.equal((await subject.rail.cancel?.(instruction, context))?.outcome, 'unknown');
  }
  // Held until PayPal may have forgotten the key; then the report is asked.
  subject.clock.aheadMs += 29 * 86_400_000;
  await subject.rail.work?.(context);
  for (const instruction of pair) {
    const { outcome, code } = await query(instruction);
    assert.deepEqual([outcome, code], ['unknown', 'KEY_EXPIRED']);
  }
});

test('a known id that names a batch with another one settles nothing', async () => {
  const earlier = await sendPair();
  await subject.turn(4);
  const [other] = findBatches(earlier[0]);
  const pair = await sendPair();
  intercept = async (input, init) => {
    if (!isOrder(input, init)) return fetch(input, init);
    const link = [{ href: `https://example.com/v1/payments/payouts/${other?.id}`, rel: 'self' }];
    const details = [{ field: 'SENDER_BATCH_ID', issue: 'exists', link }];
    const error = { name: 'USER_BUSINESS_ERROR', message: 'exists', details };
    return Response.json(error, { status: 400 });
  };
  try {
    await subject.rail.work?.(context);
    for (const instruction of pair) assert.equal((await query(instruction)).outcome, 'unknown');
  } finally {
    intercept = undefined;
  }
  subject.clock.aheadMs += 60_000;
  await subject.turn(4);
  for (const instruction of pair) {
    assert.equal((await query(instruction)).outcome, 'paid');
    assert.equal(findBatches(instruction).length, 1);
  }
});

test('a full batch leaves at once, the rest waits for more payments', async () => {
  const rail = await subject.again({ batchWaitSeconds: 60 });
  const all = Array.from({ length: 4 }, () => newInstruction());
  for (const instruction of all) {
    assert.equal((await rail.send(instruction, context)).outcome, 'accepted');
    subject.clock.aheadMs += 1000;
  }
  const dueAtMs = (await rail.work?.(context)) ?? Infinity;
  assert.deepEqual(
    all.map((instruction) => findBatches(instruction).length),
    [1, 1, 1, 0],
  );
  const waitMs = dueAtMs - Date.now() - subject.clock.aheadMs;
  assert.ok(waitMs > 30_000 && waitMs <= 59_000, `${waitMs} ms`);
  subject.clock.aheadMs += 60_000;
  await rail.work?.(context);
  assert.deepEqual(
    all.map((instruction) => findBatches(instruction).length),
    [1, 1, 1, 1],
  );
});
