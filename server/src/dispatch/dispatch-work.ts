import type { EnvironmentName } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { KeyRing } from '../core/sealing.ts';
import { createBatcher, held } from '../db/batcher.ts';
import type { EnvironmentClock } from '../db/environment-clock.ts';
import { placeByOrdinal } from '../db/ordinals.ts';
import { type Database, findSqlState } from '../db/postgres/pool.ts';
import type { Rail, RailAnswer } from '../rails/contract/contract.ts';
import { type DispatchRow, listTriedPayers, passChecks, postponeDispatch } from './dispatch.sql.ts';
import { describeTerms, failOver } from './failover.ts';
import { formatReason, getBackOffMs, type NextStep, park, planNext } from './next-step.ts';
import {
  type ApplyResult,
  applyObservation,
  applyObservations,
  type Observation,
  type ObservationDetails,
} from './observations.sql.ts';
import { callRail, readInstruction } from './rail-call.ts';
import type { RailRuntime } from './rail-runtimes.ts';
import { findRecoveredTwin } from './recovery.ts';
import { describeNamed, describeStanding, findRoutePayer, type RouterServices } from './routing.ts';
import type { SendMarker } from './send-marker.ts';
import type { Measurements } from './standings.ts';

/** What is done with one claimed payout: the check, the call of its rail, and what follows from it. */

export type DispatchServices = {
  db: Database;
  keys: KeyRing;
  clock: EnvironmentClock;
  rails: ReadonlyMap<string, Rail>;
  /** Everything by which another payer may be found, and the present one judged. */
  router: Omit<RouterServices, 'healthOf' | 'arePayersApart'>;
  measurements: Measurements;
  /** What must let a payout pass before it is sent for the first time; undefined: nothing. */
  rules: Rules | undefined;
  /** Marks outside of the database that something is sent from now on. */
  marker?: Pick<SendMarker, 'advance'>;
  /** Told of every answer of a rail, and of what could not be done. */
  onAnswer: (rail: string, outcome: string) => void;
  onError: (error: unknown) => void;
  times: DispatchTimes;
};

/** Judges payouts before anything of them is sent. */
export type Rules = {
  /** In the order of the rows; the kind of exception that asks a person, or undefined: it passes. */
  check(rows: readonly DispatchRow[]): Promise<readonly (RuleHit | undefined)[]>;
};
export type RuleHit = { exception: 'screening' | 'velocity'; detail: string };

export type DispatchTimes = {
  /** How long a claim is its process's own; what a dead process held is free after it. */
  leaseMs: number;
  /** Shorter than the lease: the answer of a call that took longer would be refused anyway. */
  callMsMax: number;
};

/** In staging a moved clock waits for the leases of the dead, and no call takes long. */
export const dispatchTimes: Readonly<Record<EnvironmentName, DispatchTimes>> = {
  staging: { leaseMs: 5_000, callMsMax: 4_000 },
  live: { leaseMs: 60_000, callMsMax: 45_000 },
};

/** A payout that fails so often for reasons of ours is put before a person. */
const faultsMax = 8;

export type Parts = DispatchServices & {
  lines: ReadonlyMap<string, RailRuntime>;
  fullRouter: RouterServices;
  /** Answers whether it had an effect. */
  record: (observation: Observation) => Promise<boolean>;
  /** Instead of sending, or of asking where it stands. */
  isCancelling: boolean;
  holdFor?: RuleHit | undefined;
  /** When the claim is over, by the steady clock: only before it an answer may be recorded. */
  endMs: number;
};

/** Applies what rails answered, in groups. */
export function createRecorder(db: Database): (observation: Observation) => Promise<boolean> {
  const group = createBatcher<Observation, ApplyResult | undefined>({
    db,
    accountOf: ({ accountId }) => accountId,
    keyOf: ({ payoutId }) => payoutId,
    run: async (session, observations, mayWait) => {
      const rows = await applyObservations(session, observations, mayWait);
      return placeByOrdinal(observations, rows, ({ result }) =>
        result === 'held' ? held : result,
      );
    },
  });
  return async (observation) => {
    const result = await group.submit(observation);
    return (result ?? (await applyObservation(db.system, observation))) === 'applied';
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
      const step = park({ detail: hit.detail }, 'review', hit.exception);
      await recordStep(parts, row, { ...step, isTold: false });
    }
  } catch (error) {
    // Nothing is sent that was not checked.
    parts.onError(error);
    await Promise.all(rows.map((row) => putOff(parts, row, error)));
  }
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
  const { clock, lines, endMs } = parts;
  clock.observe(row.now);
  // Somebody else may have asked its rail by now, heard that nothing was sent, and be sending it.
  if (clock.steadyMs() >= endMs) throw new Error('a claim was over before its rail was called');
  const line = lines.get(row.rail);
  const recovered = await findRecovered(parts, line, row);
  if (recovered !== undefined) {
    const step = park({ detail: recovered }, 'review', 'recovered');
    await recordStep(parts, row, { ...step, isTold: false });
    return;
  }
  const answer = await callThrough(parts, line, row);
  parts.onAnswer(row.rail, answer.outcome);
  if (parts.holdFor !== undefined && answer.outcome === 'rejected') {
    const hold = park({ detail: parts.holdFor.detail }, 'review', parts.holdFor.exception);
    // Only what is PROCESSING can be held; the rest is recorded as it was answered.
    if (await recordStep(parts, row, { ...hold, isTold: true })) return;
  }
  const nowMs = clock.nowMs();
  const availableAtMs = row.estimated_availability.getTime();
  const step = planNext(answer, {
    tries: row.tries,
    unknownSinceMs: row.unknown_since?.getTime(),
    firstTriedAtMs: row.first_tried_at?.getTime(),
    availableAtMs,
    nowMs,
    sendsNotifications: line?.sendsNotifications === true,
  });
  const isApplied = await recordStep(parts, row, {
    ...(await goOn(parts, row, step)),
    isTold: true,
  });
  if (!isApplied) return;
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

