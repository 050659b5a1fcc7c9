import { z } from 'zod';
import type { Partner, Received } from './reference-desk.ts';
import { knobsSchema } from './reference-knobs.ts';

/**
 * The reference partner's back door, for tests only and without signatures: what it has booked
 * (`/judge`), how it is to behave (`/control/knobs`), and what is to happen to a payment.
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

export function control(partner: Partner, received: Received): ControlReply {
  const { path, body } = received;
  if (path === '/judge') return { status: 200, json: judge(partner) };
  const json: unknown = JSON.parse(body.toString('utf8') || '{}');
  switch (path) {
    case '/control/knobs': {
      const wanted = knobsSchema.partial().parse(json);
      const given = Object.keys(json as object);
      const changes = Object.fromEntries(
        Object.entries(wanted).filter(([name]) => given.includes(name)),
      );
      partner.knobs = { ...partner.knobs, ...changes };
      return { status: 200, json: partner.knobs };
    }
    case '/control/state': {
      const { reference, ...to } = stateSchema.parse(json);
      if (!partner.books.payments.has(reference)) return notFound;
      partner.life.move(reference, to);
      return { status: 200, json: {} };
    }
    case '/control/return': {
      const { reference, ...back } = returnSchema.parse(json);
      if (!partner.books.payments.has(reference)) return notFound;
      partner.life.giveBack(reference, back);
      return { status: 200, json: {} };
    }
    default:
      return notFound;
  }
}

const notFound: ControlReply = { status: 404, json: { error: 'there is nothing of the kind' } };

/** What the books say, by reference; `paidCount` is how often money went out. */
export type Judgement = {
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
        /** Orders received in this run of the process, also repeated and refused ones. */
        readonly orders: number;
        readonly returns: readonly { readonly id: string; readonly amount: string }[];
      }
    >
  >;
  /** Callbacks that have not been taken yet. */
  readonly pendingEvents: number;
};

function judge({ books, seen }: Partner): Judgement {
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
