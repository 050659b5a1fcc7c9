import type { RailAnswer, RailObservation } from '../rails/contract/contract.ts';
import { type Reason, reasonTexts, recipientReasons } from '../rails/contract/reasons.ts';
import type { ObservationDetails } from './observations.ts';

/** What to record for a rail's answer, and when to query next. */

export type NextStep = {
  outcome: string;
  reason: Reason | '';
  /** Undefined: never. */
  dueAtMs: number | undefined;
  details: ObservationDetails | undefined;
};

export type StepContext = {
  tries: number;
  unknownSinceMs: number | undefined;
  firstTriedAtMs: number | undefined;
  availableAtMs: number;
  nowMs: number;
  /** Whether the rail sends notifications; one may be lost, so the payout is queried as well. */
  sendsNotifications: boolean;
};

const backOffFirstMs = 60_000;
const backOffMaxMs = 24 * 3_600_000;
/** A payout whose outcome stays unknown for longer is held, with its funds in transit. */
const unknownMsMax = 24 * 3_600_000;
/** A payout that could not be sent for so long is parked. */
const unsentMsMax = 24 * 3_600_000;
/** The time until the next query after an acceptance, unless the rail names one. */
const acceptedCheckMs = 15 * 60_000;
/** Every payout in progress is queried at least once a year. */
const queryIntervalMsMax = 366 * 24 * 3_600_000;
/** After its estimated arrival a payout is queried every day. */
const overdueQueryMs = 24 * 3_600_000;

export function planNext(answer: RailAnswer, context: StepContext): NextStep {
  const { tries, nowMs } = context;
  const backOffMs = Math.max(getBackOffMs(tries), boundRetryAfter(answer.retryAfterMs));
  const base = { outcome: answer.outcome, details: describeDetails(answer) };
  switch (answer.outcome) {
    case 'accepted':
    case 'ready_for_pickup':
      return { ...base, reason: '', dueAtMs: findQueryTime(answer.checkAtMs, context) };
    case 'paid': {
      const { checkAtMs } = answer;
      const dueAtMs = checkAtMs === undefined ? undefined : boundQueryTime(checkAtMs, nowMs);
      return { ...base, reason: '', dueAtMs };
    }
    case 'rejected':
    case 'returned':
      return { ...base, reason: answer.reason, dueAtMs: undefined };
    case 'retry': {
      const unsentMs = nowMs - (context.firstTriedAtMs ?? nowMs);
      if (unsentMs >= unsentMsMax) return park(base.details, answer.reason, 'not_sent');
      const dueAtMs = boundQueryTime(answer.checkAtMs ?? nowMs + backOffMs, nowMs);
      // A try at the very limit parks the payout then.
      const limitMs = nowMs - unsentMs + unsentMsMax;
      return { ...base, reason: answer.reason, dueAtMs: Math.min(dueAtMs, limitMs) };
    }
    case 'unknown': {
      const unknownMs = nowMs - (context.unknownSinceMs ?? nowMs);
      const dueAtMs = nowMs + backOffMs;
      if (unknownMs < unknownMsMax) {
        const limitMs = nowMs - unknownMs + unknownMsMax;
        return { ...base, reason: answer.reason, dueAtMs: Math.min(dueAtMs, limitMs) };
      }
      const details = { ...base.details, exception: 'unknown_outcome' };
      return { outcome: 'hold', reason: answer.reason, dueAtMs, details };
    }
  }
}

/** Opens an exception for a payout of which nothing was sent. */
export function park(
  details: ObservationDetails | undefined,
  reason: Reason | '',
  exception: string,
): NextStep {
  return { outcome: 'park', reason, dueAtMs: undefined, details: { ...details, exception } };
}

/** When to query a payout after a notification. */
export function findNextQueryTime(
  outcome: RailObservation['outcome'],
  context: Pick<StepContext, 'availableAtMs' | 'nowMs' | 'sendsNotifications'>,
): number | undefined {
  if (outcome !== 'accepted' && outcome !== 'ready_for_pickup') return undefined;
  return findQueryTime(undefined, context);
}

/** Whether a payout refused for this reason may go to another payer. */
export function allowsFailover(reason: Reason): boolean {
  return !recipientReasons.has(reason);
}

export function formatReason(reason: Reason | ''): string {
  return reason === '' ? '' : reasonTexts[reason];
}

export function describeDetails(
  observation: Pick<RailObservation, 'code' | 'providerReference' | 'charges'> & {
    amountMinor?: bigint | undefined;
  },
): ObservationDetails | undefined {
  const { code, providerReference, charges = [], amountMinor } = observation;
  const details: ObservationDetails = {
    ...(code === undefined || code === '' ? {} : { code }),
    ...(providerReference === undefined || providerReference === ''
      ? {}
      : { provider_reference: providerReference }),
    ...(amountMinor === undefined ? {} : { amount: amountMinor.toString() }),
    ...(charges.length === 0
      ? {}
      : {
          charges: charges.map((charge) => ({
            id: charge.id,
            kind: charge.kind,
            currency: charge.currency,
            amount: charge.amountMinor.toString(),
          })),
        }),
  };
  return Object.keys(details).length === 0 ? undefined : details;
}

export function getBackOffMs(tries: number): number {
  return Math.min(backOffFirstMs * 2 ** Math.min(Math.max(tries, 1) - 1, 20), backOffMaxMs);
}

function boundRetryAfter(retryAfterMs = 0): number {
  return Math.min(Math.max(retryAfterMs, 0), backOffMaxMs);
}

/** The time that the rail names, bounded; early enough in case a notification is lost. */
function findQueryTime(
  checkAtMs: number | undefined,
  {
    nowMs,
    availableAtMs,
    sendsNotifications,
  }: Pick<StepContext, 'nowMs' | 'availableAtMs' | 'sendsNotifications'>,
): number {
  if (checkAtMs === undefined || !(checkAtMs > nowMs)) {
    return sendsNotifications && nowMs < availableAtMs
      ? Math.min(availableAtMs, nowMs + overdueQueryMs)
      : nowMs + acceptedCheckMs;
  }
  const bounded = boundQueryTime(checkAtMs, nowMs);
  return sendsNotifications
    ? Math.min(bounded, Math.max(availableAtMs, nowMs + overdueQueryMs))
    : bounded;
}

function boundQueryTime(checkAtMs: number, nowMs: number): number {
  return Math.min(Math.max(checkAtMs, nowMs), nowMs + queryIntervalMsMax);
}