/** Why a payout must not be sent: a rail had listed a payment after a restore that may be this one. */
async function findRecovered(
  { db, keys }: Parts,
  line: RailRuntime | undefined,
  row: DispatchRow,
): Promise<string | undefined> {
  if (row.mode === 'elsewhere') return 'another rail listed a payment with this reference';
  const mayBeTwin = row.mode === 'send' && row.delivery_type === 'CRYPTOCURRENCY';
  if (!mayBeTwin || line?.rail.recover === undefined) return undefined;
  const instruction = readInstruction(keys, row, line.encoding);
  const payout = { accountId: row.account_id, payoutId: row.payout_id, rail: row.rail };
  const twin = await findRecoveredTwin(db, payout, instruction);
  return twin === undefined ? undefined : `the rail listed a payment to the same address: ${twin}`;
}

async function callThrough(
  parts: Parts,
  line: RailRuntime | undefined,
  row: DispatchRow,
): Promise<RailAnswer> {
  const { db, keys, clock, onError } = parts;
  const { isCancelling } = parts;
  // Its attempt was written just now, and nothing of it has left.
  if (isCancelling && row.mode === 'send') return { outcome: 'rejected', reason: 'cancelled' };
  const target = { rail: line?.rail, encoding: line?.encoding ?? 'digits', isCancelling } as const;
  const { callMsMax } = parts.times;
  let answer: RailAnswer = { outcome: 'unknown', reason: 'payer_error' };
  // The first look at a reference after its sending is no repetition.
  const call = line?.gate.begin(row.tries > 1);
  try {
    answer = await callRail({ db, keys, callMsMax, nowMs: clock.nowMs, onError }, target, row);
  } finally {
    if (call !== undefined) line?.gate.end(call, answer);
  }
  return answer;
}

/** After a definite refusal of a payer of a dynamic destination: to the next one, if there is one. */
async function goOn(parts: Parts, row: DispatchRow, step: NextStep): Promise<NextStep> {
  if (step.outcome !== 'rejected' || parts.isCancelling) return step;
  const routed = await failOver(parts.fullRouter, {
    row,
    reason: step.reason,
    listTried: () =>
      listTriedPayers(parts.db.system, { accountId: row.account_id, payoutId: row.payout_id }),
  });
  return routed === undefined
    ? step
    : { ...step, ...routed, details: { ...step.details, ...routed.details } };
}

/** The account's row is held by somebody else for longer than a statement waits. */
export function isRowHeld(error: unknown): boolean {
  if (error instanceof AppError) return error.code === 'unavailable';
  return findSqlState(error) === lockNotAvailable;
}

const lockNotAvailable = '55P03';
const heldWaitMs = 1000;

/** What a rail answered waits for the account's row as long as the claim lasts. */
async function recordWhileClaimed(parts: Parts, observation: Observation): Promise<boolean> {
  for (;;) {
    try {
      return await parts.record(observation);
    } catch (error) {
      if (!isRowHeld(error) || parts.clock.steadyMs() >= parts.endMs) throw error;
    }
  }
}

async function recordStep(
  parts: Parts,
  row: DispatchRow,
  step: NextStep & { isTold: boolean },
): Promise<boolean> {
  const judged = step.isTold ? await describeJudgement(parts, row) : undefined;
  const details = judged === undefined ? step.details : { ...judged, ...step.details };
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
    details: { reference: row.reference, ...details },
  });
}

/**
 * How the payer stood when it was used, a record that many payouts share; and at the first sending
 * through a dynamic destination, how those stood that could take over.
 */
async function describeJudgement(
  parts: Parts,
  row: DispatchRow,
): Promise<Pick<ObservationDetails, 'standing' | 'first_routing'> | undefined> {
  const { fullRouter, measurements } = parts;
  if (row.mode !== 'send') return undefined;
  const route = { rail: row.rail, payerKey: row.payer_key };
  const payer = findRoutePayer(fullRouter.catalogue(), route);
  if (payer === undefined) return undefined;
  const standing = await measurements.keep(payer, describeStanding(fullRouter, payer));
  const candidates = row.attempt_count === 0 ? describeNamed(fullRouter, describeTerms(row)) : [];
  if (candidates.length === 0) return { standing };
  return { standing, first_routing: JSON.stringify({ refused_because: '', candidates }) };
}

/** One payout's trouble is not its neighbour's, and not the end of its own way. */
async function putOff(parts: Parts, row: DispatchRow, failure: unknown): Promise<void> {
  try {
    const waitMs = isRowHeld(failure) ? heldWaitMs : getBackOffMs(row.tries);
    const faults = await postponeDispatch(parts.db.system, { ...row, waitMs });
    if (faults === undefined || faults < faultsMax) return;
    // It would only go on failing: others need the room, and a person has to look. Only what was
    // not even checked has certainly not been sent.
    const step: NextStep =
      row.mode === 'check'
        ? park(undefined, 'review', 'parked')
        : {
            outcome: 'hold',
            reason: 'review',
            dueAtMs: parts.clock.nowMs() + waitMs,
            details: { exception: 'parked' },
          };
    await recordStep(parts, row, { ...step, isTold: false });
  } catch (error) {
    // Without the database only the lease's own end is left.
    parts.onError(error);
  }
}
