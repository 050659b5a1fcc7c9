import type { DispatchRow } from '../../src/dispatch/dispatch.ts';
import type { RailAnswer } from '../../src/rails/contract/contract.ts';

/** What surrounds one payout: counterparties, messages on their way, and processes that work on it. */

/**
 * Of a payment at a counterparty; a refused one is remembered, and never paid later. `ready`: it waits to
 * be picked up. `misstated`: paid, in another amount.
 */
type PaymentState = 'booked' | 'ready' | 'paid' | 'misstated' | 'refused' | 'returned';

/** What a counterparty reports by itself. */
export type Report = {
  readonly payment: string;
  readonly outcome: 'accepted' | 'ready_for_pickup' | 'paid' | 'rejected' | 'returned';
  /** Minor units, of another amount or of a part. */
  readonly amount?: string;
  readonly atMs: number;
};

/** A process that has claimed the payout, and the answer that it has not recorded yet. */
export type Worker = {
  readonly row: DispatchRow;
  readonly isCanceling: boolean;
  readonly answer?: RailAnswer;
};

/** How often each may still happen. */
export type Faults = {
  /** A process dies with its claim. */
  crash: number;
  /** An answer does not arrive. */
  loss: number;
  /** An instruction arrives after its sender has given up. */
  delay: number;
  /** A report arrives twice. */
  repeat: number;
  /** A counterparty reports what it had answered already: that it has the payment. */
  echo: number;
  /** Money comes back after it was paid. */
  return: number;
  /** A part of the money comes back. */
  part: number;
  /** The recipient has to pick the money up. */
  pickup: number;
  /** Another amount is paid. */
  amount: number;
  /** A counterparty pays what it had refused, against the contract of rails. */
  contradiction: number;
  /** A refused payout goes to another payer, or none is left. */
  failover: number;
  /** The client cancels. */
  cancel: number;
  /** A day passes without a definite answer. */
  day: number;
  /** A person decides, and tells the truth. */
  decision: number;
  /** An operator stops all sending, and lifts the stop later. */
  freeze: number;
  /** The rules that check a payout before it is sent hold it. */
  hold: number;
};
export type Fault = keyof Faults;

export type World = {
  /** By rail and reference. */
  readonly payments: Readonly<Record<string, PaymentState>>;
  /** Instructions on their way, as the payments that they ask for. */
  readonly wire: readonly string[];
  readonly reports: readonly Report[];
  readonly workers: readonly Worker[];
  /** The freeze that is in force. */
  readonly freeze: string | undefined;
  readonly hasRules: boolean;
  readonly left: Faults;
};

export const noFaults: Faults = {
  crash: 0,
  loss: 0,
  delay: 0,
  repeat: 0,
  echo: 0,
  return: 0,
  part: 0,
  pickup: 0,
  amount: 0,
  contradiction: 0,
  failover: 0,
  cancel: 0,
  day: 0,
  decision: 0,
  freeze: 0,
  hold: 0,
};

export const namePayment = ({ rail, reference }: { rail: string; reference: string }): string =>
  `${rail}/${reference}`;

export function spend(world: World, fault: Fault): World {
  return { ...world, left: { ...world.left, [fault]: world.left[fault] - 1 } };
}

const outcomes = {
  booked: 'accepted',
  ready: 'ready_for_pickup',
  paid: 'paid',
  misstated: 'paid',
  refused: 'rejected',
  returned: 'returned',
} as const;

/** Of 1,800.00 MXN. */
const otherAmount = 179_999n;
const partAmount = 60_000n;

const report = (world: World, reported: Omit<Report, 'atMs'>): World => ({
  ...world,
  reports: [...world.reports, { ...reported, atMs: Date.now() }],
});

/** Sets the state of a payment; its counterparty reports it. */
export function settle(world: World, payment: string, state: PaymentState): World {
  const amount = state === 'misstated' ? { amount: otherAmount.toString() } : {};
  const settled = { ...world, payments: { ...world.payments, [payment]: state } };
  return report(settled, { payment, outcome: outcomes[state], ...amount });
}

/** A part of what was paid comes back, which a query does not tell. */
export function returnPart(world: World, payment: string): World {
  return report(world, { payment, outcome: 'returned', amount: partAmount.toString() });
}

/** An instruction arrives. One reference is one payment: what is known already stays as it is. */
export function receive(world: World, payment: string, state: PaymentState): World {
  if (world.payments[payment] !== undefined) return world;
  return { ...world, payments: { ...world.payments, [payment]: state } };
}

/** What a counterparty says about a payment; it cannot know what may still arrive. */
export function answerOf(world: World, payment: string): RailAnswer {
  switch (world.payments[payment]) {
    case 'booked':
      return { outcome: 'accepted' };
    case 'ready':
      return { outcome: 'ready_for_pickup' };
    case 'paid':
      return { outcome: 'paid' };
    case 'misstated':
      return { outcome: 'paid', amountMinor: otherAmount };
    case 'refused':
      return { outcome: 'rejected', reason: 'payer_unavailable' };
    case 'returned':
      return { outcome: 'returned', reason: 'sent_back' };
    default:
      return world.wire.includes(payment)
        ? { outcome: 'unknown', reason: 'no_answer' }
        : { outcome: 'retry', reason: 'unreachable' };
  }
}

/** Payments that the recipient has, or may get. */
export function listLive({ payments, wire }: World): string[] {
  const booked = Object.keys(payments).filter((payment) =>
    ['booked', 'ready', 'paid', 'misstated'].includes(payments[payment] ?? ''),
  );
  const coming = wire.filter((payment) => payments[payment] === undefined);
  return [...new Set([...booked, ...coming])];
}
