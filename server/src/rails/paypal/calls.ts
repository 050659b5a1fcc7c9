import type { CallContext, Instruction, RailAnswer } from '../contract/contract.ts';
import type { RailCall } from '../kit/guarded-calls.ts';
import { type ApiResult, describeResult, readError } from './api.ts';
import { releaseBatch } from './batch-building.ts';
import { describeFailure, readBatch } from './batches.ts';
import { itemSchema } from './messages.ts';
import { createOrder, matchesItems, type Receiver, readReceiver } from './order.ts';
import { findNamedBatch, judgeFailure, readCreated } from './order-answers.ts';
import { describeBatch, findEchoFault, lacksItem, pickItem, readReason } from './outcomes.ts';
import type { RailParts } from './parts.ts';
import {
  beginAttempt,
  describePayment,
  endAttempt,
  forgetBatch,
  type Payment,
  type PaymentRecord,
  renewReceiver,
  type State,
  setBatch,
} from './payments.ts';
import { findReported } from './reports.ts';

/** `send`, `query` and `cancel`. */

export const send: RailCall<RailParts> = async (parts, instruction, context) => {
  const { payments, host } = parts;
  const first = describeFirst(parts, instruction);
  const { isNew, answer } = await payments.enter(instruction, first);
  if (answer.outcome === 'retry') {
    if (!isNew)
      await renewReceiver(payments, instruction.reference, findReceiver(parts, instruction));
    return order(parts, instruction, context);
  }
  if (answer.outcome !== 'accepted') return answer;
  if (!isNew) return query(parts, instruction, context);
  // It waits for a batch, which the next pass builds and sends.
  host.wake();
  return { ...answer, checkAtMs: findCheckTime(parts) };
};

function describeFirst(
  parts: RailParts,
  instruction: Instruction,
): { state: State; value: Payment } {
  const { config, host } = parts;
  const receiver = findReceiver(parts, instruction);
  const value = describePayment(instruction, receiver);
  if (receiver === undefined) {
    return { state: 'refused', value: { ...value, reason: 'invalid_details' } };
  }
  return config.batchItemsMax === 1
    ? { state: 'unsent', value }
    : { state: 'waiting', value: { ...value, waitingSinceMs: host.nowMs() } };
}

function findReceiver(
  { payers }: Pick<RailParts, 'payers'>,
  instruction: Instruction,
): Receiver | undefined {
  const receiver = readReceiver(payers.get(instruction.payerKey), instruction);
  return receiver === undefined || 'field' in receiver ? undefined : receiver;
}

/**
 * Orders the payment, or orders it again with the same `sender_batch_id`: PayPal books it once and
 * names the batch that it has.
 */
const order: RailCall<RailParts> = async (parts, instruction, context) => {
  const { host, api, payments } = parts;
  const { reference } = instruction;
  const body = await writeOrder(parts, instruction);
  if (body === undefined) {
    host.log('error', 'the order does not match its instruction, so it is not sent', { reference });
    return { outcome: 'unknown', reason: 'not_readable' };
  }
  const attempt = await beginAttempt(payments, reference, host.realNowMs());
  if (attempt.kind === 'expired') return findReported(parts, attempt.record, context);
  if (attempt.kind === 'over') return query(parts, instruction, context);
  const request = { method: 'POST', path: '/v1/payments/payouts', body } as const;
  const result = await api.call(request, context.signal);
  const created = readCreated(result, reference);
  if (created !== undefined) {
    await setBatch(payments, reference, created.payout_batch_id);
    return describeBatch({ batch_header: created, items: [] }, host.nowMs());
  }
  const batchId = findNamedBatch(result);
  if (batchId === undefined) return readFailedOrder(parts, { record: attempt.record, result });
  await setBatch(payments, reference, batchId);
  return ask(parts, { instruction, batchId }, context);
};

/** The order as its first one was: to the recipient in the record. */
async function writeOrder(parts: RailParts, instruction: Instruction): Promise<string | undefined> {
  const record = await parts.payments.find(instruction.reference);
  const { receiver: known = '', receiverType = '' } = record?.value ?? {};
  const receiver =
    known === '' || receiverType === ''
      ? findReceiver(parts, instruction)
      : { type: receiverType, receiver: known };
  if (receiver === undefined) return undefined;
  const { reference, currency, amountMinor } = instruction;
  const items = [{ ...receiver, reference, currency, amountMinor }];
  const body = createOrder(reference, items, parts.config);
  return matchesItems(body, reference, items) ? body : undefined;
}

type FailedOrder = { readonly record: PaymentRecord; readonly result: ApiResult };

/** `retry` and `rejected` only where PayPal has certainly booked neither this order nor another one. */
async function readFailedOrder(parts: RailParts, failed: FailedOrder): Promise<RailAnswer> {
  const { host, payments } = parts;
  const { record, result } = failed;
  const { reason, retryAfterMs } = describeFailure(result);
  const wait = retryAfterMs > 0 ? { retryAfterMs } : {};
  host.log('warn', 'PayPal did not accept an order', {
    reference: record.key,
    ...describeResult(result),
  });
  const verdict = judgeFailure(result);
  if (verdict.kind === 'refused') {
    const { code, reason: refused } = verdict;
    const refusal = { reason: refused, code };
    return (await endAttempt(payments, record, refusal))
      ? { outcome: 'rejected', ...refusal }
      : { outcome: 'unknown', reason: 'no_answer', code };
  }
  const isOver = verdict.kind === 'not_booked' && (await endAttempt(payments, record));
  const code = readError(result)?.name;
  const about = {
    reason: readReason(code, reason),
    ...wait,
    ...(code === undefined ? {} : { code }),
  };
  return { ...about, outcome: isOver ? 'retry' : 'unknown' };
}

