import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { EnvironmentClock } from '../db/environment-clock.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { applyObservation, type Dispatcher, findNextDue } from '../dispatch/dispatch.ts';
import { pickupDaysMax, type ScriptedOutcome } from '../rails/sandbox/rail.ts';
import {
  findClockTarget,
  findSandboxPayout,
  lockClock,
  moveClock,
  setClockTarget,
  storeScript,
} from './sandbox.sql.ts';

export { findScript } from './sandbox.sql.ts';

/** What clients of the staging environment may do to the simulated world. */

export type ClockServices = {
  db: Database;
  clock: EnvironmentClock;
  dispatcher: Dispatcher;
  /** Forgets what this process had read under the old time. */
  forget: () => void;
};

/** Past so many stops the rest of the way is one step: the clock's answer has to come some time. */
const stopsMax = 200;

const dayMs = 86_400_000;

/**
 * Says where the environment's clock shall be, and answers that time. Moves that are asked for at
 * once add up. Whoever asks then calls `followClock`. All accounts share the clock and it cannot be
 * moved back, so it stays within `daysMax` of real time.
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
    throw new AppError('clock_backwards', `the clock shows ${target.toISOString()} already`);
  }
  const latestMs = real.getTime() + daysMax * dayMs;
  if (toMs > latestMs && toMs > target.getTime()) {
    const detail =
      `the clock must stay within ${daysMax} days of real time: ` +
      `it shows ${target.toISOString()} and goes to ${new Date(latestMs).toISOString()} at the latest`;
    throw new AppError('invalid_request', detail, {
      faults: [{ pointer: 'toMs' in move ? '/to' : '/advance_s', code: 'too_late', detail }],
    });
  }
  const to = new Date(toMs);
  await setClockTarget(session, to);
  return to;
}

/**
 * Brings the clock to where it shall be. On the way it stops at each instant at which something is
 * due, so that what happens carries its own time; at the end nothing is due any more.
 */
export async function followClock(services: ClockServices): Promise<void> {
  const { db, clock, dispatcher } = services;
  const goTo = async (to: Date | undefined): Promise<void> => {
    await moveClock(db.system, to);
    await clock.refresh(db.system);
    services.forget();
    await dispatcher.drain();
  };
  await dispatcher.drain();
  for (let stops = 0; stops < stopsMax; stops += 1) {
    const { target } = await findClockTarget(db.system);
    const next = await findNextDue(db.system, dispatcher.railNames, target);
    if (next === undefined) break;
    await goTo(next);
  }
  await goTo(undefined);
  // Until then other processes may believe the old time.
  await sleep(clock.cacheMs);
}

/** Ends a move whose process died on the way. */
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
/** When an outcome that stays unknown is asked about first. */
const unknownCheckMs = 60_000;

/**
 * Lets the simulated network do something with a payout, by the same way as what it says by itself.
 *
 * @throws AppError not_found, illegal_move.
 */
export async function scriptPayout(
  session: Session,
  script: { accountId: string; payoutId: string; outcome: ScriptedOutcome; nowMs: number },
): Promise<void> {
  const { accountId, payoutId, outcome, nowMs } = script;
  const payout = await findSandboxPayout(session, { accountId, payoutId });
  if (payout === undefined) throw new AppError('not_found', 'no such payout');
  const illegal = new AppError(
    'illegal_move',
    `${outcome} cannot follow: the payout is ${payout.status}, by ${payout.delivery_type}`,
  );
  // The network would also take a return before it had paid; a client that asks for it errs.
  if (outcome === 'returned' && payout.status !== 'COMPLETED') throw illegal;
  if (outcome === 'ready_for_pickup' && !pickupTypes.has(payout.delivery_type)) throw illegal;
  await storeScript(session, { accountId, payoutId, outcome });
  const result = await applyObservation(session, {
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
  });
  if (result !== 'applied') throw illegal;
}

function reasonOf(outcome: ScriptedOutcome): string {
  switch (outcome) {
    case 'rejected':
      return 'refused by the sandbox';
    case 'returned':
      return 'sent back by the sandbox';
    case 'unknown':
      return 'the sandbox gives no clear answer';
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
