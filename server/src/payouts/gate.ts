import type { Rail, RailAnswer } from '../rails/contract.ts';

/**
 * How much a rail is asked for at present, by this process: so many calls at once, so many begun in
 * a second, and next to none while it fails. A rail that hangs or cannot be reached takes nothing
 * from the others.
 */
export type Gate = {
  /** How many more calls may begin now. */
  room(): number;
  begin(): void;
  end(answer: RailAnswer): void;
  health(): Health;
  /** How long nothing begins here, as far as is known; 0: there is room or will be soon. */
  closedForMs(): number;
};

/** `down`: left alone but for a call now and then that finds out whether it is back. */
export type Health = 'up' | 'degraded' | 'down';

const failuresMaxUsual = 10;
const closedFirstMs = 1_000;
const closedMaxMs = 60_000;

/** What says that the counterpart is not there or not well, rather than something of the payment. */
const failureReasons = new Set([
  'unreachable',
  'busy',
  'no_answer',
  'not_understood',
  'payer_error',
]);

function isFailure(answer: RailAnswer): boolean {
  const isVague = answer.outcome === 'unknown' || answer.outcome === 'retry';
  return isVague && failureReasons.has(answer.reason);
}

export function createGate(rail: Pick<Rail, 'pace'>, steadyMs: () => number): Gate {
  const { concurrencyMax, perSecondMax, failuresMax = failuresMaxUsual } = rail.pace;
  let underWay = 0;
  let failures = 0;
  let closings = 0;
  let closedUntilMs = Number.NEGATIVE_INFINITY;
  // A second's worth may begin at once; half a call is saved up for the next one.
  let tokens = perSecondMax === null ? Number.POSITIVE_INFINITY : Math.max(1, perSecondMax);
  let filledAtMs = steadyMs();
  const fill = (): void => {
    if (perSecondMax === null) return;
    const nowMs = steadyMs();
    const gained = ((nowMs - filledAtMs) / 1000) * perSecondMax;
    tokens = Math.min(Math.max(1, perSecondMax), tokens + gained);
    filledAtMs = nowMs;
  };
  const isTripped = (): boolean => failures >= failuresMax;
  return {
    room: () => {
      fill();
      // One call at a time finds out whether it is back.
      const most = isTripped() ? (steadyMs() < closedUntilMs ? 0 : 1) : concurrencyMax;
      return Math.max(0, Math.min(most - underWay, Math.floor(tokens)));
    },
    begin: () => {
      underWay += 1;
      tokens -= 1;
    },
    end: (answer) => {
      underWay -= 1;
      if (!isFailure(answer)) {
        failures = 0;
        closings = 0;
        return;
      }
      failures += 1;
      if (!isTripped()) return;
      closedUntilMs = steadyMs() + Math.min(closedMaxMs, closedFirstMs * 2 ** closings);
      closings = Math.min(closings + 1, 20);
    },
    health: () => {
      if (isTripped()) return 'down';
      return failures * 2 >= failuresMax && failures > 0 ? 'degraded' : 'up';
    },
    closedForMs: () => (isTripped() ? Math.max(0, closedUntilMs - steadyMs()) : 0),
  };
}
