import type { RailAnswer, RailObservation } from '../rails/contract/contract.ts';
import { type Reason, reasonTexts, recipientReasons } from '../rails/contract/reasons.ts';
import type { ObservationDetails } from './observations.sql.ts';

/** What follows from what a rail said: what is recorded, and when it is asked again. */

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
  /** Whether the rail tells by itself what happens; then a lost word must not be waited for. */
  sendsNotifications: boolean;
};

const backOffFirstMs = 60_000;
const backOffMaxMs = 24 * 3_600_000;
/** An outcome that stays unknown for longer is put before a person; the funds stay where they are. */
const unknownMsMax = 24 * 3_600_000;
/** So is what could not be sent for so long. */
const unsentMsMax = 24 * 3_600_000;
/** When to look again after a rail accepted and did not say when. */
const acceptedCheckMs = 15 * 60_000;
/** However late a rail wants to be asked, a payout is looked at once a year. */
const lookMsMax = 366 * 24 * 3_600_000;
/** Past its estimated time a payout is asked about every day at least. */
const overdueQueryMs = 24 * 3_600_000;

export function planNext(answer: RailAnswer, situation: StepContext): NextStep {
  const { tries, nowMs } = situation;
  const backOffMs = Math.max(getBackOffMs(tries), boundRetryAfter(answer.retryAfterMs));
  const base = { outcome: answer.outcome, details: describeDetails(answer) };
  switch (answer.outcome) {
    case 'accepted':
    case 'ready_for_pickup':
      return { ...base, reason: '', dueAtMs: findLook(answer.checkAtMs, situation) };
    case 'paid': {
      const { checkAtMs } = answer;
      const dueAtMs = checkAtMs === undefined ? undefined : boundLook(checkAtMs, nowMs);
      return { ...base, reason: '', dueAtMs };
    }
    case 'rejected':
    case 'returned':
      return { ...base, reason: answer.reason, dueAtMs: undefined };
    case 'retry': {
      const unsentMs = nowMs - (situation.firstTriedAtMs ?? nowMs);
      if (unsentMs >= unsentMsMax) return park(base.details, answer.reason, 'not_sent');
      const dueAtMs = boundLook(answer.checkAtMs ?? nowMs + backOffMs, nowMs);
      // Judged when the time is over, not at the first try after it.
      const limitMs = nowMs - unsentMs + unsentMsMax;
      return { ...base, reason: answer.reason, dueAtMs: Math.min(dueAtMs, limitMs) };
    }
    case 'unknown': {
      const unknownMs = nowMs - (situation.unknownSinceMs ?? nowMs);
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

/** Before a person, with nothing sent. */
export function park(
  details: ObservationDetails | undefined,
  reason: Reason | '',
  exception: string,
): NextStep {
  return { outcome: 'park', reason, dueAtMs: undefined, details: { ...details, exception } };
}

/** When to ask about a payout of which something was heard unasked. */
export function findNextQueryTime(
  outcome: RailObservation['outcome'],
  situation: Pick<StepContext, 'availableAtMs' | 'nowMs' | 'sendsNotifications'>,
): number | undefined {
  if (outcome !== 'accepted' && outcome !== 'ready_for_pickup') return undefined;
  return findLook(undefined, situation);
}

/** Whether a refusal leaves the way to another payer open. */
export function allowsFailover(reason: Reason): boolean {
  return !recipientReasons.has(reason);
}

export function formatReason(reason: Reason | ''): string {
  return reason === '' ? '' : reasonTexts[reason];
}

export function describeDetails(
  heard: Pick<RailObservation, 'code' | 'providerReference' | 'charges'> & {
    amountMinor?: bigint | undefined;
  },
): ObservationDetails | undefined {
  const { code, providerReference, charges = [], amountMinor } = heard;
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

/** When the rail wants to be asked again, within reason; and soon enough if a word of it was lost. */
function findLook(
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
  const bounded = boundLook(checkAtMs, nowMs);
  return sendsNotifications
    ? Math.min(bounded, Math.max(availableAtMs, nowMs + overdueQueryMs))
    : bounded;
}

function boundLook(checkAtMs: number, nowMs: number): number {
  return Math.min(Math.max(checkAtMs, nowMs), nowMs + lookMsMax);
}
