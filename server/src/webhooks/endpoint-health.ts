import { readRetryAfterMs } from '../core/retry-after.ts';
import type { ClaimRow } from './deliveries.sql.ts';
import { chooseDelayMs, retryMsMax } from './retry-times.ts';
import type { SendResult } from './sender.ts';

/**
 * What the answers of an endpoint say about it: a circuit breaker. After some failures in a row, or
 * when it asks for a pause, the endpoint backs off: nothing is sent until one delivery, the probe,
 * succeeds.
 */

/** After this many failures in a row an endpoint backs off. */
const failuresMax = 5;
/** These ask for fewer requests (Standard Webhooks 1.0, "Delivery success and failure"). */
const throttleStatuses = new Set([429, 502, 503, 504]);
const goneStatus = 410;

export type Failure = { readonly tries: number; readonly firstAtMs: number };

/** What becomes of a failed delivery. */
export type Verdict =
  | { readonly result: 'failed'; readonly dueAtMs: number }
  | { readonly result: 'abandoned' };

export function createEndpointHealth(
  claim: Pick<ClaimRow, 'back_offs' | 'failing_since'>,
  { random, realNowMs }: { random: () => number; realNowMs: () => number },
) {
  let backOffs = claim.back_offs;
  let failingSinceMs = claim.failing_since?.getTime();
  let failuresInRow = 0;
  let backOffUntilMs: number | undefined;
  let stop: { status: 'PAUSED' | 'DISABLED'; reason: string } | undefined;
  return {
    /** Whether only one delivery may be sent, to see if the endpoint answers again. */
    isProbed: () => backOffs > 0,
    /** Until when nothing may be sent. */
    backOffUntilMs: () => backOffUntilMs,
    /** Why sending has ended for good. */
    stop: () => stop,
    progress: () => ({
      backOffs,
      failingSince: failingSinceMs === undefined ? undefined : new Date(failingSinceMs),
    }),
    succeeded(): void {
      backOffs = 0;
      failuresInRow = 0;
      failingSinceMs = undefined;
    },
    /** `failure.tries` counts this one. */
    failed({ answer }: SendResult, failure: Failure, nowMs: number): Verdict {
      failingSinceMs ??= nowMs;
      failuresInRow += 1;
      const retryAfterMs = readRetryAfterMs(answer?.retryAfter, realNowMs());
      const delayMs = (failures: number): number =>
        chooseDelayMs({ failures, retryAfterMs, random: random() });
      const asksForPause =
        retryAfterMs > 0 || (answer !== undefined && throttleStatuses.has(answer.statusCode));
      if (asksForPause || backOffs > 0 || failuresInRow >= failuresMax) {
        // Requests that were under way when the back-off began count once.
        if (backOffUntilMs === undefined) backOffs += 1;
        backOffUntilMs = Math.max(backOffUntilMs ?? 0, nowMs + delayMs(backOffs));
      }
      const dueAtMs = nowMs + delayMs(failure.tries);
      if (answer?.statusCode === goneStatus) {
        stop = { status: 'DISABLED', reason: 'the endpoint answered 410 Gone' };
      } else if (nowMs - failingSinceMs >= retryMsMax) {
        stop = { status: 'PAUSED', reason: 'every delivery has failed for 14 days' };
      } else if (dueAtMs - failure.firstAtMs > retryMsMax) {
        return { result: 'abandoned' };
      }
      return { result: 'failed', dueAtMs };
    },
  };
}
