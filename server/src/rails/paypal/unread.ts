import { z } from 'zod';
import type { CallContext, RailHost } from '../contract/contract.ts';
import { describeMisfit, reportProblem } from '../kit/problem-messages.ts';
import { openRecords, type Records, type TypedRecord } from '../kit/records.ts';
import { receiveItems } from './batch-outcomes.ts';
import { readBatch } from './batches.ts';
import { isBatchKey, isReference, type PayoutBatch, type PaypalEvent } from './messages.ts';
import { readMoney } from './order.ts';
import { describeObservation, findEchoFault } from './outcomes.ts';
import type { RailParts } from './parts.ts';

/**
 * Batches that an event has named. The signature of a webhook covers a CRC32 of its body only, so an
 * event says that there is something to read, and what happened is read from the API.
 */
export type Unread = Records<'due', { readonly events: number }>;

export function openUnread({ store }: Pick<RailHost, 'store'>): Unread {
  return openRecords(store, {
    collection: 'unread',
    states: ['due'],
    value: z.object({ events: z.int() }),
  });
}

/** The batch that the event is about; undefined where it is about none. */
export function findBatchId({ resource }: PaypalEvent): string | undefined {
  return resource.payout_batch_id ?? resource.batch_header?.payout_batch_id;
}

export function isPayoutEvent({ event_type: type }: PaypalEvent): boolean {
  return type.startsWith('PAYMENT.PAYOUTS-ITEM.') || type.startsWith('PAYMENT.PAYOUTSBATCH.');
}

/** Each event changes the revision, so that one that comes during a reading is read again. */
export async function markUnread(unread: Unread, batchId: string): Promise<void> {
  await unread.update(batchId, (seen) => ({
    state: 'due',
    value: { events: (seen?.value.events ?? 0) + 1 },
  }));
}

/** Batches that are read at once. */
const readingsMax = 8;

/** Reads the marked batches; false where some must be read again. */
export async function readUnread(
  parts: RailParts,
  unread: Unread,
  context: CallContext,
): Promise<boolean> {
  let isDone = true;
  for (let after = ''; ; ) {
    const page = await unread.page({ after, count: readingsMax });
    const read = await Promise.all(
      page.map((record) => readMarked({ parts, unread, context }, record)),
    );
    if (read.includes('later')) isDone = false;
    const last = page.at(-1);
    if (last === undefined || context.signal.aborted) return isDone && last === undefined;
    // PayPal answers nothing: the next pass begins anew.
    if (read.every((one) => one === 'later')) return false;
    after = last.key;
  }
}

async function readMarked(
  { parts, unread, context }: { parts: RailParts; unread: Unread; context: CallContext },
  record: TypedRecord<'due', { readonly events: number }>,
): Promise<'read' | 'later'> {
  const { host } = parts;
  const reading = await readBatch(parts, record.key, context);
  if (reading.kind === 'unclear') return 'later';
  if (reading.kind === 'batch') await receiveBatch(parts, reading);
  else if (reading.kind === 'missing') {
    host.log('warn', 'an event names a batch that PayPal does not know', { batch: record.key });
  } else {
    const detail = `batch ${record.key}: its form or a status is not known`;
    const source = { channel: 'poll', raw: Buffer.from(reading.raw) } as const;
    await host.receive(describeMisfit({ detail }, source));
  }
  const isRemoved = await host.store.write([unread.change(record, undefined)]);
  return isRemoved ? 'read' : 'later';
}

async function receiveBatch(
  parts: RailParts,
  { batch, raw }: { readonly batch: PayoutBatch; readonly raw: string },
): Promise<void> {
  const { host, payments } = parts;
  const { batch_header: header, items } = batch;
  const reference = header.sender_batch_header.sender_batch_id;
  if (isBatchKey(reference)) return receiveItems(parts, { batch, raw });
  // A batch of another app or of PayPal's web site is not a payment of this service.
  if (!isReference(reference)) return;
  const [item] = items;
  const record = await payments.find(reference);
  const paid = item === undefined ? undefined : readMoney(item.payout_item.amount);
  const expected = record?.value ?? paid;
  const fault =
    expected === undefined
      ? undefined
      : findEchoFault(batch, { ...expected, reference, batchKey: reference });
  if (fault !== undefined) {
    const detail = `batch ${header.payout_batch_id} of ${reference} has ${fault}`;
    host.log('error', 'a batch cannot be applied', { reference, fault });
    const id = `misfit:${header.payout_batch_id}`;
    await reportProblem(host, { id, kind: 'not_understood', detail }, raw);
    return;
  }
  const observation = describeObservation(batch, { reference, nowMs: host.realNowMs() });
  if (observation !== undefined) {
    const message = { id: observation.id, channel: 'poll', raw: Buffer.from(raw) } as const;
    await host.receive({ ...message, observations: [observation] });
  }
}
