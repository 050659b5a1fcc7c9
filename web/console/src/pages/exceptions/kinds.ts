/** What each kind of exception means, and which decisions fit it (docs/guides/exceptions.md). */

export type DecisionAction =
  | 'release'
  | 'refund'
  | 'retry'
  | 'paid'
  | 'not_paid'
  | 'returned'
  | 'write_off'
  | 'dismiss';

type Kind = { meaning: string; actions: readonly DecisionAction[] };

const kinds: Readonly<Record<string, Kind>> = {
  unknown_outcome: {
    meaning: 'The rail gave no clear answer for a day. It is still queried.',
    actions: ['paid', 'not_paid', 'release'],
  },
  not_sent: {
    meaning: 'It could not be sent for a day. No attempt is in flight.',
    actions: ['release', 'refund'],
  },
  parked: {
    meaning: 'Processing failed eight times in a row in this service.',
    actions: ['release', 'refund', 'paid', 'not_paid'],
  },
  screening: {
    meaning: 'A name or the wallet is on a sanctions list, or a name is written suspiciously.',
    actions: ['release', 'refund'],
  },
  approval: {
    meaning: 'Approval rules hold it. Who created or committed it cannot release it.',
    actions: ['release', 'refund'],
  },
  velocity: { meaning: 'It is over one of the limits.', actions: ['release', 'refund'] },
  routes_exhausted: {
    meaning: 'Every payer rejected it, or costs more than was quoted.',
    actions: ['retry', 'refund'],
  },
  refused_after_payment: {
    meaning: 'The rail reports as rejected what it had paid.',
    actions: ['returned', 'dismiss'],
  },
  paid_after_refusal: {
    meaning: 'The rail reports as paid what it had rejected.',
    actions: ['write_off', 'paid', 'dismiss'],
  },
  amount_differs: {
    meaning: 'The rail paid another amount.',
    actions: ['paid', 'not_paid', 'dismiss'],
  },
  return_of_unpaid: {
    meaning: 'Money came back for a payment that was never paid as far as we know.',
    actions: ['dismiss'],
  },
  excess_return: {
    meaning: 'More came back than was paid. The rest is in suspense.',
    actions: ['dismiss'],
  },
  rail_missing: {
    meaning: 'It is due, and no process has its rail. Configure the rail again.',
    actions: [],
  },
  accepted_after_refusal: {
    meaning: 'The rail rejected the payment and later reports that it has it.',
    actions: ['dismiss'],
  },
  paid_after_return: {
    meaning: 'The rail reports a new payment of what it had returned.',
    actions: ['write_off', 'dismiss'],
  },
  overdue: {
    meaning: 'Not finished long after its estimated arrival. It closes when the payout ends.',
    actions: ['dismiss'],
  },
  unscheduled: {
    meaning: 'Nothing was due for it although it had not ended.',
    actions: ['release', 'paid', 'not_paid', 'refund'],
  },
  recovered: {
    meaning: 'After a restore the rail listed a payment that may be this one.',
    actions: ['paid', 'release', 'dismiss'],
  },
};

/** The service counts no further. */
export const countedMax = 10_000;

export const payoutKinds = Object.keys(kinds);

/** Kinds of messages and files that belong to no payout. */
export const inboundKinds: Readonly<Record<string, string>> = {
  unmatched: 'The rail reports a payment or money that belongs to no payout.',
  unreadable: 'A file or message, or a part of it, cannot be read.',
  not_understood: 'A file or message, or a part of it, has no known meaning.',
  report_missing: 'A report of the counterparty, or a part of it, has not come.',
  report_changed: 'A report with a known id came again with other content.',
};

export function describeKind(kind: string): string {
  return kinds[kind]?.meaning ?? inboundKinds[kind] ?? '';
}

export function listActions(kind: string): readonly DecisionAction[] {
  return kinds[kind]?.actions ?? [];
}
