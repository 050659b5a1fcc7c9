import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { MissingMasterKey } from '../core/sealing.ts';
import { createBatcher, held } from '../db/batcher.ts';
import { placeByOrdinal } from '../db/ordinals.ts';
import { IndexKeyUnheld } from '../db/postgres/index-key-hold.ts';
import { findSqlState } from '../db/postgres/pool.ts';
import { getDestinationToken } from '../destinations/catalog.ts';
import {
  describeAskedPrice,
  describeWorsePrice,
  findLatestPrice,
  readProviderPrice,
} from '../destinations/provider-pricing.ts';
import { holdForApproval } from '../payouts/approval-hold.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';
import {
  awaitOpinion,
  type DispatchRow,
  listTriedPayers,
  passChecks,
  postponeDispatch,
} from './dispatch.sql.ts';
import { type Parts } from './dispatch-parts.ts';
import { traceRailCall } from './dispatch-traces.ts';
import { describeTerms, failOver } from './failover.ts';
import { formatReason, getBackOffMs, type NextStep, park, planNext } from './next-step.ts';
import {
  type ApplyResult,
  applyObservation,
  applyObservations,
  type Observation,
  type ObservationDetails,
} from './observations.ts';
import { callRail, readInstruction } from './rail-call.ts';
import type { RailRuntime } from './rail-runtimes.ts';
import type { StoredPayout } from './recipient-objections.ts';
import { findRecoveredTwin } from './recovery.ts';
import { evaluateRoute } from './routing.ts';

/** Works on a claimed payout: checks it, calls its rail, and records the answer. */

/** After this many failures of this service a payout opens an exception. */
const faultsMax = 8;

/** Applies answers of rails in batches. */
export function createRecorder({
  db,
  keys,
}: Pick<Parts, 'db' | 'keys'>): (observation: Observation) => Promise<boolean> {
  const group = createBatcher<Observation, ApplyResult | undefined>({
    name: 'record observations',
    db,
    accountOf: ({ accountId }) => accountId,
    keyOf: ({ payoutId }) => payoutId,
    run: async (session, observations, mayWait) => {
      const rows = await applyObservations({ session, keys }, observations, mayWait);
      return placeByOrdinal(observations, rows, ({ result }) =>
        result === 'held' ? held : result,
      );
    },
  });
  return async (observation) => {
    const result = await group.submit(observation);
    return (
      (result ?? (await applyObservation({ session: db.system, keys }, observation))) === 'applied'
    );
  };
}

export async function checkAll(parts: Parts, rows: readonly DispatchRow[]): Promise<void> {
  try {
    const hits = (await parts.rules?.check(rows)) ?? [];
    const passed = rows.filter((_, index) => hits[index] === undefined);
    if (passed.length > 0) await passChecks(parts.db.system, passed);
    for (const [index, row] of rows.entries()) {
      const hit = hits[index];
      if (hit === undefined) continue;
      if (hit.exception === 'none') {
        await awaitOpinion(parts.db.system, { ...row, waitMs: getOpinionWaitMs(row.tries) });
        continue;
      }
      if (hit.exception === 'approval') {
        const { account_id: accountId, payout_id: payoutId, fence } = row;
        await holdForApproval(parts.db.system, { accountId, payoutId, fence }, hit.hold);
        continue;
      }
      const step = park({ detail: hit.detail }, 'review', hit.exception);
      await recordStep(parts, row, { ...step, isAnswered: false });
    }
  } catch (error) {
    parts.onError(error);
    await Promise.all(rows.map((row) => putOff(parts, row, error)));
  }
}

/** An answer makes the payout due at once; this is for answers that came during the check. */
function getOpinionWaitMs(tries: number): number {
  return Math.min(2_000 * 2 ** Math.min(Math.max(tries, 1) - 1, 10), 30_000);
}

export async function work(parts: Parts, row: DispatchRow): Promise<void> {
  try {
    await dispatchOne(parts, row);
  } catch (error) {
    parts.onError(error);
    await putOff(parts, row, error);
  }
}

