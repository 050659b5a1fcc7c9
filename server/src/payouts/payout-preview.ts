import type { Session } from '../db/postgres/pool.ts';
import { findCommitFacts, type PayoutId } from './commit-refusal.sql.ts';
import { findPayoutRow, type PayoutRow } from './payouts.sql.ts';
import { findRecipientOfPayout } from './recipient-check.sql.ts';

/** A payout for a person who decides about it. */
export type PayoutPreview = {
  /** Until its commit with the attribute values that the commit would use. */
  readonly row: PayoutRow;
  /** The balance that it would debit, in minor units; undefined once it is committed. */
  readonly balanceMinor: bigint | undefined;
};

/** Undefined if there is no such payout. */
export async function findPayoutPreview(
  session: Session,
  id: PayoutId,
): Promise<PayoutPreview | undefined> {
  const row = await findPayoutRow(session, id);
  if (row === undefined || row.committed_at !== null) {
    return row && { row, balanceMinor: undefined };
  }
  const pending = await findRecipientOfPayout(session, id);
  const used = pending && { attr_set_id: pending.set_id, sealed: pending.attributes };
  const facts = await findCommitFacts(session, id);
  return { row: { ...row, ...used }, balanceMinor: facts?.balance };
}
