import { z } from 'zod';
import type { PartnerState } from './handlers.ts';
import type { PartnerHttpRequest } from './simulator-level.ts';
import { simulatorOptionsSchema } from './simulator-options.ts';

/**
 * Control of the simulator by tests, without signatures: what it has booked (`/records`), its options
 * (`/control/options`), and what is to happen to a payment.
 */

const stateSchema = z.strictObject({
  reference: z.string(),
  state: z.enum(['ready_for_pickup', 'paid', 'rejected']),
  reason: z.string().default(''),
});
const returnSchema = z.strictObject({
  reference: z.string(),
  id: z.string().default('r1'),
  amount: z.string(),
  reason: z.string().default('account_closed'),
});

type ControlReply = { readonly status: number; readonly json: object };

export function control(partner: PartnerState, received: PartnerHttpRequest): ControlReply {
  const { path, body } = received;
  if (path === '/records') return { status: 200, json: listRecords(partner) };
  const json: unknown = JSON.parse(body.toString('utf8') || '{}');
  switch (path) {
    case '/control/options': {
      const wanted = simulatorOptionsSchema.partial().parse(json);
      const given = Object.keys(json as object);
      const changes = Object.fromEntries(
        Object.entries(wanted).filter(([name]) => given.includes(name)),
      );
      partner.options = { ...partner.options, ...changes };
      return { status: 200, json: partner.options };
    }
    case '/control/state': {
      const { reference, ...to } = stateSchema.parse(json);
      if (!partner.books.payments.has(reference)) return notFound;
      partner.lifecycle.move(reference, to);
      return { status: 200, json: {} };
    }
    case '/control/return': {
      const { reference, ...back } = returnSchema.parse(json);
      if (!partner.books.payments.has(reference)) return notFound;
      partner.lifecycle.giveBack(reference, back);
      return { status: 200, json: {} };
    }
    default:
      return notFound;
  }
}

const notFound: ControlReply = { status: 404, json: { error: 'there is no such path or payment' } };

/** The payment book by reference; `paidCount` is how often the money went out. */
export type PartnerRecords = {
  readonly payments: Readonly<
    Record<
      string,
      {
        readonly amount: string;
        readonly currency: string;
        readonly payer: string;
        readonly state: string;
        readonly reason: string;
        readonly paidCount: number;
        /** Orders received in this run of the process, including repeated and refused ones. */
        readonly orders: number;
        readonly returns: readonly { readonly id: string; readonly amount: string }[];
      }
    >
  >;
  /** Callbacks that have not been accepted yet. */
  readonly pendingEvents: number;
};

export function listRecords({ books, orderCounts: seen }: PartnerState): PartnerRecords {
  const payments = [...books.payments.values()].map((payment) => {
    const { reference, order, state, reason, paidCount, returns } = payment;
    const { amount, currency, payer } = order;
    const orders = seen.get(reference) ?? 0;
    return [
      reference,
      { amount, currency, payer, state, reason, paidCount, orders, returns },
    ] as const;
  });
  return { payments: Object.fromEntries(payments), pendingEvents: books.pending.size };
}
