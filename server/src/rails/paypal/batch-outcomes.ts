import { createHash } from 'node:crypto';
import type { InboundProblem, RailObservation } from '../contract/contract.ts';
import { releaseBatch } from './batch-building.ts';
import { newBatch, setBatchName } from './batch-records.ts';
import { isReference, type PayoutBatch } from './messages.ts';
import { readMoney } from './order.ts';
import { describeObservation, findEchoFault, lacksItem, pickItem } from './outcomes.ts';
import type { RailParts } from './parts.ts';
import { describePayment } from './payments.ts';

/** What a batch of several items says of its payments, and what a restored database learns from it. */

/** Reports what is known of each item, in one message. */
export async function receiveItems(
  parts: RailParts,
  { batch, raw }: { readonly batch: PayoutBatch; readonly raw: string },
): Promise<void> {
  const { host } = parts;
  const { payout_batch_id: batchId } = batch.batch_header;
  await enterBatch(parts, batch);
  const observations: RailObservation[] = [];
  const problems: InboundProblem[] = [];
  for (const reference of await listReferences(parts, batch)) {
    const fault = await findFault(parts, batch, reference);
    if (fault === undefined) {
      const about = { reference, nowMs: host.realNowMs() };
      const observation = describeObservation(pickItem(batch, reference), about);
      if (observation !== undefined) observations.push(observation);
    } else {
      host.log('error', 'an item of a batch cannot be applied', { reference, fault });
      const detail = `batch ${batchId}, payment ${reference}: ${fault}`;
      problems.push({ id: `misfit:${batchId}:${reference}`, kind: 'not_understood', detail });
    }
  }
  const parted = [...observations, ...problems];
  if (parted.length === 0) return;
  // What a batch says changes with its items; the same content is stored once.
  const digest = createHash('sha256')
    .update(parted.map(({ id }) => id).join())
    .digest('hex');
  const id = `batch:${batchId}:${digest.slice(0, 32)}`;
  await host.receive({ id, channel: 'poll', raw: Buffer.from(raw), observations, problems });
}

/** Those that we ordered and those that PayPal shows; other apps name items otherwise. */
async function listReferences(
  { batches }: RailParts,
  { batch_header: header, items }: PayoutBatch,
): Promise<ReadonlySet<string>> {
  const record = await batches.find(header.sender_batch_header.sender_batch_id);
  const shown = items.map(({ payout_item: { sender_item_id: itemId } }) => itemId);
  return new Set([...(record?.value.references ?? []), ...shown.filter(isReference)]);
}

async function findFault(
  { payments }: RailParts,
  batch: PayoutBatch,
  reference: string,
): Promise<string | undefined> {
  const batchKey = batch.batch_header.sender_batch_header.sender_batch_id;
  const view = pickItem(batch, reference);
  const [item] = view.items;
  const record = await payments.find(reference);
  if (record !== undefined && record.state !== 'reported' && record.value.batchKey !== batchKey) {
    return 'a payment that is not in this batch';
  }
  if (lacksItem(batch, reference)) return 'no item of the payment';
  const shown = item === undefined ? undefined : readMoney(item.payout_item.amount);
  const expected = record?.value ?? shown;
  return expected === undefined
    ? undefined
    : findEchoFault(view, { ...expected, reference, batchKey });
}

/**
 * Records that PayPal has the batch. A restored database that does not know it learns which payments are
 * in it, so that they are never ordered again.
 */
export async function enterBatch(parts: RailParts, batch: PayoutBatch): Promise<void> {
  const { batches, host } = parts;
  const { payout_batch_id: batchId, sender_batch_header: sender } = batch.batch_header;
  const key = sender.sender_batch_id;
  if ((await batches.find(key)) === undefined) {
    const references = batch.items
      .map(({ payout_item: { sender_item_id: itemId } }) => itemId)
      .filter(isReference);
    // A batch that is not processed shows no items yet: an event tells of it again.
    if (references.length === 0) return;
    const value = { ...newBatch, references, body: '', batchId };
    await host.store.write([batches.change({ key, revision: 0 }, { state: 'named', value })]);
    host.log('warn', 'PayPal has a batch that is missing in this database', { batch: key });
  }
  await setBatchName(batches, key, batchId);
  const record = await batches.find(key);
  for (const reference of record?.value.references ?? []) {
    await enterItem(parts, { batch, key, reference });
  }
}

type Entering = {
  readonly batch: PayoutBatch;
  readonly key: string;
  readonly reference: string;
};

async function enterItem(parts: RailParts, { batch, key, reference }: Entering): Promise<void> {
  const { payments } = parts;
  const [item] = pickItem(batch, reference).items;
  const money = item === undefined ? undefined : readMoney(item.payout_item.amount);
  const seen = await payments.find(reference);
  if (seen === undefined) {
    if (money === undefined || (await payments.isKnown(reference))) return;
    const value = { ...describePayment({ ...money, payerKey: '' }), batchKey: key };
    await payments.write({ key: reference, revision: 0, reference }, { state: 'batched', value });
    return;
  }
  if (seen.value.batchKey === key) return;
  if (seen.state === 'batched') await releaseBatch(parts, seen.value.batchKey);
  await payments.update(reference, (record) =>
    record?.state === 'waiting' || record?.state === 'unsent' || record?.state === 'reported'
      ? { state: 'batched', value: { ...record.value, batchKey: key } }
      : undefined,
  );
}
