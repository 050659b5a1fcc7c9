import type { CallContext, RecordChange } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { type ApiResult, describeResult, readError } from './api.ts';
import { listReleases } from './batch-building.ts';
import { type BatchRecord, beginBatch, setBatchName } from './batch-records.ts';
import { describeFailure, readBatch } from './batches.ts';
import type { ApiError } from './messages.ts';
import { findNamedBatch, judgeFailure, readCreated, readRefusal } from './order-answers.ts';
import type { RailParts } from './parts.ts';

/** Sends the batches that PayPal has not named, each one until it has, with the same key and bytes. */

type Sent =
  | { readonly kind: 'settled' }
  /** `isGeneral`: other batches would fail alike. */
  | { readonly kind: 'later'; readonly dueAtMs: number; readonly isGeneral: boolean };

/** Before a batch is sent again whose answer settled nothing; twice as long each time. */
const sendAgainMs = 10_000;
const sendAgainMsMax = 3_600_000;

/** When a batch is to be sent again, or Infinity; `isGeneral`: none is to be sent before. */
export async function sendBatches(
  parts: RailParts,
  context: CallContext,
): Promise<{ readonly dueAtMs: number; readonly isGeneral: boolean }> {
  const { batches, host } = parts;
  let dueAtMs = Infinity;
  for await (const { key, value } of batches.list({ state: 'ready' })) {
    if (context.signal.aborted) return { dueAtMs: host.nowMs(), isGeneral: false };
    const isDue = value.notBeforeMs <= host.nowMs();
    const sent: Sent = isDue
      ? await sendBatch(parts, key, context)
      : { kind: 'later', dueAtMs: value.notBeforeMs, isGeneral: false };
    if (sent.kind === 'settled') continue;
    if (sent.isGeneral) return sent;
    dueAtMs = Math.min(dueAtMs, sent.dueAtMs);
  }
  return { dueAtMs, isGeneral: false };
}

async function sendBatch(parts: RailParts, key: string, context: CallContext): Promise<Sent> {
  const { host, api, batches } = parts;
  const attempt = await beginBatch(batches, key, host.realNowMs());
  if (attempt.kind === 'expired') {
    host.log('error', 'a batch got no answer and is not sent again', { batch: key });
  }
  if (attempt.kind !== 'begun') return { kind: 'settled' };
  const { record } = attempt;
  const { body } = record.value;
  const request = { method: 'POST', path: '/v1/payments/payouts', body } as const;
  const result = await api.call(request, context.signal);
  const created = readCreated(result, key);
  if (created !== undefined) {
    await setBatchName(batches, key, created.payout_batch_id);
    return { kind: 'settled' };
  }
  const batchId = findNamedBatch(result);
  if (batchId !== undefined) {
    const reading = await readBatch(parts, batchId, context);
    const isSame =
      reading.kind === 'batch' &&
      reading.batch.batch_header.sender_batch_header.sender_batch_id === key;
    if (isSame) {
      await setBatchName(batches, key, batchId);
      return { kind: 'settled' };
    }
  }
  return readFailedBatch(parts, record, result);
}

/** Its payments are refused, or leave it, only where PayPal has certainly booked nothing of it. */
async function readFailedBatch(
  parts: RailParts,
  record: BatchRecord,
  result: ApiResult,
): Promise<Sent> {
  const { host, batches } = parts;
  const { retryAfterMs } = describeFailure(result);
  host.log('warn', 'PayPal did not accept a batch', {
    batch: record.key,
    ...describeResult(result),
  });
  const verdict = judgeFailure(result);
  const { attempts } = record.value;
  const isOnly = attempts === 1;
  const error = readError(result);
  if (verdict.kind === 'refused' && isOnly && error !== undefined) {
    const isRefused = await refuseBatch(parts, record, error);
    return isRefused ? { kind: 'settled' } : later(host.nowMs() + sendAgainMs);
  }
  const isNotBooked = verdict.kind === 'not_booked';
  const unsent = isNotBooked && isOnly ? { attempts: 0, firstSentAtMs: 0 } : {};
  const backOffMs = Math.min(sendAgainMs * 2 ** Math.min(attempts - 1, 10), sendAgainMsMax);
  const notBeforeMs = host.nowMs() + Math.max(isNotBooked ? sendAgainMs : backOffMs, retryAfterMs);
  const value = { ...record.value, ...unsent, notBeforeMs, code: error?.name ?? '' };
  // Where another process was faster, its record counts.
  await batches.write(record, { state: 'ready', value });
  // An empty balance concerns the batches of its currency only.
  return later(notBeforeMs, isNotBooked && error?.name !== 'INSUFFICIENT_FUNDS');
}

const later = (dueAtMs: number, isGeneral = false): Sent => ({ kind: 'later', dueAtMs, isGeneral });

/**
 * PayPal names the items that it refuses: their payments are rejected, and the others wait for another
 * batch. Where it names none, the order as a whole is at fault.
 */
async function refuseBatch(
  parts: RailParts,
  record: BatchRecord,
  error: ApiError,
): Promise<boolean> {
  const { host, payments, batches } = parts;
  const { references } = record.value;
  const faulty = findFaultyItems(error, references);
  const changes: RecordChange[] = [];
  for (const release of await listReleases(parts, record)) {
    const { key, value } = release.record;
    const reason = faulty.size === 0 ? readRefusal(error) : faulty.get(key);
    if (reason === undefined) changes.push(...release.changes);
    else {
      const refused = { ...value, batchKey: '', reason, code: error.name };
      changes.push(...payments.change(release.record, { state: 'refused', value: refused }));
    }
  }
  const value = { ...record.value, attempts: 0, body: '', code: error.name };
  return host.store.write([batches.change(record, { state: 'refused', value }), ...changes]);
}

/** By `items[2].receiver` or `/items/2/receiver`: references and why each was refused. */
function findFaultyItems(error: ApiError, references: readonly string[]): Map<string, Reason> {
  const found = new Map<string, Reason>();
  for (const detail of error.details) {
    const [, index] = /\bitems(?:\[|\/|\.)(\d{1,4})(?:\]|\/|\.|$)/.exec(detail.field) ?? [];
    const reference = index === undefined ? undefined : references[Number(index)];
    if (reference !== undefined && !found.has(reference)) {
      found.set(reference, readRefusal({ ...error, details: [detail] }));
    }
  }
  return found;
}
