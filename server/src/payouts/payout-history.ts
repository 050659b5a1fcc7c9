import { AppError } from '../core/errors.ts';
import type { Session } from '../db/postgres/pool.ts';
import { findPayoutBefore, findWhetherQuotedBefore } from './payout-history.sql.ts';
import type { PayoutRow } from './payouts.sql.ts';

export { listPayoutsAfterEvents } from './payout-history.sql.ts';

/**
 * A payout as it was just before a time.
 *
 * @throws AppError not_found, also where it was quoted later; events_dropped where the events that tell
 * are no longer kept.
 */
export async function getPayoutBefore(
  session: Session,
  time: { accountId: string; userId: string; payoutId: string; before: Date },
): Promise<PayoutRow> {
  const row = await findPayoutBefore(session, time);
  if (row !== undefined) return row;
  const isQuoted = await findWhetherQuotedBefore(session, time);
  if (isQuoted === undefined) throw new AppError('not_found', 'Payout not found');
  if (!isQuoted) {
    const detail = 'as_of must not be before the payout was created';
    throw new AppError('not_found', detail, {
      faults: [{ parameter: 'as_of', code: 'not_found', detail }],
    });
  }
  const detail = 'the events needed for the state of the payout at that time are no longer kept';
  throw new AppError('events_dropped', detail, {
    faults: [{ parameter: 'as_of', code: 'events_dropped', detail }],
  });
}
