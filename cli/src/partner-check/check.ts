import { randomBytes } from 'node:crypto';
import { type Capabilities, capabilitiesCall, expectCapabilities } from './capabilities.ts';
import { type Description, type OrderTemplate, orderSchema } from './description.ts';
import { findPaymentFault } from './forms.ts';
import { type History, noteExchange } from './history.ts';
import type { Listener } from './listener.ts';
import type { Call, Exchange, Partner } from './partner.ts';
import { Skip, Violation } from './violation.ts';

export { Skip, Violation };

/** What a rule is checked with, and what came out of it. */

export type Result = {
  readonly name: string;
  readonly rule: string;
  readonly result: 'passed' | 'failed' | 'skipped';
  /** What is wrong, or why it was not checked. */
  readonly detail?: string;
  /** The requests of a failed rule with their answers, in order. */
  readonly exchanges?: readonly Omit<Exchange, 'json'>[];
};

export type Rule = {
  readonly name: string;
  readonly rule: string;
  /** @throws Violation where the partner breaks the rule, and Skip where it cannot be checked. */
  check(trial: Trial): Promise<void>;
};

export type Payment = {
  readonly reference: string;
  readonly amount: string;
  readonly currency: string;
  readonly state: string;
  readonly reason?: string;
  readonly partner_reference?: string;
  readonly charges: readonly unknown[];
  readonly returns: readonly { readonly id: string; readonly amount: string }[];
};

export type Order = OrderTemplate & { readonly reference: string };

export type Outcome = 'paid' | 'rejected' | 'returned';

/** The means of one rule; every request is recorded. */
export type Trial = {
  readonly description: Description;
  readonly listener: Listener;
  /** What the partner has stated so far, in this run and in the one before. */
  readonly history: History;
  readonly waitMs: number;
  call(call: Call): Promise<Exchange>;
  newOrder(outcome?: Outcome): Order;
  /** The payment in an answer that counts. */
  expectPayment(
    exchange: Exchange,
    order: Pick<Order, 'reference' | 'amount' | 'currency'>,
  ): Payment;
  /** The same of a payment that is a part of an answer. */
  expectStated(given: unknown, order: Pick<Order, 'reference' | 'amount' | 'currency'>): Payment;
  expectRefusal(exchange: Exchange, status: number, error: string): void;
  /** Nothing may be booked under the reference. */
  expectUnknown(reference: string): Promise<void>;
  /** What the partner announces. @throws Skip where it has no optional parts. */
  readCapabilities(): Promise<Capabilities>;
  put(order: Order): Promise<Payment>;
  query(order: Order): Promise<Payment>;
  waitFor<Value>(what: string, find: () => Promise<Value | undefined>): Promise<Value>;
};

export function newReference(): string {
  return `check${randomBytes(12).toString('hex')}`;
}

function createTrial(
  { partner, description, listener, history, waitMs, nowMs, sleep }: TrialOptions,
  exchanges: Exchange[],
): Trial {
  const call = async (made: Call): Promise<Exchange> => {
    const exchange = await partner.call(made);
    exchanges.push(exchange);
    noteExchange(history, made, exchange);
    return exchange;
  };
  const put = async (order: Order): Promise<Payment> =>
    expectPayment(
      await call({ method: 'PUT', path: `/payments/${order.reference}`, body: order }),
      order,
    );
  const query = async (order: Order): Promise<Payment> =>
    expectPayment(await call({ method: 'GET', path: `/payments/${order.reference}` }), order);
  return {
    description,
    listener,
    history,
    waitMs,
    call,
    put,
    query,
    expectPayment,
    expectStated,
    expectRefusal,
    newOrder: (outcome = 'paid') => ({
      ...mergeOrder(description, outcome),
      originator: {
        ...description.order.originator,
        id: 'partner-check',
        name: 'Partner check',
      },
      available_at: new Date(nowMs() + 3_600_000).toISOString(),
      callback_url: listener.url,
      reference: newReference(),
    }),
    readCapabilities: async () => expectCapabilities(await call(capabilitiesCall)),
    expectUnknown: async (reference) => {
      const exchange = await call({ method: 'GET', path: `/payments/${reference}` });
      expectRefusal(exchange, 404, 'unknown_reference');
    },
    waitFor: async (what, find) => {
      const endMs = nowMs() + waitMs;
      for (;;) {
        // Only the last attempt is of interest.
        const { length } = exchanges;
        const found = await find();
        if (found !== undefined) return found;
        if (nowMs() > endMs) throw new Violation(`${what} did not happen in ${waitMs / 1000} s`);
        exchanges.length = length;
        await sleep(Math.min(200, waitMs / 10));
      }
    },
  };
}

