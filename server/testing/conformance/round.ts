import { setTimeout as sleep } from 'node:timers/promises';
import type { CallbackMessage, RailHost } from '../../src/rails/contract/contract.ts';
import type { Checks } from './checks.ts';
import type { CallbackAnswer, CallbackServer, FileCourier } from './delivery.ts';
import { type Caller, type Driver, isEnded, isHostError, type Payment } from './driver.ts';
import type { ConformanceSubject, Counterparty } from './subject.ts';

/** What the service and the counterparty do in turn until the payments have ended. */

/** What surrounds an instance of a rail. */
export type RunContext<Config> = {
  readonly subject: ConformanceSubject<Config>;
  readonly driver: Driver;
  readonly counterparty: Counterparty;
  readonly callbackServer: CallbackServer;
  readonly fileCourier: FileCourier | undefined;
  readonly time: Time;
  nowMs(): number;
};

export type Time = {
  /** How far the clock is ahead of real time. */
  aheadMs: number;
  /** When the next pass is due: 0 at once. */
  workDueMs: number;
  /** How many callbacks were held back in the round before. */
  heldCount: number;
};

export const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const pollMs = 20;
const roundsMax = 5_000;
/** Of a payment that does not end. A machine that others use may need a minute for one that does. */
const untilMsMax = 4 * minuteMs;
const lingerRounds = 3;

/** Whether a payment has its expected outcome, or was definitely refused. */
export function hasExpectedOutcome(payment: Payment): boolean {
  return isEnded(payment) || (payment.expectedOutcome === 'paid' && payment.standing === 'paid');
}

/** Rounds until the payments have their expected or another final outcome. */
export async function drive<Config>(
  runContext: RunContext<Config>,
  caller: Caller,
  payments: readonly Payment[],
): Promise<'ended' | 'gone'> {
  const untilMs = performance.now() + (runContext.subject.timeoutMs ?? untilMsMax);
  for (let round = 0; round < roundsMax && performance.now() < untilMs; round += 1) {
    if (payments.every(hasExpectedOutcome)) return 'ended';
    if (!(await runRound(runContext, caller, payments))) return 'gone';
  }
  const stuck = payments.find((payment) => !hasExpectedOutcome(payment));
  const story = stuck?.history.slice(-12).join(', ');
  throw new Error(
    `expected ${stuck?.expectedOutcome}, is ${stuck?.standing} and does not end: ${story}`,
  );
}

/** A few more rounds, in which a second payment would show. */
export async function runExtraRounds<Config>(
  runContext: RunContext<Config>,
  caller: Caller,
): Promise<void> {
  for (let round = 0; round < lingerRounds; round += 1) {
    runContext.time.workDueMs = 0;
    const sent = runContext.driver.payments.filter(({ attempt }) => attempt !== 'none');
    await runRound(runContext, caller, sent);
  }
}

/** One round, and the time until the next one; false where the instance is gone. */
export async function runRound<Config>(
  runContext: RunContext<Config>,
  caller: Caller,
  payments: readonly Payment[],
): Promise<boolean> {
  const { subject, driver, counterparty, callbackServer, fileCourier, time, nowMs } = runContext;
  const isReal = subject.clock === 'real';
  await counterparty.advance?.(nowMs());
  // Held callbacks are released when no more arrive.
  const isQuiet = callbackServer.held > 0 && callbackServer.held === time.heldCount;
  time.heldCount = callbackServer.held;
  if (isQuiet) await callbackServer.release();
  await fileCourier?.carry(true);
  if (caller.rail.work === undefined) time.workDueMs = Infinity;
  else if (isReal || nowMs() >= time.workDueMs) {
    if ((await runWork(runContext, caller)) === 'gone') return false;
  }
  for (const payment of payments) {
    const { dueAtMs } = payment;
    if (caller.processRun.isGone) return false;
    if (isEnded(payment) || dueAtMs === undefined) continue;
    if (isReal || dueAtMs <= nowMs()) await driver.callNext(payment, caller);
  }
  if (caller.processRun.isGone) return false;
  await passTime(runContext, payments);
  return true;
}

