import { AppError } from '../core/errors.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { readPayoutHistory, writeClearance } from './payout-screenings.sql.ts';
import type { UserKey } from './records.sql.ts';
import { findScreening, recordDecision } from './records.ts';

/** The results of a payout and its recipient on which a person decides, and decisions about exactly these. */

type Payout = UserKey & { readonly payoutId: string };

export type SeenResults = {
  readonly payout: Payout;
  /** The number of the recipient's result, where it holds payouts. */
  readonly recipientSequence: number | undefined;
  /** The number of the payout's result, where it is held. */
  readonly payoutSequence: number | undefined;
};

export type ResultDecision = {
  readonly decision: 'cleared' | 'confirmed';
  readonly decidedBy: string;
  readonly reason: string;
};

/** To be read before the version of the payout is compared: what comes later is then outdated, or refused. */
export async function readSeenResults(session: Session, payout: Payout): Promise<SeenResults> {
  const recipient = await findScreening(session, payout);
  const [own] = await readPayoutHistory(session, payout, 1);
  return {
    payout,
    recipientSequence: recipient?.isBlocked === true ? recipient.sequence : undefined,
    payoutSequence: own?.is_passed === false ? own.sequence : undefined,
  };
}

/** @throws AppError payout_changed where a later result is there. */
export async function decideSeenResults(
  { session, keys }: { session: Session; keys: KeyRing },
  { payout, recipientSequence, payoutSequence }: SeenResults,
  { decision, decidedBy, reason }: ResultDecision,
): Promise<void> {
  const { accountId, userId, payoutId } = payout;
  if (recipientSequence !== undefined) {
    const about = { accountId, userId, sequence: recipientSequence, decision, decidedBy, reason };
    const { kind } = await recordDecision({ session, keys }, about);
    if (kind === 'stale') throw refuseLater();
  }
  if (decision === 'confirmed' || payoutSequence === undefined) return;
  const about = { accountId, payoutId, sequence: payoutSequence };
  if (!(await writeClearance(session, about, decidedBy))) throw refuseLater();
}

const refuseLater = () =>
  new AppError(
    'payout_changed',
    'The payout or its recipient was screened again at the same moment: look again, and decide about what you see then',
  );
