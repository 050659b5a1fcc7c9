import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  type DescribedExchange,
  type Description,
  openDescription,
} from '../../../testing/setups/openapi-description.ts';
import {
  context,
  newInstruction,
  openPaypalTest,
  type PaypalTest,
  type PaypalTestOptions,
} from '../../../testing/setups/paypal.ts';
import { recordExchanges } from '../../../testing/setups/recorded-fetch.ts';
import type { Instruction } from '../contract/contract.ts';

/**
 * Every request of the rail, every answer and webhook of the simulator, against PayPal's own OpenAPI
 * descriptions. `OUTLAY_SHARED_DATA` is the folder that has them in `providers/paypal`; by default
 * `shared/data` beside the repository.
 */
const defaultData = fileURLToPath(new URL('../../../../../shared/data', import.meta.url));
const folder = join(process.env['OUTLAY_SHARED_DATA'] ?? defaultData, 'providers/paypal');
const files = [
  'payments_payouts_batch_v1',
  'reporting_transactions_v1',
  'notifications_webhooks_v1',
];

/** Of batches, refusals and reports PayPal answers more members than it describes. */
function readDescription(): Description {
  return openDescription(
    files.map((file) => join(folder, `${file}.json`)),
    { hasOpenAnswers: true },
  );
}

/** Not in the descriptions: the token, and how the list of events continues (README.md). */
function isUndescribed({ path }: DescribedExchange): boolean {
  return path === '/v1/oauth2/token' || path.includes('next_page_token');
}

async function walk(subject: PaypalTest): Promise<void> {
  const { rail, paypal } = subject;
  const instruct = (plannedOutcome: string, changes: Partial<Instruction> = {}): Instruction => {
    const instruction = newInstruction(changes);
    const email = `${plannedOutcome}@example.com`;
    return { ...instruction, beneficiary: { ...instruction.beneficiary, email } };
  };
  const all = [
    ...['paid', 'fail', 'unclaimed', 'hold', 'block', 'refund', 'deny'].map((one) => instruct(one)),
    instruct('unfunded', { currency: 'GBP' }),
    instruct('yen', { currency: 'JPY', amountMinor: 1500n }),
    instruct('large', { amountMinor: 2_000_001n }),
    instruct('phone', { payerKey: 'phone' }),
  ];
  for (const instruction of all) await rail.send(instruction, context);
  await subject.turn(6);
  for (const instruction of all) await rail.query(instruction, context);
  for (const instruction of all) await rail.cancel?.(instruction, context);
  // Repeated, refused and failed calls.
  const { rail: restored } = await subject.restore();
  for (const instruction of all.slice(0, 3)) await restored.send(instruction, context);
  paypal.setOptions({
    faults: [
      { kind: 'busy', count: 1 },
      { kind: 'maintenance', count: 1 },
    ],
  });
  await rail.send(instruct('paid'), context);
  await rail.send(instruct('paid'), context);
  paypal.revokeTokens();
  await rail.query(all[0] ?? instruct('paid'), context);
  // What an operator's commands and the passes read.
  await rail.check?.(context);
  await (await subject.again({ webhookId: 'ANOTHER' })).check?.(context);
  await rail.readFunds?.(context);
  await restored.findUnknownPayments?.(context);
  await restored.recover?.(Date.now() - 86_400_000, context);
  subject.clock.aheadMs += 40 * 86_400_000;
  await restored.recover?.(Date.now() - 86_400_000, context);
  await subject.turn(2);
}

const skip = existsSync(folder) ? false : `no descriptions in ${folder}`;

async function openDescribedTest(
  fetching: typeof fetch,
  changes: PaypalTestOptions['config'] = {},
): Promise<PaypalTest> {
  return openPaypalTest({
    fetch: fetching,
    config: { emailMessage: 'Thank you for your work.', eventsSeconds: 1, ...changes },
    options: {
      balances: { USD: '1000000.00', EUR: '0.01', JPY: '100000' },
      failPattern: '^fail',
      unclaimedPattern: '^unclaimed',
      holdPattern: '^hold',
      blockPattern: '^block',
      denyPattern: '^deny',
      refundPattern: '^refund',
    },
  });
}