export const query: RailCall<RailParts> = async (parts, instruction, context) => {
  const { payments } = parts;
  const { reference } = instruction;
  const known = await payments.answer(instruction);
  // Nothing leaves before the book has it.
  if (known === undefined) return { outcome: 'retry', reason: 'unreachable' };
  if (known.outcome !== 'accepted') return known;
  const record = await payments.find(reference);
  if (record?.state === 'waiting') return { ...known, checkAtMs: findCheckTime(parts) };
  if (record?.state === 'batched') return queryBatched(parts, { instruction, record }, context);
  if (record?.state === 'reported') return findReported(parts, record, context);
  const batchId = record?.value.batchId ?? '';
  if (batchId !== '') return ask(parts, { instruction, batchId }, context);
  if (context.isStopped === true) return { outcome: 'unknown', reason: 'no_answer' };
  // The order may still be on its way: it is repeated with its key, so that one of them counts.
  return order(parts, instruction, context);
};

const minuteMs = 60_000;

/** When a batch that has not left should have been answered. */
function findCheckTime({ host, config }: RailParts): number {
  return host.nowMs() + config.batchWaitSeconds * 1000 + minuteMs;
}

type Batched = { readonly instruction: Instruction; readonly record: PaymentRecord };

/** A payment in a batch of several items; passes send the batch. */
async function queryBatched(
  parts: RailParts,
  { instruction, record }: Batched,
  context: CallContext,
): Promise<RailAnswer> {
  const { batchKey } = record.value;
  const batch = await parts.batches.find(batchKey);
  const { batchId = '', attempts = 0, firstSentAtMs = 0, code = '' } = batch?.value ?? {};
  if (batchId !== '') return ask(parts, { instruction, batchId, batchKey }, context);
  if (batch?.state === 'expired') {
    return findReported(parts, { ...record, value: { ...record.value, firstSentAtMs } }, context);
  }
  const about = code === '' ? {} : { code };
  return attempts === 0
    ? { ...about, outcome: 'accepted', checkAtMs: findCheckTime(parts) }
    : { ...about, outcome: 'unknown', reason: readReason(code, 'no_answer') };
}

type Asking = {
  readonly instruction: Instruction;
  readonly batchId: string;
  /** Of a batch of several items. */
  readonly batchKey?: string;
};

async function ask(parts: RailParts, asking: Asking, context: CallContext): Promise<RailAnswer> {
  const { host, payments } = parts;
  const { instruction, batchId, batchKey } = asking;
  const { reference } = instruction;
  const reading = await readBatch(parts, batchId, context);
  if (reading.kind === 'batch') {
    const batch = batchKey === undefined ? reading.batch : pickItem(reading.batch, reference);
    const fault = findEchoFault(batch, { ...instruction, batchKey: batchKey ?? reference });
    const isLacking = batchKey !== undefined && lacksItem(reading.batch, reference);
    if (fault === undefined && !isLacking) {
      const [item] = batch.items;
      if (item?.currency_conversion?.from_amount !== undefined) {
        const { currency } = item.currency_conversion.from_amount;
        host.log('warn', 'PayPal paid from a balance of another currency', { reference, currency });
      }
      return describeBatch(batch, host.nowMs());
    }
    host.log('error', 'a batch does not match its instruction', {
      reference,
      fault: fault ?? 'no item of the payment',
    });
    return { outcome: 'unknown', reason: 'not_understood' };
  }
  if (reading.kind === 'missing') {
    host.log('error', 'PayPal does not know a batch that it has named', { reference });
    if (batchKey === undefined) await forgetBatch(payments, reference, batchId);
    return { outcome: 'unknown', reason: 'not_understood' };
  }
  if (reading.kind === 'not_understood') return { outcome: 'unknown', reason: 'not_understood' };
  const { reason, retryAfterMs } = reading;
  const wait = retryAfterMs > 0 ? { retryAfterMs } : {};
  return { outcome: 'unknown', reason, ...wait };
}

/** PayPal can take back only what its recipient has not claimed. */
export const cancel: RailCall<RailParts> = async (parts, instruction, context) => {
  const { host, api, payments } = parts;
  const { reference } = instruction;
  const receiver = findReceiver(parts, instruction);
  let known: RailAnswer;
  for (let isReleased = true; ; ) {
    known = await payments.cancel(instruction, {
      tombstone: { state: 'cancelled', value: describePayment(instruction, receiver) },
      withdraw: ({ state, value }) =>
        state === 'unsent' || state === 'waiting' ? { state: 'cancelled', value } : undefined,
    });
    const record = known.outcome === 'accepted' ? await payments.find(reference) : undefined;
    if (record?.state !== 'batched' || !isReleased) break;
    isReleased = await releaseBatch(parts, record.value.batchKey);
  }
  if (known.outcome !== 'accepted') return known;
  const current = await query(parts, instruction, context);
  if (current.outcome !== 'ready_for_pickup' || current.providerReference === undefined) {
    return current;
  }
  const path = `/v1/payments/payouts-item/${encodeURIComponent(current.providerReference)}/cancel`;
  const result = await api.call({ method: 'POST', path }, context.signal);
  const item =
    result.kind === 'answered' && result.status === 200
      ? itemSchema.safeParse(result.json).data
      : undefined;
  if (item?.transaction_status !== 'RETURNED' || item.payout_item.sender_item_id !== reference) {
    host.log('warn', 'PayPal did not cancel an item', { reference, ...describeResult(result) });
  }
  const next = await query(parts, instruction, context);
  return next.outcome === 'returned' ? { ...next, reason: 'recalled' } : next;
};
