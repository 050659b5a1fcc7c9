import { setTimeout as sleep } from 'node:timers/promises';
import { expireApprovals, findNextExpiry } from '../approvals/approvals.ts';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { EnvironmentClock } from '../db/environment-clock.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import {
  applyObservation,
  type Dispatcher,
  findNextDue,
  type ObservationLog,
} from '../dispatch/dispatch.ts';
import type { Scheduler } from '../payouts/scheduler.ts';
import { pickupDaysMax, type ScriptedOutcome } from '../rails/sandbox/rail.ts';
import {
  findClockTarget,
  findSandboxPayout,
  lockClock,
  moveClock,
  openMonthsAhead,
  setClockTarget,
  storeScript,
} from './sandbox.sql.ts';

export { findScript } from './sandbox.sql.ts';

/** The control of the simulated network and clock by clients of staging. */

export type ClockServices = {
  db: Database;
  clock: EnvironmentClock;
  dispatcher: Dispatcher;
  scheduler: Scheduler;
  /** Clears what this process has cached under the old time. */
  forget: () => void;
};

/** After this many stops the rest is one step, which bounds the time of the request. */
const stopsMax = 200;

const dayMs = 86_400_000;

/**
 * Sets the target of the environment's clock and returns it. Concurrent moves add up. The caller then
 * calls `followClock`. All accounts share the clock and it cannot be moved back, so it must stay
 * within `daysMax` of real time.
 *
 * @throws AppError clock_backwards, invalid_request.
 */
export async function aimClock(
  session: Session,
  move: { advanceMs: number } | { toMs: number },
  daysMax: number,
): Promise<Date> {
  const { target, real } = await lockClock(session);
  const toMs = 'toMs' in move ? move.toMs : target.getTime() + move.advanceMs;
  if (toMs < target.getTime()) {
    throw new AppError('clock_backwards', `the clock is already at ${target.toISOString()}`);
  }
  const latestMs = real.getTime() + daysMax * dayMs;
  if (toMs > latestMs && toMs > target.getTime()) {
    const detail =
      `the clock must stay within ${daysMax} days of real time: ` +
      `it is at ${target.toISOString()} and can move to ${new Date(latestMs).toISOString()} at most`;
    throw new AppError('invalid_request', detail, {
      faults: [{ pointer: 'toMs' in move ? '/to' : '/advance_s', code: 'too_late', detail }],
    });
  }
  const to = new Date(toMs);
  await setClockTarget(session, to);
  return to;
}

/**
 * Moves the clock to its target. It stops at each instant at which a payout is due or an approval
 * expires, so that events have their own time; at the end no payout is due.
 */
export async function followClock(services: ClockServices): Promise<void> {
  const { db, clock } = services;
  const goTo = createClockMover(services);
  await drain(services);
  let { target } = await findClockTarget(db.system);
  for (let stops = 0; stops < stopsMax; stops += 1) {
    const stop = await findNextStop(services, target);
    if (stop === undefined) break;
    target = await goTo(stop.at);
    await drain(services, stop);
  }
  await goTo(undefined);
  await drain(services);
  // Until then other processes may use the old time.
  await sleep(clock.cacheMs);
}

/** Returns a function that moves the clock to an instant, or to the target, and returns the target. */
function createClockMover({ db, clock, forget }: ClockServices) {
  let openedMonth = '';
  return async (to: Date | undefined): Promise<Date> => {
    const month = to?.toISOString().slice(0, 'YYYY-MM'.length) ?? '';
    // Stops are often minutes apart.
    if (to === undefined || month !== openedMonth) await openMonthsAhead(db.system, to);
    openedMonth = month;
    const { now, target } = await moveClock(db.system, to);
    clock.observe(now);
    forget();
    return target;
  };
}

type Stop = {
  readonly at: Date;
  readonly expiresApprovals: boolean;
  readonly runsSchedules: boolean;
};