async function dispatchOne(parts: Parts, row: DispatchRow): Promise<void> {
  const { clock, runtimes, endMs } = parts;
  clock.observe(row.now);
  // Another process may have queried the rail by now and be sending the payout again.
  if (clock.steadyMs() >= endMs) throw new Error('the lease ended before the rail was called');
  const runtime = runtimes.get(row.rail);
  const recovered = await findRecovered(parts, runtime, row);
  if (recovered !== undefined) {
    const step = park({ detail: recovered }, 'review', 'recovered');
    await recordStep(parts, row, { ...step, isAnswered: false });
    return;
  }
  const worse = findWorsePrice(parts, runtime, row);
  const answer = worse === undefined ? await callThrough(parts, runtime, row) : priceWorse;
  parts.onAnswer(row.rail, answer.outcome);
  if (parts.holdFor !== undefined && answer.outcome === 'rejected') {
    const hold = park({ detail: parts.holdFor.detail }, 'review', parts.holdFor.exception);
    // Only a PROCESSING payout can be held; any other records the rejection.
    if (await recordStep(parts, row, { ...hold, isAnswered: true })) return;
  }
  const nowMs = clock.nowMs();
  const availableAtMs = row.estimated_availability.getTime();
  const step = planNext(answer, {
    tries: row.tries,
    unknownSinceMs: row.unknown_since?.getTime(),
    firstTriedAtMs: row.first_tried_at?.getTime(),
    availableAtMs,
    nowMs,
    sendsNotifications: runtime?.sendsNotifications === true,
  });
  const isApplied = await recordStep(parts, row, {
    ...(await failOverRefused(parts, row, {
      step,
      worse: worse ?? describeRefusedPrice(answer, row),
    })),
    isAnswered: true,
  });
  if (worse === undefined && step.reason === 'price_worse') {
    await parts.requestPrices?.(row.rail).catch(parts.onError);
  }
  // A price that was refused here says nothing about the payer's answers.
  if (!isApplied || worse !== undefined) return;
  parts.measurements.count(
    { rail: row.rail, payerKey: row.payer_key },
    {
      outcome: answer.outcome,
      reason: 'reason' in answer ? answer.reason : undefined,
      nowMs,
      availableAtMs,
    },
  );
}

/** Why a payout must not be sent: after a restore, a rail listed a payment that may be this one. */
async function findRecovered(
  { db, keys }: Parts,
  runtime: RailRuntime | undefined,
  row: DispatchRow,
): Promise<string | undefined> {
  if (row.mode === 'elsewhere') return 'another rail listed a payment with this reference';
  const mayBeTwin = row.mode === 'send' && row.delivery_type === 'CRYPTOCURRENCY';
  if (!mayBeTwin || runtime?.rail.recover === undefined) return undefined;
  const instruction = readInstruction(keys, row, runtime.encoding);
  const payout = { accountId: row.account_id, payoutId: row.payout_id, rail: row.rail };
  const twin = await findRecoveredTwin(db, payout, instruction);
  return twin === undefined ? undefined : `the rail listed a payment to the same address: ${twin}`;
}

/** What the payer asked where it refused the price by itself; undefined where it does not say it. */
function describeRefusedPrice(answer: RailAnswer, row: DispatchRow): string | undefined {
  if (answer.outcome !== 'rejected' || answer.asked === undefined) return undefined;
  const { provider_price: text, destination_amount: destinationMinor } = row;
  const quoted = text === null ? undefined : readProviderPrice(text);
  return describeAskedPrice(answer.asked, quoted, destinationMinor);
}

const priceWorse: RailAnswer = { outcome: 'rejected', reason: 'price_worse' };

/**
 * Why the payer's price is too much worse than the one that the payout was quoted with. Nothing was sent
 * then, which is what a rejection by the rail states. A rail compares again when it orders.
 */
function findWorsePrice(
  { fullRouter, isCancelling }: Parts,
  runtime: RailRuntime | undefined,
  row: DispatchRow,
): string | undefined {
  const { mode, provider_price: text, destination_amount: destinationMinor } = row;
  if (isCancelling || mode !== 'send' || text === null) return undefined;
  if (runtime?.rail.readPrices === undefined) return undefined;
  const token = getDestinationToken(row.rail, row.payer_key);
  const offer = fullRouter.catalog().findPayer(token)?.offer;
  if (offer === undefined) return undefined;
  const quoted = readProviderPrice(text);
  const present = findLatestPrice(offer, quoted);
  const { bearBasisPoints } = offer.rules;
  return present && describeWorsePrice(present, quoted, { destinationMinor, bearBasisPoints });
}

async function callThrough(
  parts: Parts,
  runtime: RailRuntime | undefined,
  row: DispatchRow,
): Promise<RailAnswer> {
  const { db, keys, clock, onError, travelRules, isCancelling } = parts;
  // The claim stored the attempt, and nothing was sent.
  if (isCancelling && row.mode === 'send') return { outcome: 'rejected', reason: 'cancelled' };
  const target = {
    rail: runtime?.rail,
    encoding: runtime?.encoding ?? 'digits',
    isCancelling,
    isStopped: parts.stopped.has(row.payout_id),
  } as const;
  const { callMsMax } = parts.times;
  let answer: RailAnswer = { outcome: 'unknown', reason: 'payer_error' };
  // The first query after the sending is no repetition.
  const call = runtime?.gate.begin(row.tries > 1);
  try {
    const named = { rail: row.rail, mode: isCancelling ? 'cancel' : row.mode };
    const isLeaseOver = () => clock.steadyMs() >= parts.endMs;
    const services = {
      db,
      keys,
      callMsMax,
      isLeaseOver,
      nowMs: clock.nowMs,
      onError,
      travelRules,
    };
    answer = await traceRailCall(db.tracing, named, () => callRail(services, target, row));
  } finally {
    if (call !== undefined) runtime?.gate.end(call, answer);
  }
  return answer;
}

