import { z } from 'zod';
import type { RailHost } from '../contract/contract.ts';
import { openRecords, type Records, type TypedRecord } from '../kit/records.ts';

/**
 * What the rail remembers of a batch group. Its members are recorded before anything leaves for it, in
 * the same write that puts each payment into it, so that a payment is in one group at most, for ever.
 *
 * - `open`: it is made, gets its transfers and is completed. No funding has left.
 * - `funding`: a funding may have left. The payments have their transfers and are `funding` as well.
 * - `cancelling`: it is canceled at Wise, and its payments end as their transfers do.
 * - `funded`, `cancelled`: no money leaves for it.
 */
const groupStates = ['open', 'funding', 'cancelling', 'funded', 'cancelled'] as const;
export type GroupState = (typeof groupStates)[number];

const groupSchema = z.object({
  /** At Wise; absent until Wise has answered. Without it no transfer can have left. */
  groupId: z.string().max(60).optional(),
  references: z.array(z.string()).max(1000),
  /** Funding requests, and the real time when the last one began. */
  fundingCount: z.int().default(0),
  fundedAtMs: z.int().default(0),
});
export type GroupValue = z.output<typeof groupSchema>;
export type Group = TypedRecord<GroupState, GroupValue>;
export type Groups = Records<GroupState, GroupValue>;

/** By the reference of the first payment. */
export function openGroups(store: RailHost['store']): Groups {
  return openRecords(store, { collection: 'groups', states: groupStates, value: groupSchema });
}