/** The next instant up to the target at which something is due, and what may be. */
async function findNextStop(
  { db, dispatcher, scheduler }: ClockServices,
  target: Date,
): Promise<Stop | undefined> {
  const dispatch = await findNextDue(db.system, dispatcher.railNames, target);
  const schedule = await scheduler.findNextDue(target);
  const expiry = await findNextExpiry(db.system, target);
  const instants = [dispatch, schedule.dueAt, expiry].filter((at) => at !== undefined);
  if (instants.length === 0) return undefined;
  const at = new Date(Math.min(...instants.map((instant) => instant.getTime())));
  const isReached = (instant: Date | undefined): boolean => instant !== undefined && instant <= at;
  const expiresApprovals = isReached(expiry);
  return {
    at,
    expiresApprovals,
    // An expired approval returns money, for which scheduled payouts may wait.
    runsSchedules: expiresApprovals || schedule.isDue || isReached(schedule.dueAt),
  };
}

/** Does everything that is due now, or at a stop what may be due there. */
async function drain(
  { db, dispatcher, scheduler }: ClockServices,
  { expiresApprovals, runsSchedules }: Omit<Stop, 'at'> = everything,
): Promise<void> {
  if (expiresApprovals) await expireApprovals(db.system);
  if (runsSchedules) await scheduler.drain();
  await dispatcher.drain();
}

const everything = { expiresApprovals: true, runsSchedules: true };

/** Completes a move that a crash interrupted. */
export async function resumeClock(services: ClockServices): Promise<void> {
  const { is_ahead: isAhead } = await findClockTarget(services.db.system);
  if (isAhead) await followClock(services);
}

const observedOutcomes = {
  ready_for_pickup: 'ready_for_pickup',
  completed: 'paid',
  rejected: 'rejected',
  returned: 'returned',
  unknown: 'unknown',
} as const satisfies Record<ScriptedOutcome, string>;

const pickupTypes = new Set(['CASH_PICKUP', 'PAPER_CHECK']);
/** The time until the first query of an unknown outcome. */
const unknownCheckMs = 60_000;

/**
 * Makes the simulated network report an outcome of a payout, in the same way as its own reports.
 *
 * @throws AppError not_found, illegal_move.
 */
export async function scriptPayout(
  { session, keys }: ObservationLog,
  script: { accountId: string; payoutId: string; outcome: ScriptedOutcome; nowMs: number },
): Promise<void> {
  const { accountId, payoutId, outcome, nowMs } = script;
  const payout = await findSandboxPayout(session, { accountId, payoutId });
  if (payout === undefined) throw new AppError('not_found', 'Payout not found');
  const illegal = new AppError(
    'illegal_move',
    `a ${payout.delivery_type} payout that is ${payout.status} cannot become ${outcome}`,
  );
  // The network would accept a return before a payment, but the client's request is a mistake.
  if (outcome === 'returned' && payout.status !== 'COMPLETED') throw illegal;
  if (outcome === 'ready_for_pickup' && !pickupTypes.has(payout.delivery_type)) throw illegal;
  await storeScript(session, { accountId, payoutId, outcome });
  const result = await applyObservation(
    { session, keys },
    {
      accountId,
      payoutId,
      rail: undefined,
      observationId: newId(),
      source: 'sandbox',
      outcome: observedOutcomes[outcome],
      reason: reasonOf(outcome),
      fence: undefined,
      dueAt: findDueAt(outcome, payout.estimated_availability, nowMs),
      details: undefined,
    },
  );
  if (result !== 'applied') throw illegal;
}

function reasonOf(outcome: ScriptedOutcome): string {
  switch (outcome) {
    case 'rejected':
      return 'rejected by the sandbox';
    case 'returned':
      return 'returned by the sandbox';
    case 'unknown':
      return 'the sandbox gave no clear answer';
    case 'completed':
    case 'ready_for_pickup':
      return '';
  }
}

function findDueAt(outcome: ScriptedOutcome, availableAt: Date, nowMs: number): Date | undefined {
  if (outcome === 'ready_for_pickup')
    return new Date(availableAt.getTime() + pickupDaysMax * dayMs);
  return outcome === 'unknown' ? new Date(nowMs + unknownCheckMs) : undefined;
}