/**
 * A rejection by a payer of a dynamic destination moves the payout to the next payer. `worse`: the price
 * that was refused before it was called, or by the payer.
 */
async function failOverRefused(
  parts: Parts,
  row: DispatchRow,
  { step, worse }: { step: NextStep; worse: string | undefined },
): Promise<NextStep> {
  if (step.outcome !== 'rejected' || parts.isCancelling) return step;
  const payout = nameStored(parts, row);
  const routed = await failOver(parts.fullRouter, {
    row,
    payout,
    reason: step.reason,
    detail: worse ?? step.details?.detail,
    listTried: () => listTriedPayers(parts.db.system, payout),
  });
  return routed === undefined
    ? step
    : { ...step, ...routed, details: { ...step.details, ...routed.details } };
}

const nameStored = ({ db }: Pick<Parts, 'db'>, row: DispatchRow): StoredPayout => ({
  session: db.system,
  accountId: row.account_id,
  payoutId: row.payout_id,
});

/**
 * Another transaction held the account's row for longer than a statement waits, or no connection became
 * free in time: nothing is wrong with the payout. A process that lacks a key is at fault, and waiting does
 * not end that.
 */
export function isDatabaseBusy(error: unknown): boolean {
  if (error instanceof MissingMasterKey || error instanceof IndexKeyUnheld) return false;
  if (error instanceof AppError) return error.code === 'unavailable';
  return findSqlState(error) === lockNotAvailable;
}

const lockNotAvailable = '55P03';
const busyWaitMs = 1000;
/** Some refusals come at once, and must not keep this process from everything else. */
const recordAgainMs = 20;

/** Retries while the database is busy and the lease lasts. */
async function recordWhileClaimed(parts: Parts, observation: Observation): Promise<boolean> {
  for (;;) {
    try {
      return await parts.record(observation);
    } catch (error) {
      if (!isDatabaseBusy(error) || parts.clock.steadyMs() >= parts.endMs) throw error;
      await sleep(recordAgainMs);
    }
  }
}

async function recordStep(
  parts: Parts,
  row: DispatchRow,
  step: NextStep & { isAnswered: boolean },
): Promise<boolean> {
  const route = step.isAnswered ? await describeRoute(parts, row) : undefined;
  return recordWhileClaimed(parts, {
    accountId: row.account_id,
    payoutId: row.payout_id,
    rail: row.rail,
    observationId: newId(),
    source: row.mode === 'query' ? 'query' : 'send',
    outcome: step.outcome,
    reason: formatReason(step.reason),
    fence: row.fence,
    dueAt: step.dueAtMs === undefined ? undefined : new Date(step.dueAtMs),
    details: { reference: row.reference, ...route, ...step.details },
  });
}

/**
 * The payer's standing, which many payouts share; with the first attempt of a dynamic destination also
 * the candidates.
 */
async function describeRoute(
  { db, fullRouter, measurements }: Parts,
  row: DispatchRow,
): Promise<Pick<ObservationDetails, 'standing' | 'first_routing'> | undefined> {
  if (row.mode !== 'send') return undefined;
  const route = { rail: row.rail, payerKey: row.payer_key };
  const isFirst = row.attempt_count === 0;
  const first = isFirst
    ? { payout: nameStored({ db }, row), terms: describeTerms(row) }
    : undefined;
  const evaluated = await evaluateRoute(fullRouter, route, first);
  if (evaluated === undefined) return undefined;
  const { payer, candidates } = evaluated;
  const standing = await measurements.storeStanding(payer, evaluated.standing);
  if (candidates.length === 0) return { standing };
  return { standing, first_routing: JSON.stringify({ refused_because: '', candidates }) };
}

/** Postpones a payout whose work failed, so that it does not affect others. */
async function putOff(parts: Parts, row: DispatchRow, failure: unknown): Promise<void> {
  try {
    const isFault = !isDatabaseBusy(failure);
    const waitMs = isFault ? getBackOffMs(row.tries) : busyWaitMs;
    const faults = await postponeDispatch(parts.db.system, { ...row, waitMs, isFault });
    if (!isFault) return;
    if (faults === undefined || faults < faultsMax) return;
    // Only a payout that was still to be checked has certainly not been sent.
    const step: NextStep =
      row.mode === 'check'
        ? park(undefined, 'review', 'parked')
        : {
            outcome: 'hold',
            reason: 'review',
            dueAtMs: parts.clock.nowMs() + waitMs,
            details: { exception: 'parked' },
          };
    await recordStep(parts, row, { ...step, isAnswered: false });
  } catch (error) {
    // The lease ends by itself.
    parts.onError(error);
  }
}
