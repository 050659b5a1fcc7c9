import { OutlayError } from './errors.ts';
import { nowMs, sleep } from './platform.ts';

export type RetryPolicy = {
  /** How often a request is sent again after the first time. */
  readonly retries: number;
  /** The first delay is up to this long; each further one up to twice as long. */
  readonly baseMs: number;
  readonly delayMsMax: number;
  /** A longer `Retry-After` ends the call: its error says how long. */
  readonly retryAfterMsMax: number;
};

const defaultRetryPolicy: RetryPolicy = {
  retries: 4,
  baseMs: 250,
  delayMsMax: 8_000,
  retryAfterMsMax: 60_000,
};

/** Undefined members have the default too: without a limit a call would be retried for ever. */
export function completeRetryPolicy(given: Partial<RetryPolicy> = {}): RetryPolicy {
  const members = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...defaultRetryPolicy, ...Object.fromEntries(members) };
}

/** Sends until there is an answer, a refusal that does not pass by itself, or no retry is left. */
export async function withRetries<Result>(
  policy: RetryPolicy,
  send: () => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof OutlayError)) throw error;
      error.attempts = attempts;
      const { retryable, retryAfterMs = 0 } = error;
      if (!retryable || attempts > policy.retries || retryAfterMs > policy.retryAfterMsMax) {
        throw error;
      }
      // Jitter on top of what the service asks for, so that its clients do not return at once.
      await sleep(retryAfterMs + chooseDelay(policy, attempts), signal);
    }
  }
}

/** Full jitter: a random part of an exponentially growing delay. */
function chooseDelay({ baseMs, delayMsMax }: RetryPolicy, attempts: number): number {
  return Math.random() * Math.min(delayMsMax, baseMs * 2 ** (attempts - 1));
}

/**
 * Seconds or an HTTP date (RFC 9110 10.2.3), as milliseconds from now. A date is compared with the clock of
 * the service where the answer has it.
 */
export function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const untilMs = Date.parse(text);
  const sentMs = Date.parse(headers.get('date') ?? '');
  const fromMs = Number.isNaN(sentMs) ? nowMs() : sentMs;
  return Number.isNaN(untilMs) ? undefined : Math.max(0, untilMs - fromMs);
}
