import { needCapability } from './capabilities.ts';
import {
  newReference,
  type Order,
  type Payment,
  type Rule,
  Skip,
  type Trial,
  Violation,
} from './check.ts';
import type { Call, Exchange } from './partner.ts';
import { expectSpoiltRefused } from './request-rules.ts';

/** Rules about batches: orders in one request, each with its own outcome. */

export const batchRules: readonly Rule[] = [
  createRule(
    'batch-orders',
    'A batch books each of its orders, which can be queried at once and are paid in the end.',
    async (trial) => {
      const orders = [trial.newOrder(), trial.newOrder()];
      const items = expectBatch(await trial.call(write(orders)), orders);
      for (const order of orders) {
        expectItem(trial, items, order);
        await trial.query(order);
        await trial.waitFor('the state "paid"', async () =>
          (await trial.query(order)).state === 'paid' ? true : undefined,
        );
      }
    },
  ),
  createRule(
    'batch-repeated',
    'The same batch again, or one of its orders by itself, answers with the same payments.',
    async (trial) => {
      const orders = [trial.newOrder(), trial.newOrder()];
      const call = write(orders);
      const first = expectBatch(await trial.call(call), orders);
      const again = expectBatch(await trial.call(call), orders);
      for (const order of orders) {
        const { partner_reference: name } = expectItem(trial, first, order);
        const alone = await trial.put(order);
        const repeated = expectItem(trial, again, order);
        if (repeated.partner_reference !== name || alone.partner_reference !== name) {
          throw new Violation('partner_reference changed, so that a second payment was booked');
        }
      }
    },
  ),
  createRule(
    'batch-conflict',
    'Another body under a known batch answers 409 reference_conflict and books nothing.',
    async (trial) => {
      const first = [trial.newOrder()];
      const call = write(first);
      expectBatch(await trial.call(call), first);
      const other = trial.newOrder();
      const exchange = await trial.call({ ...call, body: { ...call.body, orders: [other] } });
      trial.expectRefusal(exchange, 409, 'reference_conflict');
      await trial.expectUnknown(other.reference);
    },
  ),
  createRule(
    'batch-partly',
    'An order that conflicts has the error "reference_conflict"; the others of its batch are booked.',
    async (trial) => {
      const known = trial.newOrder();
      await trial.put(known);
      const orders = [{ ...known, amount: `1${known.amount}` }, trial.newOrder()] as const;
      const items = expectBatch(await trial.call(write(orders)), orders);
      const { error } = findItem(items, known.reference);
      if (error !== 'reference_conflict') {
        throw new Violation(`the conflicting order must have the error, not ${String(error)}`);
      }
      expectItem(trial, items, orders[1]);
      await trial.query(known);
      await trial.query(orders[1]);
    },
  ),
  createRule(
    'batch-malformed',
    'Of a batch with an order that is not valid, that order is refused as "malformed", or the whole batch.',
    checkMalformed,
  ),
  createRule(
    'batch-query',
    'GET /batches/{batch} answers how each order stands; of an unknown batch 404 unknown_reference.',
    async (trial) => {
      const orders = [trial.newOrder(), trial.newOrder()];
      const { path, ...call } = write(orders);
      expectBatch(await trial.call({ path, ...call }), orders);
      const items = expectBatch(await trial.call({ method: 'GET', path }), orders);
      for (const order of orders) expectItem(trial, items, order);
      const unknown = await trial.call({ method: 'GET', path: `/batches/${newReference()}` });
      trial.expectRefusal(unknown, 404, 'unknown_reference');
    },
  ),
  createRule(
    'batch-authentication',
    'A batch that is not authentic, or has expired, is refused with 401 signature_refused; nothing is booked.',
    async (trial) => {
      for (const spoil of ['missing', 'wrong_key', 'changed_body'] as const) {
        const order = trial.newOrder();
        expectSpoiltRefused(trial, await trial.call({ ...write([order]), spoil }));
        await trial.expectUnknown(order.reference);
      }
      const order = trial.newOrder();
      const exchange = await trial.call({ ...write([order]), expiresInS: -2 });
      trial.expectRefusal(exchange, 401, 'signature_refused');
      await trial.expectUnknown(order.reference);
    },
  ),
  createRule(
    'batch-limits',
    'batch_limits are announced; a batch above them is refused with 413 batch_too_large, and not booked.',
    checkLimits,
  ),
];