/** Names of the calls that were made. */
function assertDescribed(
  { paypal }: PaypalTest,
  exchanges: readonly DescribedExchange[],
): ReadonlySet<string> {
  const description = readDescription();
  const faults = new Set<string>();
  const seen = new Set<string>();
  for (const exchange of exchanges.filter((one) => !isUndescribed(one))) {
    const path = exchange.path.replace(/\?.*/, '').replace(/\/[0-9A-Z]{13,17}(?=\/|$)/, '/ID');
    const name = `${exchange.method} ${path} ${exchange.status}`;
    seen.add(name);
    for (const fault of description.listFaults(exchange)) faults.add(`${name}: ${fault}`);
  }
  for (const { body } of paypal.books.events) {
    const { resource, event_type: type } = body as { resource: object; event_type: string };
    const schema = type.includes('PAYOUTS-ITEM') ? 'payout_item-2' : 'payout_batch';
    for (const fault of [
      ...description.listSchemaFaults('event', body),
      ...description.listSchemaFaults(schema, resource),
    ]) {
      faults.add(`${type}: ${fault}`);
    }
  }
  assert.deepEqual([...faults], []);
  return seen;
}

test('requests, answers and webhooks are as PayPal describes them', { skip }, async () => {
  const recorded = recordExchanges();
  const subject = await openDescribedTest(recorded.fetch);
  try {
    await walk(subject);
    const seen = assertDescribed(subject, recorded.exchanges);
    for (const name of [
      'POST /v1/payments/payouts 201',
      'POST /v1/payments/payouts 400',
      'POST /v1/payments/payouts 429',
      'POST /v1/payments/payouts 503',
      'GET /v1/payments/payouts/ID 200',
      'GET /v1/payments/payouts/ID 401',
      'POST /v1/payments/payouts-item/ID/cancel 200',
      'GET /v1/reporting/transactions 200',
      'GET /v1/reporting/balances 200',
      'GET /v1/notifications/webhooks/ID 200',
      'GET /v1/notifications/webhooks-events 200',
      'POST /v1/notifications/verify-webhook-signature 200',
    ]) {
      assert.ok(seen.has(name), `${name} was not seen, but ${[...seen].join(', ')}`);
    }
  } finally {
    await subject.close();
  }
});

test('batches of several items are as PayPal describes them', { skip }, async () => {
  const recorded = recordExchanges();
  const batching = { batchItemsMax: 20, batchWaitSeconds: 0 };
  const subject = await openDescribedTest(recorded.fetch, batching);
  try {
    await walk(subject);
    const seen = assertDescribed(subject, recorded.exchanges);
    for (const name of [
      'POST /v1/payments/payouts 201',
      'POST /v1/payments/payouts 400',
      'GET /v1/payments/payouts/ID 200',
    ]) {
      assert.ok(seen.has(name), `${name} was not seen, but ${[...seen].join(', ')}`);
    }
    const sizes = [...subject.paypal.books.batches.values()].map(({ items }) => items.length);
    assert.ok(Math.max(...sizes) > 2, `batches of ${sizes.join(', ')} items`);
  } finally {
    await subject.close();
  }
});

test('a request or an answer that is not as described is noticed', {
  skip,
}, () => {
  const { listFaults } = readDescription();
  const exchange: DescribedExchange = {
    method: 'GET',
    path: '/v1/payments/payouts/ABC?page=1',
    headers: { 'content-type': 'application/json' },
    body: '',
    status: 200,
    answer: '{}',
  };
  assert.deepEqual(listFaults(exchange), []);
  const isNoticed = (changes: Partial<DescribedExchange>) =>
    assert.ok(listFaults({ ...exchange, ...changes }).length > 0, JSON.stringify(changes));
  isNoticed({ path: '/v1/payments/payouts/ABC?page=first' });
  isNoticed({ path: '/v1/payments/payouts/ABC?pages=1' });
  isNoticed({ path: '/v1/payments/nothing' });
  isNoticed({ answer: '{"batch_header": {}}' });
  isNoticed({ status: 404 });
  const order = { sender_batch_header: {}, items: [{ amount: {}, receiver: 'a' }] };
  const path = '/v1/payments/payouts';
  isNoticed({ method: 'POST', path, status: 201, body: JSON.stringify(order) });
  const more = { sender_batch_header: { id: '1' }, items: [] };
  isNoticed({ method: 'POST', path, status: 201, body: JSON.stringify(more) });
});
