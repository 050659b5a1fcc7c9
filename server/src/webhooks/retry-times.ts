/** When a failed delivery is sent again. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** After the first failure, the second, …; the last one repeats. */
const delaysMs = [5_000, 30_000, 2 * minuteMs, 10 * minuteMs, 30 * minuteMs, hourMs];
/** A delay is up to a fifth shorter or longer, so that endpoints of one host do not retry together. */
const jitter = 0.2;

/** A delivery is abandoned, and an endpoint without any success paused, after this time. */
export const retryMsMax = 14 * 24 * hourMs;
/** An endpoint cannot ask for a longer pause. */
const retryAfterMsMax = 24 * hourMs;

/** `random` is from 0 to 1. An endpoint's `Retry-After` is a minimum. */
export function chooseDelayMs(options: {
  failures: number;
  retryAfterMs: number;
  random: number;
}): number {
  const place = Math.min(options.failures, delaysMs.length) - 1;
  const delayMs = (delaysMs[place] ?? 0) * (1 - jitter + 2 * jitter * options.random);
  return Math.round(Math.max(delayMs, Math.min(options.retryAfterMs, retryAfterMsMax)));
}
