import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, maybeOne, one } from '../db/rows.ts';
import type { PayoutName } from './payout-name.ts';

const hold = defineQuery({
  name: 'hold_for_approval',
  text: `select hold_for_approval($1, $2, $3, $4, $5, $6) as is_held`,
  columns: { is_held: column.boolean },
});

const waiting = defineQuery({
  name: 'find_open_approval_hold',
  text: `
    select true as is_waiting from exceptions
    where account_id = $1 and payout_id = $2 and kind = 'approval' and closed_at is null`,
  columns: { is_waiting: column.boolean },
});

/** What a payout waits for: so many persons, for so long. */
export type ApprovalHold = {
  /** The rules that ask for it; for operators. */
  readonly detail: string;
  readonly approvers: number;
  readonly seconds: number;
};

/**
 * Holds a committed payout of which nothing was sent. `fence`: of the claim under which it was judged;
 * undefined in the transaction of the commit. False where the claim is outdated.
 */
export async function holdForApproval(
  session: Session,
  payout: PayoutName & { fence: bigint | undefined },
  { detail, approvers, seconds }: ApprovalHold,
): Promise<boolean> {
  const { accountId, payoutId, fence = null } = payout;
  return (await one(session, hold, [accountId, payoutId, fence, detail, approvers, seconds]))
    .is_held;
}

/** Whether the payout waits for approval now. */
export async function isWaitingForApproval(
  session: Session,
  { accountId, payoutId }: PayoutName,
): Promise<boolean> {
  return (await maybeOne(session, waiting, [accountId, payoutId])) !== undefined;
}
