import type { CallContext, RecordChange } from '../contract/contract.ts';
import { type BatchRecord, isUnsent, nameBatch, newBatch } from './batch-records.ts';
import { createOrder, matchesItems, type OrderItem } from './order.ts';
import type { RailParts } from './parts.ts';
import type { PaymentRecord } from './payments.ts';

/** Makes batches of the payments that wait, and takes back a batch that has not left. */

/** Before payments are put into a batch again that were not as the pass had seen them. */
const buildAgainMs = 1000;

/**
 * Puts the payments of one payer and currency into batches of at most `batchItemsMax` items: full ones
 * at once, others when the oldest payment has waited long enough. One write takes the payments out of
 * `waiting` and stores the order, or does none of it. Returns when the next batch is due, or Infinity.
 */
export async function buildBatches(parts: RailParts, { signal }: CallContext): Promise<number> {
  const { host, payments, config } = parts;
  const groups = Map.groupBy(
    await Array.fromAsync(payments.list({ state: 'waiting' })),
    ({ value: { payerKey, currency } }) => JSON.stringify([payerKey, currency]),
  );
  let dueAtMs = Infinity;
  for (const group of groups.values()) {
    const waiting = group.toSorted((a, b) => a.value.waitingSinceMs - b.value.waitingSinceMs);
    for (let from = 0; from < waiting.length; from += config.batchItemsMax) {
      if (signal.aborted) return host.nowMs();
      const chosen = waiting.slice(from, from + config.batchItemsMax);
      const sinceMs = chosen[0]?.value.waitingSinceMs ?? 0;
      const leavesAtMs = sinceMs + config.batchWaitSeconds * 1000;
      const isDue = chosen.length === config.batchItemsMax || leavesAtMs <= host.nowMs();
      if (!isDue) dueAtMs = Math.min(dueAtMs, leavesAtMs);
      else if (!(await storeBatch(parts, chosen))) {
        // A payment was canceled, or taken by another process meanwhile.
        dueAtMs = Math.min(dueAtMs, host.nowMs() + buildAgainMs);
      }
    }
  }
  return dueAtMs;
}

/** False, and nothing changed, where a payment is no longer as it was seen. */
async function storeBatch(
  { host, payments, batches, config }: RailParts,
  chosen: readonly PaymentRecord[],
): Promise<boolean> {
  const ordered = chosen.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const key = nameBatch(ordered);
  const items = ordered.map(describeItem);
  const body = createOrder(key, items, config);
  if (!matchesItems(body, key, items)) {
    host.log('error', 'a batch does not match its payments, so it is not sent', { batch: key });
    return false;
  }
  const references = ordered.map(({ key: reference }) => reference);
  const value = { ...newBatch, references, body };
  const changes: RecordChange[] = ordered.flatMap((record) =>
    payments.change(record, { state: 'batched', value: { ...record.value, batchKey: key } }),
  );
  return host.store.write([
    batches.change({ key, revision: 0 }, { state: 'ready', value }),
    ...changes,
  ]);
}

function describeItem({ key: reference, value }: PaymentRecord): OrderItem {
  const { receiverType: type, receiver, currency, amountMinor } = value;
  if (type === '') throw new Error(`the payment ${reference} waits without a recipient`);
  return { reference, type, receiver, currency, amountMinor };
}

/** The payments of a batch go back to wait for another one. */
export async function listReleases(
  { payments }: Pick<RailParts, 'payments'>,
  { key, value: { references } }: BatchRecord,
): Promise<{ readonly record: PaymentRecord; readonly changes: RecordChange[] }[]> {
  const found = await Promise.all(references.map((reference) => payments.find(reference)));
  return found.flatMap((record) => {
    // The record of an erased recipient is gone.
    if (record?.state !== 'batched' || record.value.batchKey !== key) return [];
    const value = { ...record.value, batchKey: '' };
    return [{ record, changes: payments.change(record, { state: 'waiting', value }) }];
  });
}

const triesMax = 5;

/**
 * Takes back the batch of a payment whose order has not left, so that the payment can be canceled.
 * False where the order may have left.
 */
export async function releaseBatch(parts: RailParts, batchKey: string): Promise<boolean> {
  const { host, batches } = parts;
  for (let tries = 0; tries < triesMax; tries += 1) {
    const batch = await batches.find(batchKey);
    // Another cancellation took it back.
    if (batch === undefined) return true;
    if (!isUnsent(batch)) return false;
    const releases = await listReleases(parts, batch);
    const changes = releases.flatMap((release) => release.changes);
    // The order can leave only after a change of the batch's record, which would make this write fail.
    if (await host.store.write([batches.change(batch, undefined), ...changes])) {
      host.wake();
      return true;
    }
  }
  return false;
}
