import { z } from 'zod';
import type { RailHost } from '../contract/contract.ts';
import { minorUnits, openRecords, type Records, type TypedRecord } from '../kit/records.ts';

/**
 * Whose payment a transfer is, by the transfer's ID, and what came back of it.
 *
 * - `known`: nothing that was reported of it is final.
 * - `returned`: a pass has reported its return.
 * - `asked`: what came back cannot be told from Wise's reports, and a person was asked.
 */
const transferStates = ['known', 'returned', 'asked'] as const;

const valueSchema = z.object({
  reference: z.string(),
  /** Of its order; absent where recovery has found the transfer. */
  terms: z
    .object({
      currency: z.string(),
      amountMinor: minorUnits,
      /** In the source currency: what was converted, and the fee that was taken beside it. */
      netMinor: minorUnits,
      feeMinor: minorUnits,
      isSwift: z.boolean(),
    })
    .optional(),
  /** What came back, as Wise's first event about it says. */
  refund: z.object({ currency: z.string(), amountMinor: minorUnits }).optional(),
  /** Its return was reported in full, because the amount was not known. */
  isAssumedWhole: z.boolean().optional(),
  /** Since when the amount is missing, real time. */
  awaitedSinceMs: z.int().optional(),
});
export type TransferValue = z.output<typeof valueSchema>;
export type TransferRecord = TypedRecord<(typeof transferStates)[number], TransferValue>;
export type TransferRecords = Records<(typeof transferStates)[number], TransferValue>;

export function openTransfers(store: RailHost['store']): TransferRecords {
  return openRecords(store, {
    collection: 'transfers',
    states: transferStates,
    value: valueSchema,
  });
}
