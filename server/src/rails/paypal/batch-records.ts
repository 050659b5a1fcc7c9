import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { RailHost } from '../contract/contract.ts';
import { openRecords, type Records, type TypedRecord } from '../kit/records.ts';
import { keyMs, type PaymentRecord } from './payments.ts';

/**
 * What the rail remembers of batches of several items, by their `sender_batch_id`. `ready`: it is sent
 * until PayPal has answered, and `attempts` orders may have left. `named`: PayPal has named it.
 * `refused`: PayPal has certainly booked nothing of it, and its payments have left it. `expired`: PayPal
 * may have forgotten its key, so that it is no longer sent.
 */
const batchStates = ['ready', 'named', 'refused', 'expired'] as const;
export type BatchState = (typeof batchStates)[number];

const batchSchema = z.object({
  /** Of its payments, in the order of its items. */
  references: z.array(z.string()),
  /**
   * The order, byte for byte, for as long as it may be sent. It names recipients, so it is removed when
   * PayPal has answered.
   */
  body: z.string(),
  /** Orders that may have left. */
  attempts: z.int(),
  /** When the first of them left, real milliseconds; 0: none has. */
  firstSentAtMs: z.number(),
  /** Before when it is not sent again, by the environment's clock. */
  notBeforeMs: z.number(),
  /** PayPal's `payout_batch_id`, or "". */
  batchId: z.string(),
  /** Of the last answer that did not settle it, or "". */
  code: z.string(),
});
export type Batch = z.output<typeof batchSchema>;
export type BatchRecord = TypedRecord<BatchState, Batch>;
/** Without its payments. */
export const newBatch: Omit<Batch, 'references' | 'body'> = {
  attempts: 0,
  firstSentAtMs: 0,
  notBeforeMs: 0,
  batchId: '',
  code: '',
};
export type Batches = Records<BatchState, Batch>;

export function openBatches({ store }: Pick<RailHost, 'store'>): Batches {
  return openRecords(store, {
    collection: 'batches',
    states: batchStates,
    value: batchSchema,
  });
}

/** The same for the same payments, also after a restore. */
export function nameBatch(payments: readonly PaymentRecord[]): string {
  const content = payments.map(({ key, value: { amountMinor, currency } }) => [
    key,
    currency,
    amountMinor.toString(),
  ]);
  const digest = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  return `batch-${digest.slice(0, 32)}`;
}

export type BatchAttempt =
  | { readonly kind: 'begun'; readonly record: BatchRecord }
  | { readonly kind: 'expired' }
  /** It must no longer be sent. */
  | { readonly kind: 'over' };

/** Records that the order may leave. `nowMs`: real time. */
export async function beginBatch(
  batches: Batches,
  key: string,
  nowMs: number,
): Promise<BatchAttempt> {
  let isExpired = false;
  const { record, isChanged } = await batches.update(key, (seen) => {
    isExpired = false;
    if (seen?.state !== 'ready') return undefined;
    const { value } = seen;
    const firstSentAtMs = value.attempts === 0 ? nowMs : value.firstSentAtMs;
    isExpired = nowMs - firstSentAtMs > keyMs;
    return isExpired
      ? { state: 'expired', value: { ...value, body: '' } }
      : { state: 'ready', value: { ...value, attempts: value.attempts + 1, firstSentAtMs } };
  });
  if (isExpired) return { kind: 'expired' };
  return isChanged ? { kind: 'begun', record } : { kind: 'over' };
}

/** PayPal has named the batch, so that its order never leaves again. */
export async function setBatchName(batches: Batches, key: string, batchId: string): Promise<void> {
  await batches.update(key, (seen) =>
    seen === undefined || seen.state === 'refused' || seen.value.batchId === batchId
      ? undefined
      : { state: 'named', value: { ...seen.value, batchId, body: '', code: '' } },
  );
}

/** Whether PayPal has certainly booked nothing of it so far. */
export function isUnsent({ state, value }: BatchRecord): boolean {
  return state === 'ready' && value.attempts === 0;
}
