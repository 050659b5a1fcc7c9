import { isOutcomeUnknown as isCallUnknown, ProblemError } from '../../../../../sdk/src/errors.ts';
import type { Api, Payout, Schemas } from '../../api/client.ts';

/** One commit of one quote, whose answer can be lost on its way. */

export type Result = Schemas['CommitResult'];

/** The service's answer, or what was found where there was none. */
export type Outcome = { answer: Result } | { found: Payout };

type Which = { user_token: string; payout_token: string };
type Service = Pick<Api, 'commitPayout' | 'getPayout'>;

/**
 * A refusal is known. Without an answer, or with one that says no more than to try later, the payout may be
 * committed: by this request, or by the one before it.
 *
 * @param wasUnknown after the last attempt: a refusal that comes before the payout is looked up leaves it so.
 */
export function isOutcomeUnknown(error: unknown, wasUnknown = false): boolean {
  if (error === null || error === undefined) return false;
  if (!(error instanceof ProblemError)) return true;
  return error.outcomeUnknown || error.retryable || (wasUnknown && isCallUnknown(error, true));
}

/**
 * Commits, and reads the payout where the answer is missing. It is the same payout each
 * time, so a second commit cannot pay twice; another quote could, so it has to wait for the outcome.
 *
 * @throws OutlayError: the outcome is not known, or the service refused.
 */
export async function commitOrFind(api: Service, which: Which): Promise<Outcome> {
  try {
    return { answer: await api.commitPayout(which) };
  } catch (error) {
    const isRepeated = error instanceof ProblemError && error.code === 'duplicate_transfer';
    if (!isRepeated && !isOutcomeUnknown(error)) throw error;
    // A look-up that fails says nothing about the commit.
    const payout = await api.getPayout(which).catch(() => {
      throw error;
    });
    // Still a quote. The commit can be on its way, so this is no proof that it will not be paid.
    if (payout.status === 'PENDING') throw error;
    return { found: payout };
  }
}
