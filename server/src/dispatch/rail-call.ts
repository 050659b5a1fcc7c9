import { type AttributeValues, openValues } from '../attributes/attribute-values.ts';
import { assert } from '../core/errors.ts';
import { openPickupCode } from '../core/pickup-code.ts';
import { formatRate } from '../core/rate.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import { getProviderCost, readProviderPrice } from '../destinations/provider-pricing.ts';
import { describeBeneficiary } from '../payouts/recipient-check.ts';
import type { Instruction, QuotedPrice, Rail, RailAnswer } from '../rails/contract/contract.ts';
import { defaultPriceRules } from '../rails/contract/price-rules.ts';
import { reasonTexts } from '../rails/contract/reasons.ts';
import {
  decodeReference,
  encodeReference,
  type ReferenceEncoding,
} from '../rails/contract/references.ts';
import { takeFromDailyLimit } from '../rails/host/daily-limits.ts';
import { wasScreened } from '../screening/payout-screenings.ts';
import type { Prepared, TravelRules } from '../travel-rule/travel-rule.ts';
import { openPerson } from '../users/users.ts';
import type { DispatchRow } from './dispatch.sql.ts';

/** Calls a rail for a claimed payout, and turns every failure into an answer. */

export type RailCallServices = {
  db: Database;
  keys: KeyRing;
  /** Shorter than the lease: the answer of a call that took longer would be refused anyway. */
  callMsMax: number;
  /** Then another process may work on the payout. */
  isLeaseOver: () => boolean;
  nowMs: () => number;
  onError: (error: unknown) => void;
  travelRules: TravelRules | undefined;
};

const outcomes: ReadonlySet<unknown> = new Set<RailAnswer['outcome']>([
  'accepted',
  'ready_for_pickup',
  'paid',
  'rejected',
  'returned',
  'retry',
  'unknown',
]);

const notUnderstood: RailAnswer = { outcome: 'unknown', reason: 'not_understood' };

/** Checks the form of an answer. */
function readAnswer(answer: RailAnswer | null | undefined): RailAnswer {
  if (!outcomes.has(answer?.outcome)) return notUnderstood;
  const known = answer as RailAnswer;
  if ('reason' in known && !Object.hasOwn(reasonTexts, known.reason)) return notUnderstood;
  const amountMinor = 'amountMinor' in known ? known.amountMinor : undefined;
  if (amountMinor !== undefined && !(amountMinor > 0n)) return notUnderstood;
  return known;
}

/**
 * A payment that the rail once accepted is never sent again, no matter what it answers later; and a payment
 * that it rejects as a duplicate may have been paid the first time.
 */
function normalizeOutcome(answer: RailAnswer, row: DispatchRow): RailAnswer {
  if (answer.outcome === 'rejected' && answer.reason === 'duplicate') {
    return { outcome: 'unknown', reason: 'duplicate' };
  }
  if (answer.outcome !== 'retry' || !row.was_taken) return answer;
  return { outcome: 'unknown', reason: answer.reason };
}

export async function callRail(
  services: RailCallServices,
  target: {
    rail: Rail | undefined;
    encoding: ReferenceEncoding;
    isCancelling: boolean;
    isStopped: boolean;
  },
  row: DispatchRow,
): Promise<RailAnswer> {
  const { rail } = target;
  // A call that was not made sent nothing.
  const notCalled = (reason: RailAnswer & { outcome: 'unknown' }): RailAnswer =>
    row.mode === 'send' ? { outcome: 'retry', reason: reason.reason } : reason;
  if (rail === undefined) return notCalled({ outcome: 'unknown', reason: 'not_configured' });
  let instruction: Instruction;
  try {
    instruction = readInstruction(services.keys, row, target.encoding);
    const quoted = readQuoted(rail, row);
    if (quoted !== undefined) instruction = { ...instruction, quoted };
  } catch (error) {
    services.onError(error);
    return notCalled({ outcome: 'unknown', reason: 'not_readable' });
  }
  if (row.mode === 'send' && rail.usesScreening === true) {
    instruction = { ...instruction, screening: await readScreening(services.db, row) };
  }
  const prepared = await prepareSending(services, { rail, instruction }, row);
  if ('answer' in prepared) return prepared.answer;
  instruction = prepared.instruction;
  if (row.mode === 'send' && !(await takeFromDailyLimit(services.db.system, rail, instruction))) {
    return { outcome: 'retry', reason: 'daily_limit', checkAtMs: findNextDay(services.nowMs()) };
  }
  // The steps above may take longer than the lease, and another process may have canceled the payout.
  if (row.mode === 'send' && services.isLeaseOver()) return { outcome: 'retry', reason: 'busy' };
  const abort = new AbortController();
  try {
    const { isStopped } = target;
    const context = { signal: abort.signal, ...(isStopped && { isStopped }) };
    const query = target.isCancelling && rail.cancel !== undefined ? rail.cancel : rail.query;
    const call = row.mode === 'send' ? rail.send : query;
    const answer = normalizeOutcome(
      await within(services.callMsMax, call(instruction, context).then(readAnswer), abort),
      row,
    );
    // Nothing was sent, and nothing will be.
    const isCancelled = target.isCancelling && answer.outcome === 'retry';
    return isCancelled ? { outcome: 'rejected', reason: 'cancelled' } : answer;
  } catch (error) {
    // A rail that throws may have sent the payment before.
    services.onError(error);
    return { outcome: 'unknown', reason: 'payer_error' };
  }
}