/** One pass, and when the next one is due. The service logs what it throws, and tries again. */
async function runWork<Config>(
  { subject, time, nowMs }: RunContext<Config>,
  { rail, processRun, pending }: Caller,
): Promise<'done' | 'gone'> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), 4 * (subject.callMsMax ?? 1500));
  const { promise: tooLong, resolve } = Promise.withResolvers<'late'>();
  const patience = setTimeout(resolve, subject.timeoutMs ?? minuteMs, 'late' as const);
  // `wake` sets it to 0 meanwhile, which takes precedence.
  time.workDueMs = -1;
  try {
    const work = async (): Promise<number | undefined> =>
      rail.work?.({ signal: controller.signal });
    const pass = work()
      .catch(() => undefined)
      .finally(() => pending.delete(pass));
    pending.add(pass);
    const dueMs = await Promise.race([pass, processRun.gone, tooLong]);
    if (dueMs === 'gone') return 'gone';
    if (dueMs === 'late') throw new Error('a pass of work does not end when it is aborted');
    const nextMs = dueMs ?? nowMs() + (rail.workIdleMs ?? minuteMs);
    if (time.workDueMs !== 0) time.workDueMs = Math.max(nextMs, nowMs() + 1);
    return 'done';
  } finally {
    clearTimeout(timer);
    clearTimeout(patience);
  }
}

/** Moves the clock to what is due next; waits a moment where the clock is real. */
async function passTime<Config>(
  { subject, time, nowMs }: RunContext<Config>,
  payments: readonly Payment[],
): Promise<void> {
  if (subject.clock === 'real') {
    await sleep(pollMs);
    return;
  }
  const dues = payments
    .filter((payment) => !isEnded(payment))
    .map(({ dueAtMs }) => dueAtMs ?? Infinity);
  const nextMs = Math.min(time.workDueMs, ...dues);
  const waitMs = Number.isFinite(nextMs) ? nextMs - nowMs() : hourMs;
  time.aheadMs += Math.min(Math.max(waitMs, 0), dayMs);
}

/** What the service's callback route does; status 0 where the process died meanwhile. */
export async function handleCallback(
  caller: Caller | undefined,
  message: CallbackMessage,
  { base, checks }: { base: RailHost; checks: Checks },
): Promise<CallbackAnswer> {
  const answer = (status: number): CallbackAnswer => ({ status, headers: {}, body: '' });
  if (caller === undefined || caller.processRun.isGone) return answer(0);
  const { rail, processRun } = caller;
  if (rail.readCallback === undefined) return answer(404);
  const read = rail.readCallback(message).catch((error: unknown) => {
    if (!isHostError(error)) checks.addThrown('readCallback', error);
    return 'failed' as const;
  });
  const reading = await Promise.race([read, processRun.gone]);
  if (reading === 'gone') return answer(0);
  if (reading === 'failed') return answer(500);
  if (reading.kind !== 'accepted') {
    checks.readText('the detail of a refused callback', reading.detail);
    return answer(reading.kind === 'refused' ? 401 : 400);
  }
  checks.readMessage(reading.message, 'callback');
  const received = processRun
    .step(() => base.receive(reading.message))
    .catch(() => 'failed' as const);
  const kept = await Promise.race([received, processRun.gone]);
  if (kept === 'gone') return answer(0);
  if (kept === 'failed') return answer(500);
  return reading.answer ?? answer(200);
}

export async function settle(
  pending: ReadonlySet<Promise<unknown>>,
  timeMs: number,
): Promise<boolean> {
  const patience = new AbortController();
  const late = sleep(timeMs, false, patience).catch(() => false);
  const isSettled = await Promise.race([Promise.allSettled(pending).then(() => true), late]);
  patience.abort();
  return isSettled;
}
