import { createHash } from 'node:crypto';
import type { Instruction, Rail, RailAnswer } from '../contract/contract.ts';
import { findMagicOutcome, type MagicOutcome } from './magic.ts';
import { sandboxCompanies, sandboxPayers } from './network.ts';

/**
 * The simulated network of the staging environment. It keeps no books: where a payment stands is
 * a function of the instruction, the clock and the outcome that a client set for it. So it
 * answers the same after a crash, and a thirty-day life can be looked at from its end.
 */

/** What a client of the sandbox asked for; it wins over magic values. */
export const scriptedOutcomes = [
  'ready_for_pickup',
  'completed',
  'rejected',
  'returned',
  'unknown',
] as const;
export type ScriptedOutcome = (typeof scriptedOutcomes)[number];

/** Those whose destination lets another payer take over. */
const dynamicPayers: ReadonlySet<string> = new Set(
  sandboxPayers.filter(({ isDynamicToken }) => isDynamicToken).map(({ key }) => key),
);

export type SandboxOptions = {
  nowMs: () => number;
  findScript: (reference: string) => Promise<ScriptedOutcome | undefined>;
};

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** How long cash waits for its recipient. */
export const pickupDaysMax = 30;
const collectedAfterMs = hourMs;
const returnedAfterMs = 5 * dayMs;
/** After which a network that did not answer clearly does. */
const clearAfterMs = 2 * hourMs;
const reachableAfterMs = 10 * minuteMs;

const networks = { BTC: 'bitcoin', LTC: 'litecoin', ETH: 'ethereum', USDC: 'ethereum' };
const networkOf: ReadonlyMap<string, string> = new Map(Object.entries(networks));

export function createSandboxRail(options: SandboxOptions): Rail {
  const decide = async (instruction: Instruction): Promise<RailAnswer> => {
    const script = await options.findScript(instruction.reference);
    const nowMs = options.nowMs();
    if (script !== undefined) return followScript(script, instruction, nowMs);
    const outcome = findMagicOutcome(instruction.attributes);
    return outcome === undefined
      ? followPlan(instruction, nowMs)
      : followMagic(outcome, instruction, nowMs);
  };
  const answer = async (instruction: Instruction): Promise<RailAnswer> =>
    nameTaken(await decide(instruction), instruction);
  return {
    name: 'sandbox',
    kind: 'sandbox',
    // As many as there are, and what it leaves unclear is a part of the play.
    pace: { concurrencyMax: 1000, perSecondMax: null, failuresMax: Number.POSITIVE_INFINITY },
    dailyLimits: {},
    // It keeps no books that a second payer could find the reference in.
    hasIndependentPayers: true,
    reference: { lengthMax: 64, charset: /^[0-9a-z]+$/ },
    companies: sandboxCompanies,
    payers: sandboxPayers,
    networks,
    send: answer,
    query: answer,
  };
}

/**
 * What it has taken on has a number of its own, as at a provider, or a transaction hash on a chain.
 * Like everything here it follows from the instruction.
 */
function nameTaken(answer: RailAnswer, { reference, currency }: Instruction): RailAnswer {
  const { outcome } = answer;
  if (outcome === 'rejected' || outcome === 'retry' || outcome === 'unknown') return answer;
  const digest = createHash('sha256').update(reference).digest('hex');
  const network = networkOf.get(currency);
  const providerReference =
    network === undefined
      ? `SBX${digest.slice(0, 12).toUpperCase()}`
      : `${network === 'ethereum' ? '0x' : ''}${digest}`;
  return { ...answer, providerReference };
}

function followScript(
  script: ScriptedOutcome,
  instruction: Instruction,
  nowMs: number,
): RailAnswer {
  switch (script) {
    case 'ready_for_pickup':
      return waitForPickup(instruction, nowMs);
    case 'completed':
      return { outcome: 'paid' };
    case 'rejected':
      return { outcome: 'rejected', reason: 'recipient_refused' };
    case 'returned':
      return { outcome: 'returned', reason: 'sent_back' };
    case 'unknown':
      return { outcome: 'unknown', reason: 'no_answer' };
  }
}

/** An ordinary payment: on its way until the announced time; cash then waits for its recipient. */
function followPlan(instruction: Instruction, nowMs: number): RailAnswer {
  const { availableAtMs, deliveryType } = instruction;
  if (nowMs < availableAtMs) return { outcome: 'accepted', checkAtMs: availableAtMs };
  return deliveryType === 'CASH_PICKUP' ? waitForPickup(instruction, nowMs) : { outcome: 'paid' };
}

function waitForPickup({ availableAtMs }: Instruction, nowMs: number): RailAnswer {
  // Ready before the announced time, the deadline of the recipient still counts from it.
  const endsAtMs = availableAtMs + pickupDaysMax * dayMs;
  if (nowMs < endsAtMs) return { outcome: 'ready_for_pickup', checkAtMs: endsAtMs };
  return { outcome: 'rejected', reason: 'not_collected' };
}

function followMagic(outcome: MagicOutcome, instruction: Instruction, nowMs: number): RailAnswer {
  const { availableAtMs, committedAtMs } = instruction;
  switch (outcome) {
    case 'paid_at_once':
      return { outcome: 'paid' };
    case 'rejected':
      return { outcome: 'rejected', reason: 'account_not_creditable' };
    case 'rejected_later':
      if (nowMs < availableAtMs) return { outcome: 'accepted', checkAtMs: availableAtMs };
      return { outcome: 'rejected', reason: 'account_closed' };
    case 'returned_late':
      if (nowMs < availableAtMs) return { outcome: 'accepted', checkAtMs: availableAtMs };
      return settleUntil(availableAtMs + returnedAfterMs, nowMs);
    case 'unknown':
      return { outcome: 'unknown', reason: 'no_answer' };
    case 'unknown_then_paid':
    case 'unknown_then_rejected':
      if (nowMs < committedAtMs + clearAfterMs) {
        return { outcome: 'unknown', reason: 'no_answer' };
      }
      return outcome === 'unknown_then_paid'
        ? { outcome: 'paid' }
        : { outcome: 'rejected', reason: 'account_not_creditable' };
    case 'retry_then_paid':
      if (nowMs < committedAtMs + reachableAfterMs) {
        return { outcome: 'retry', reason: 'unreachable' };
      }
      return followPlan({ ...instruction, deliveryType: 'BANK_DEPOSIT' }, nowMs);
    case 'refused_by_payer':
      if (dynamicPayers.has(instruction.payerKey)) {
        return { outcome: 'rejected', reason: 'payer_unavailable' };
      }
      return followPlan({ ...instruction, deliveryType: 'BANK_DEPOSIT' }, nowMs);
    case 'ready_for_pickup':
      return { outcome: 'ready_for_pickup', checkAtMs: availableAtMs + 3650 * dayMs };
    case 'ready_then_collected':
      if (nowMs < availableAtMs) return { outcome: 'accepted', checkAtMs: availableAtMs };
      if (nowMs < availableAtMs + collectedAfterMs) {
        return { outcome: 'ready_for_pickup', checkAtMs: availableAtMs + collectedAfterMs };
      }
      return { outcome: 'paid' };
    case 'ready_then_unclaimed':
      if (nowMs < availableAtMs) return { outcome: 'accepted', checkAtMs: availableAtMs };
      return waitForPickup(instruction, nowMs);
  }
}

function settleUntil(returnedAtMs: number, nowMs: number): RailAnswer {
  if (nowMs < returnedAtMs) return { outcome: 'paid', checkAtMs: returnedAtMs };
  return { outcome: 'returned', reason: 'sent_back' };
}