function createRule(name: string, rule: string, check: (trial: Trial) => Promise<void>): Rule {
  return {
    name,
    rule,
    check: async (trial) => {
      await needCapability(trial, 'batches');
      await check(trial);
    },
  };
}

type Item = { readonly reference?: unknown; readonly payment?: unknown; readonly error?: unknown };

function write(orders: readonly object[]) {
  const batch = newReference();
  const body = { batch, orders };
  return { method: 'PUT', path: `/batches/${batch}`, body } as const satisfies Call;
}

/** The items of an answer that counts, one for each order. */
function expectBatch(
  { status, json, fault, path, received }: Exchange,
  orders: readonly Order[],
): readonly Item[] {
  if (status !== 200) {
    throw new Violation(`expected status 200, not ${status} with ${received.slice(0, 200)}`);
  }
  if (fault !== undefined) throw new Violation(`the answer does not count: ${fault}`);
  const { batch, orders: items } = (json ?? {}) as { batch?: unknown; orders?: unknown };
  if (typeof batch !== 'string' || !path.endsWith(`/batches/${batch}`)) {
    throw new Violation('the answer must have the identifier of the batch');
  }
  if (!Array.isArray(items) || items.length !== orders.length) {
    throw new Violation('the answer must have each order of the batch once');
  }
  return items as readonly Item[];
}

function findItem(items: readonly Item[], reference: string): Item {
  const item = items.find((one) => one.reference === reference);
  if (item === undefined) throw new Violation('the answer lacks an order of the batch');
  const hasBoth = item.payment !== undefined && item.error !== undefined;
  if (hasBoth) throw new Violation('an order must have either a payment or an error');
  return item;
}

function expectItem(trial: Trial, items: readonly Item[], order: Order): Payment {
  const { payment, error } = findItem(items, order.reference);
  if (payment === undefined) {
    throw new Violation(`an order of the batch must have a payment, not ${String(error)}`);
  }
  return trial.expectStated(payment, order);
}

async function checkMalformed(trial: Trial): Promise<void> {
  const { amount: _amount, ...wrong } = trial.newOrder();
  const right = trial.newOrder();
  const exchange = await trial.call(write([wrong, right]));
  if (exchange.status !== 200) {
    trial.expectRefusal(exchange, 400, 'malformed');
    await trial.expectUnknown(right.reference);
  } else {
    const items = expectBatch(exchange, [right, right]);
    if (findItem(items, wrong.reference).error !== 'malformed') {
      throw new Violation('an order without an amount must have the error "malformed"');
    }
    expectItem(trial, items, right);
    await trial.query(right);
  }
  await trial.expectUnknown(wrong.reference);
}

/** No batch of Outlay has more orders. */
const ordersMax = 500;

async function checkLimits(trial: Trial): Promise<void> {
  const { batch_limits: limits } = await trial.readCapabilities();
  const isCount = (text: unknown): text is string =>
    typeof text === 'string' && /^[1-9]\d{0,8}$/.test(text);
  if (!isCount(limits?.orders_max) || !isCount(limits.bytes_max)) {
    throw new Violation('batch_limits must have orders_max and bytes_max, texts such as "100"');
  }
  const most = Number(limits.orders_max);
  if (most > ordersMax) throw new Skip(`${most} orders are more than Outlay sends in a batch`);
  const orders = Array.from({ length: most + 1 }, () => trial.newOrder());
  trial.expectRefusal(await trial.call(write(orders)), 413, 'batch_too_large');
  for (const order of [orders.at(0), orders.at(-1)]) {
    if (order !== undefined) await trial.expectUnknown(order.reference);
  }
}
