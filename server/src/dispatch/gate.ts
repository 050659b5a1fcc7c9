import type { Rail, RailAnswer } from '../rails/contract/contract.ts';

/**
 * Bounds what this process asks of one rail: a concurrency limit, a rate limit, and a circuit breaker.
 * A rail that hangs or cannot be reached takes nothing from the others.
 *
 * The breaker opens after `failuresMax` calls in a row without a clear answer. A reference that failed
 * before does not count again: it backs off by itself and says nothing new about the counterpart.
 * After a wait, which doubles once for each round of failed probes, up to half of the rail's
 * concurrency may probe; the first clear answer closes the breaker. For a minute after it opened,
 * `isRecovering` asks the dispatcher to choose among what is due at random, so that healthy payouts do not
 * queue behind references that hang.
 */
export type Gate = {
  /** How many more calls may begin now. */
  room(): number;
  /** `isRepeat`: the last call for this reference failed as well. */
  begin(isRepeat: boolean): GateCall;
  end(call: GateCall, answer: RailAnswer): void;
  health(): Health;
  /** How long nothing begins here, as far as is known; 0: there is room or will be soon. */
  closedForMs(): number;
  isRecovering(): boolean;
};

/** A call under way: `round` counts how often the breaker has opened or closed before it began. */
export type GateCall = { readonly round: number; readonly isRepeat: boolean };

/** `down`: left alone but for probes that find out whether it is back. */
export type Health = 'up' | 'degraded' | 'down';

const failuresMaxUsual = 10;
const closedFirstMs = 1_000;
const closedMaxMs = 60_000;
/** A counterpart may ask to be left alone for longer than our own back-off, up to this. */
const retryAfterMsMax = 15 * 60_000;
const recoveringMs = 60_000;

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
  const probesMax = Math.max(1, Math.floor(concurrencyMax / 2));
  const bucket = createBucket(perSecondMax, steadyMs);
  let underWay = 0;
  let probing = 0;
  let failures = 0;
  let closings = 0;
  let round = 0;
  let isOpen = false;
  let closedUntilMs = Number.NEGATIVE_INFINITY;
  let recoveringUntilMs = Number.NEGATIVE_INFINITY;
  const open = (waitMs: number): void => {
    const nowMs = steadyMs();
    isOpen = true;
    round += 1;
    probing = 0;
    closedUntilMs = Math.max(closedUntilMs, nowMs + waitMs);
    recoveringUntilMs = closedUntilMs + recoveringMs;
  };
  const fail = (call: GateCall): void => {
    if (!isOpen) {
      failures += call.isRepeat ? 0 : 1;
      if (failures < failuresMax) return;
    } else if (call.round !== round) {
      // It began before the breaker opened, and tells nothing new.
      return;
    }
    open(Math.min(closedMaxMs, closedFirstMs * 2 ** closings));
    closings = Math.min(closings + 1, 20);
  };
  return {
    room: () => {
      const free = concurrencyMax - underWay;
      const most = !isOpen ? free : steadyMs() < closedUntilMs ? 0 : probesMax - probing;
      return Math.max(0, Math.min(most, free, bucket.left()));
    },
    begin: (isRepeat) => {
      underWay += 1;
      if (isOpen) probing += 1;
      bucket.take();
      return { round, isRepeat };
    },
    end: (call, answer) => {
      underWay -= 1;
      if (isOpen && call.round === round) probing -= 1;
      if (isFailure(answer)) {
        fail(call);
        const { retryAfterMs = 0 } = answer;
        if (retryAfterMs > 0) open(Math.min(retryAfterMs, retryAfterMsMax));
        return;
      }
      if (isOpen) round += 1;
      isOpen = false;
      failures = 0;
      closings = 0;
    },
    health: () => {
      if (isOpen) return 'down';
      return failures * 2 >= failuresMax && failures > 0 ? 'degraded' : 'up';
    },
    closedForMs: () => (isOpen ? Math.max(0, closedUntilMs - steadyMs()) : 0),
    isRecovering: () => steadyMs() < recoveringUntilMs,
  };
}

/** A second's worth may begin at once; half a call is saved up for the next one. */
function createBucket(perSecondMax: number | null, steadyMs: () => number) {
  if (perSecondMax === null) {
    return { left: () => Number.POSITIVE_INFINITY, take: () => undefined };
  }
  const most = Math.max(1, perSecondMax);
  let tokens = most;
  let filledAtMs = steadyMs();
  return {
    left: () => {
      const nowMs = steadyMs();
      tokens = Math.min(most, tokens + ((nowMs - filledAtMs) / 1000) * perSecondMax);
      filledAtMs = nowMs;
      return Math.floor(tokens);
    },
    take: () => {
      tokens -= 1;
    },
  };
}
