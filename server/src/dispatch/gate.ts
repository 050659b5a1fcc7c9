import type { Rail, RailAnswer } from '../rails/contract/contract.ts';

/**
 * Limits the calls of this process to one rail: a concurrency limit, a rate limit, and a circuit
 * breaker. A rail that hangs or is unreachable does not affect the others.
 *
 * The breaker opens after `failuresMax` calls in a row without a clear answer. A reference that failed
 * before does not count again: it backs off and gives no new information about the counterparty. After a wait,
 * which doubles with each round of failed probes, up to half of the rail's concurrency may probe; the
 * first clear answer closes the breaker. Until a minute after the wait, `isRecovering` makes the
 * dispatcher claim due payouts in random order, so that healthy ones do not queue behind references
 * that hang.
 */
export type Gate = {
  /** How many more calls may begin now. */
  room(): number;
  /** `isRepeat`: the last call for this reference failed as well. */
  begin(isRepeat: boolean): GateCall;
  end(call: GateCall, answer: RailAnswer): void;
  health(): Health;
  /** How long the breaker lets no call begin; 0 if it does. */
  closedForMs(): number;
  isRecovering(): boolean;
};

/** A call in progress; `round`: how often the breaker had opened or closed when it began. */
export type GateCall = { readonly round: number; readonly isRepeat: boolean };

/** `down`: the breaker is open, and only probes are sent. */
export type Health = 'up' | 'degraded' | 'down';

const failuresMaxUsual = 10;
const closedFirstMs = 1_000;
const closedMaxMs = 60_000;
/** A counterparty may request a longer wait than `closedMaxMs`, up to this. */
const retryAfterMsMax = 15 * 60_000;
const recoveringMs = 60_000;

/** Reasons that lie with the counterparty and not with the payment. */
const failureReasons = new Set([
  'unreachable',
  'busy',
  'no_answer',
  'not_understood',
  'payer_error',
  // It refuses the credentials, or lacks something that every payment needs.
  'not_configured',
]);

function isFailure(answer: RailAnswer): boolean {
  const isVague = answer.outcome === 'unknown' || answer.outcome === 'retry';
  return isVague && failureReasons.has(answer.reason);
}

export function createGate(rail: Pick<Rail, 'pace'>, steadyMs: () => number): Gate {
  const { concurrencyMax, perSecondMax, failuresMax = failuresMaxUsual } = rail.pace;
  const probesMax = Math.max(1, Math.floor(concurrencyMax / 2));
  const bucket = createBucket(perSecondMax, steadyMs);
  let inProgress = 0;
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
      // The call began before the breaker opened.
      return;
    }
    open(Math.min(closedMaxMs, closedFirstMs * 2 ** closings));
    closings = Math.min(closings + 1, 20);
  };
  return {
    room: () => {
      const free = concurrencyMax - inProgress;
      const most = !isOpen ? free : steadyMs() < closedUntilMs ? 0 : probesMax - probing;
      return Math.max(0, Math.min(most, free, bucket.left()));
    },
    begin: (isRepeat) => {
      inProgress += 1;
      if (isOpen) probing += 1;
      bucket.take();
      return { round, isRepeat };
    },
    end: (call, answer) => {
      inProgress -= 1;
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

/** A token bucket of one second's calls. */
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
