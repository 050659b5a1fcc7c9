import type { ClaimRow } from './notices.sql.ts';

/** What a notice can say, and when it still holds. */

export const noticeTypes = [
  'committed',
  'ready_for_pickup',
  'completed',
  'canceled',
  'returned',
] as const;
export type NoticeType = (typeof noticeTypes)[number];

type State = Pick<ClaimRow, 'payout_status' | 'status' | 'completed_at' | 'is_repeated'>;

/**
 * The notice for the recipient; undefined if the payout has moved on, so that the notice would be wrong,
 * or an earlier notice says it.
 */
export function chooseType(notice: State): NoticeType | undefined {
  const { status, payout_status: reached } = notice;
  if (notice.is_repeated) return undefined;
  if (reached === 'PROCESSING') {
    // A hold and a search for another payer are no concern of the recipient's.
    return ['PROCESSING', 'HOLD', 'ERROR'].includes(status) ? 'committed' : undefined;
  }
  if (reached !== status) return undefined;
  if (reached === 'READY_FOR_PICKUP') return 'ready_for_pickup';
  if (reached === 'COMPLETED') return 'completed';
  return notice.completed_at === null ? 'canceled' : 'returned';
}
