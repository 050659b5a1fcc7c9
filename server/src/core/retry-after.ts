/**
 * The wait that a `Retry-After` header asks for, in milliseconds: seconds or a date (RFC 9110, section
 * 10.2.3). 0 where the header is absent or malformed.
 *
 * @param nowMs real time, because the date is
 */
export function readRetryAfterMs(value: string | null | undefined, nowMs: number): number {
  if (value === null || value === undefined) return 0;
  const waitMs = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : 0;
}
