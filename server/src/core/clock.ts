/**
 * An environment's time, in milliseconds since 1970 (UTC). In staging it is the database's time
 * plus an offset that the sandbox moves; in live it is the database's time.
 */
export type Clock = { nowMs(): number };

/**
 * By how much another clock is at least ahead of ours (below 0: behind), in milliseconds. It was read
 * between `beganMs` and `endedMs`, so that a slow answer is no difference.
 */
export function measureLead(otherMs: number, asked: { beganMs: number; endedMs: number }): number {
  const { beganMs, endedMs } = asked;
  if (otherMs > endedMs) return otherMs - endedMs;
  return Math.min(0, otherMs - beganMs);
}

/** `YYYY-MM-DDThh:mm:ss` in UTC, without offset or fraction: the form of created_on and expiration. */
export function formatSeconds(time: Date): string {
  return time.toISOString().slice(0, 19);
}

/** RFC 3339 with `Z`, cut to the second: the form of estimated_availability. */
export function formatSecondsZ(time: Date): string {
  return `${formatSeconds(time)}Z`;
}