/** What the travel rule asks for, before anything is sent. */
async function prepareSending(
  { keys, travelRules, onError }: RailCallServices,
  { rail, instruction }: { rail: Rail; instruction: Instruction },
  row: DispatchRow,
): Promise<Prepared> {
  if (travelRules === undefined || row.mode !== 'send') return { instruction };
  const { account_id: accountId, payout_id: payoutId, user_id: userId } = row;
  try {
    const userKey = keys.unwrap(row.data_key, { accountId, userId });
    return await travelRules.prepare(rail, instruction, { accountId, payoutId, userId, userKey });
  } catch (error) {
    // Nothing was sent.
    onError(error);
    return { answer: { outcome: 'retry', reason: 'travel_rule_pending' } };
  }
}

/** The provider's price of the quote: stored with the payout, so that each call has the same one. */
function readQuoted(
  { readPrices, priceRules = defaultPriceRules }: Rail,
  { provider_price: text, destination_amount: destinationMinor }: DispatchRow,
): QuotedPrice | undefined {
  if (readPrices === undefined || text === null) return undefined;
  const price = readProviderPrice(text);
  const cost = getProviderCost(price, destinationMinor);
  if (cost === undefined) return undefined;
  return {
    sourceCurrency: price.source.code,
    rate: formatRate(price.rate),
    feeMinor: cost.feeMinor,
    asOfMs: price.asOfMs,
    bearBasisPoints: priceRules.bearBasisPoints,
  };
}

async function readScreening(
  db: Database,
  row: DispatchRow,
): Promise<NonNullable<Instruction['screening']>> {
  const payout = { accountId: row.account_id, payoutId: row.payout_id };
  return (await wasScreened(db.system, payout)) ? 'clear' : 'not_screened';
}

const dayMs = 86_400_000;

function findNextDay(nowMs: number): number {
  return (Math.floor(nowMs / dayMs) + 1) * dayMs;
}

/** The answer, or `no_answer` after `timeMs`; a later answer is ignored. */
function within(
  timeMs: number,
  answer: Promise<RailAnswer>,
  abort: AbortController,
): Promise<RailAnswer> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      resolve({ outcome: 'unknown', reason: 'no_answer' });
      abort.abort();
    }, timeMs);
    answer.then(resolve, reject).finally(() => clearTimeout(late));
  });
}

export function readInstruction(
  keys: KeyRing,
  row: DispatchRow,
  encoding: ReferenceEncoding,
): Instruction {
  const owner = { accountId: row.account_id, userId: row.user_id };
  const userKey = keys.unwrap(row.data_key, owner);
  const attributes: AttributeValues =
    row.attributes === null || row.attr_set_id === null
      ? {}
      : openValues(userKey, row.attributes, { ...owner, setId: row.attr_set_id });
  const person = openPerson(userKey, { ...owner, sealed: row.person });
  const paymentId = decodeReference(row.reference);
  assert(paymentId !== undefined, 'the reference of an attempt names a payment');
  return {
    reference: encodeReference(encoding, paymentId),
    payerKey: row.payer_key,
    countryCode: row.country,
    deliveryType: row.delivery_type,
    currency: row.destination_currency,
    amountMinor: row.destination_amount,
    attributes,
    beneficiary: describeBeneficiary(person, row.user_country),
    originator: { accountId: row.account_id, name: row.account_name },
    pickupCode: openPickupCode(keys, {
      ...owner,
      payoutId: row.payout_id,
      stored: row.pickup_code,
      dataKey: row.data_key,
    }),
    committedAtMs: row.committed_at.getTime(),
    availableAtMs: row.estimated_availability.getTime(),
  };
}
