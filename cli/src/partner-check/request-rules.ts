import { newReference, type Rule, type Trial, Violation } from './check.ts';
import type { Call, Exchange } from './partner.ts';

/** Rules about single requests: which are carried out, and which are refused. */

export const requestRules: readonly Rule[] = [
  {
    name: 'health',
    rule: 'GET /health answers 200 with status "ok" and protocol "1".',
    check: async ({ call }) => {
      const { status, json, fault } = await call({ method: 'GET', path: '/health' });
      if (status === 0) throw new Violation(`the partner cannot be reached: ${fault}`);
      const health = json as { status?: unknown; protocol?: unknown } | null | undefined;
      if (status !== 200) throw new Violation(`expected status 200, not ${status}`);
      if (health?.status !== 'ok') throw new Violation('status must be "ok"');
      if (health.protocol !== '1') throw new Violation('protocol must be the text "1"');
    },
  },
  {
    name: 'answers',
    rule: 'Every answer is signed (signed level) or has the partner’s time (light level).',
    check: async ({ call }) => {
      for (const path of ['/health', `/payments/${newReference()}`, '/events/0']) {
        const { fault } = await call({ method: 'GET', path });
        if (fault !== undefined) throw new Violation(`GET ${path}: ${fault}`);
      }
    },
  },
  refuseSpoilt('authentication-missing', 'An order without authentication is refused.', 'missing'),
  refuseSpoilt('authentication-wrong-key', 'An order with another key is refused.', 'wrong_key'),
  refuseSpoilt(
    'authentication-changed-body',
    'An order whose body was changed after signing is refused.',
    'changed_body',
  ),
  {
    name: 'expired-order',
    rule: 'An order whose expiry has passed is refused with 401 signature_refused; nothing is booked.',
    check: async (trial) => {
      const order = trial.newOrder();
      const path = `/payments/${order.reference}`;
      const exchange = await trial.call({ method: 'PUT', path, body: order, expiresInS: -2 });
      trial.expectRefusal(exchange, 401, 'signature_refused');
      await trial.expectUnknown(order.reference);
    },
  },
  {
    name: 'unknown-reference',
    rule: 'A query of a reference that was never ordered answers 404 unknown_reference.',
    check: ({ expectUnknown }) => expectUnknown(newReference()),
  },
  {
    name: 'malformed-order',
    rule: 'An order that is not valid is refused with 400 malformed; nothing is booked.',
    check: refuseMalformed,
  },
];

/** With TLS, requests without a certificate may fail before there is an answer. */
export function expectSpoiltRefused(trial: Trial, exchange: Exchange): void {
  const isTls = trial.description.access.level === 'tls';
  const isRefused = isTls
    ? exchange.status === 0 || (exchange.status >= 400 && exchange.status < 500)
    : exchange.status === 401;
  if (!isRefused) throw new Violation(`expected status 401, not ${exchange.status}`);
  const error = (exchange.json as { error?: unknown } | null | undefined)?.error;
  if (!isTls && error !== 'signature_refused') {
    throw new Violation('the body must be {"error":"signature_refused"}');
  }
}

function refuseSpoilt(name: string, text: string, spoil: NonNullable<Call['spoil']>): Rule {
  return {
    name,
    rule: `${text} Status 401 signature_refused; nothing is booked.`,
    check: async (trial) => {
      const order = trial.newOrder();
      const path = `/payments/${order.reference}`;
      const exchange = await trial.call({ method: 'PUT', path, body: order, spoil });
      expectSpoiltRefused(trial, exchange);
      await trial.expectUnknown(order.reference);
    },
  };
}

async function refuseMalformed(trial: Trial): Promise<void> {
  const { amount: _amount, ...withoutAmount } = trial.newOrder();
  const bodies: readonly [string, (reference: string) => string][] = [
    ['not JSON', () => '{"reference":'],
    ['without an amount', (reference) => JSON.stringify({ ...withoutAmount, reference })],
    [
      'with a number as the amount',
      (reference) => JSON.stringify({ ...withoutAmount, reference, amount: 12.5 }),
    ],
    [
      'with an amount of zero',
      (reference) => JSON.stringify({ ...withoutAmount, reference, amount: '0.00' }),
    ],
    ['with another reference than the path', () => JSON.stringify(trial.newOrder())],
  ];
  for (const [what, write] of bodies) {
    const reference = newReference();
    const path = `/payments/${reference}`;
    const exchange = await trial.call({ method: 'PUT', path, text: write(reference) });
    try {
      trial.expectRefusal(exchange, 400, 'malformed');
      await trial.expectUnknown(reference);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      throw new Violation(`an order ${what}: ${error.message}`);
    }
  }
}