function mergeOrder(description: Description, outcome: Outcome): OrderTemplate {
  if (outcome === 'paid') return description.order;
  return orderSchema.parse({ ...description.order, ...description[outcome] });
}

export type TrialOptions = {
  readonly partner: Partner;
  readonly description: Description;
  readonly listener: Listener;
  readonly history: History;
  readonly waitMs: number;
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
};

function expectRefusal(exchange: Exchange, status: number, error: string): void {
  const { json, fault } = exchange;
  const given = (json as { error?: unknown } | null | undefined)?.error;
  if (exchange.status !== status || given !== error) {
    throw new Violation(
      `expected status ${status} with {"error":"${error}"}, not ${describe(exchange)}`,
    );
  }
  if (fault !== undefined) throw new Violation(`the answer does not count: ${fault}`);
}

function expectPayment(
  exchange: Exchange,
  order: Pick<Order, 'reference' | 'amount' | 'currency'>,
): Payment {
  if (exchange.status !== 200)
    throw new Violation(`expected status 200, not ${describe(exchange)}`);
  if (exchange.fault !== undefined) {
    throw new Violation(`the answer does not count: ${exchange.fault}`);
  }
  return expectStated(exchange.json, order);
}

function expectStated(
  given: unknown,
  order: Pick<Order, 'reference' | 'amount' | 'currency'>,
): Payment {
  const payment = given as Partial<Payment> | null | undefined;
  if (payment?.reference !== order.reference) {
    throw new Violation('the answer must have the reference of the payment');
  }
  if (!isSameAmount(payment.amount, order.amount) || payment.currency !== order.currency) {
    throw new Violation('the answer must have the amount and the currency of the order');
  }
  const fault = findPaymentFault(payment);
  if (fault !== undefined) throw new Violation(fault);
  return payment as Payment;
}

/** Trailing zeros are ignored; amounts are never numbers. */
function isSameAmount(given: unknown, expected: string): boolean {
  const plain = (text: string): string =>
    text.includes('.') ? text.replace(/(?<!0)0+$/, '').replace(/\.$/, '') : text;
  return typeof given === 'string' && plain(given) === plain(expected);
}

function describe({ status, received, fault }: Exchange): string {
  if (status === 0) return `no answer (${fault})`;
  const text = received.length > 200 ? `${received.slice(0, 200)}…` : received;
  return `${status} with ${text === '' ? 'no body' : text}`;
}

/** Runs all rules, one after the other. */
export async function runRules(
  rules: readonly Rule[],
  options: TrialOptions,
  onResult: (result: Result) => void,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const rule of rules) {
    const exchanges: Exchange[] = [];
    const result = await runRule(rule, createTrial(options, exchanges), exchanges);
    results.push(result);
    onResult(result);
  }
  return results;
}

async function runRule(
  { name, rule, check }: Rule,
  trial: Trial,
  exchanges: readonly Exchange[],
): Promise<Result> {
  try {
    await check(trial);
    return { name, rule, result: 'passed' };
  } catch (error) {
    if (error instanceof Skip) return { name, rule, result: 'skipped', detail: error.message };
    if (!(error instanceof Violation)) throw error;
    const shown = exchanges.map(({ json: _json, ...exchange }) => exchange);
    return { name, rule, result: 'failed', detail: error.message, exchanges: shown };
  }
}
