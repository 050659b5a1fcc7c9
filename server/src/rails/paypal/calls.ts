import type { CallContext, Instruction, RailAnswer } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { type ApiResult, describeResult, readError } from './api.ts';
import { describeFailure, readBatch } from './batches.ts';
import { type ApiError, createdSchema, itemSchema, type PayoutBatch } from './messages.ts';
import {
  createOrder,
  listReceivers,
  matchesInstruction,
  type Receiver,
  readReceiver,
} from './order.ts';
import { describeBatch, findEchoFault, readReason } from './outcomes.ts';
import type { RailParts } from './parts.ts';
import {
  beginAttempt,
  describePayment,
  endAttempt,
  forgetBatch,
  type PaymentRecord,
  setBatch,
} from './payments.ts';
import { findReported } from './reports.ts';

/** `send`, `query` and `cancel`. */

export async function send(
  parts: RailParts,
  instruction: Instruction,
  context: CallContext,
): Promise<RailAnswer> {
  const { payments } = parts;
  const receiver = findReceiver(parts, instruction);
  const first =
    receiver === undefined
      ? {
          state: 'refused' as const,
          value: {
            ...describePayment(instruction, { receiver: '' }),
            reason: 'invalid_details' as const,
          },
        }
      : { state: 'unsent' as const, value: describePayment(instruction, receiver) };
  const { answer } = await payments.enter(instruction, first);
  if (answer.outcome === 'retry') return order(parts, instruction, context);
  return answer.outcome === 'accepted' ? query(parts, instruction, context) : answer;
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
async function order(
  parts: RailParts,
  instruction: Instruction,
  context: CallContext,
): Promise<RailAnswer> {
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
}

/** The order as its first one was: to the recipient in the record. */
async function writeOrder(parts: RailParts, instruction: Instruction): Promise<string | undefined> {
  const record = await parts.payments.find(instruction.reference);
  const known = record?.value.receiver ?? '';
  const receiver =
    known === ''
      ? findReceiver(parts, instruction)
      : listReceivers(instruction).find((one) => one.receiver === known);
  if (receiver === undefined) return undefined;
  const body = createOrder(instruction, receiver, parts.config);
  return matchesInstruction(body, instruction, receiver) ? body : undefined;
}

/** The batch that was created now. */
function readCreated(
  result: ApiResult,
  reference: string,
): PayoutBatch['batch_header'] | undefined {
  if (result.kind !== 'answered' || result.status !== 201) return undefined;
  const header = createdSchema.safeParse(result.json).data?.batch_header;
  return header?.sender_batch_header.sender_batch_id === reference ? header : undefined;
}

/** The batch that has the `sender_batch_id` already. */
function findNamedBatch(result: ApiResult): string | undefined {
  if (result.kind !== 'answered' || result.status !== 400) return undefined;
  const links =
    readError(result)
      ?.details.filter(isDuplicate)
      .flatMap(({ link }) => link) ?? [];
  for (const { href } of links) {
    const [, batchId] = /\/v1\/payments\/payouts\/([0-9A-Za-z._-]{1,64})$/.exec(href) ?? [];
    if (batchId !== undefined) return batchId;
  }
  return undefined;
}

function isDuplicate({ field }: ApiError['details'][number]): boolean {
  return field.toUpperCase() === 'SENDER_BATCH_ID';
}

type FailedOrder = { readonly record: PaymentRecord; readonly result: ApiResult };

/** `retry` and `rejected` only where PayPal has certainly booked neither this order nor another one. */
async function readFailedOrder(parts: RailParts, failed: FailedOrder): Promise<RailAnswer> {
  const { host, payments } = parts;
  const { record, result } = failed;
  const { reason, retryAfterMs } = describeFailure(result);
  const wait = retryAfterMs > 0 ? { retryAfterMs } : {};
  host.log('warn', 'PayPal did not take an order', {
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

type Verdict =
  | { readonly kind: 'not_booked' }
  | { readonly kind: 'refused'; readonly code: string; readonly reason: Reason }
  | { readonly kind: 'open' };

/** Codes of requests that PayPal has refused before it processed anything. */
const refusedCodes: ReadonlySet<string> = new Set([
  'VALIDATION_ERROR',
  'INVALID_REQUEST',
  'MALFORMED_REQUEST',
  'MALFORMED_REQUEST_JSON',
  'UNPROCESSABLE_ENTITY',
]);

/**
 * Of client errors only those count as definite whose code is known to be so: USER_BUSINESS_ERROR, for
 * one, is also the answer for a batch that PayPal has. After a server error it may have booked it.
 */
function judgeFailure(result: ApiResult): Verdict {
  if (result.kind === 'not_sent') return { kind: 'not_booked' };
  const error = readError(result);
  if (result.kind !== 'answered' || error === undefined) return { kind: 'open' };
  const { name: code } = error;
  switch (result.status) {
    case 400:
    case 422:
      if (code === 'INSUFFICIENT_FUNDS') return { kind: 'not_booked' };
      return refusedCodes.has(code) && !error.details.some(isDuplicate)
        ? { kind: 'refused', code, reason: readRefusal(error) }
        : { kind: 'open' };
    // Credentials, permissions or the state of our own account: an operator can repair them.
    case 401:
    case 403:
    case 429:
      return { kind: 'not_booked' };
    default:
      return { kind: 'open' };
  }
}

/** A fault of the recipient, of the amount, or of our own request. */
function readRefusal({ details }: ApiError): Reason {
  const fields = details.map(({ field }) => field.toLowerCase()).join(' ');
  if (fields.includes('receiver')) return 'invalid_details';
  if (fields.includes('currency')) return 'currency_refused';
  if (fields.includes('amount')) return 'amount_refused';
  return 'payer_refused';
}

export async function query(
  parts: RailParts,
  instruction: Instruction,
  context: CallContext,
): Promise<RailAnswer> {
  const { payments } = parts;
  const { reference } = instruction;
  const known = await payments.answer(instruction);
  // Nothing leaves before the book has it.
  if (known === undefined) return { outcome: 'retry', reason: 'unreachable' };
  if (known.outcome !== 'accepted') return known;
  const record = await payments.find(reference);
  const batchId = record?.value.batchId ?? '';
  if (batchId !== '') return ask(parts, { instruction, batchId }, context);
  // The order may still be on its way: it is repeated with its key, so that one of them counts.
  return order(parts, instruction, context);
}

type Asking = { readonly instruction: Instruction; readonly batchId: string };

async function ask(parts: RailParts, asking: Asking, context: CallContext): Promise<RailAnswer> {
  const { host, payments } = parts;
  const { instruction, batchId } = asking;
  const { reference } = instruction;
  const reading = await readBatch(parts, batchId, context);
  if (reading.kind === 'batch') {
    const fault = findEchoFault(reading.batch, instruction);
    if (fault === undefined) {
      const [item] = reading.batch.items;
      if (item?.currency_conversion?.from_amount !== undefined) {
        const { currency } = item.currency_conversion.from_amount;
        host.log('warn', 'PayPal paid from a balance of another currency', { reference, currency });
      }
      return describeBatch(reading.batch, host.nowMs());
    }
    host.log('error', 'a batch does not match its instruction', { reference, fault });
    return { outcome: 'unknown', reason: 'not_understood' };
  }
  if (reading.kind === 'missing') {
    host.log('error', 'PayPal does not know a batch that it has named', { reference });
    await forgetBatch(payments, reference, batchId);
    return { outcome: 'unknown', reason: 'not_understood' };
  }
  if (reading.kind === 'not_understood') return { outcome: 'unknown', reason: 'not_understood' };
  const { reason, retryAfterMs } = reading;
  const wait = retryAfterMs > 0 ? { retryAfterMs } : {};
  return { outcome: 'unknown', reason, ...wait };
}

/** PayPal can take back only what its recipient has not claimed. */
export async function cancel(
  parts: RailParts,
  instruction: Instruction,
  context: CallContext,
): Promise<RailAnswer> {
  const { host, api, payments } = parts;
  const { reference } = instruction;
  const receiver = findReceiver(parts, instruction) ?? { receiver: '' };
  const known = await payments.cancel(instruction, {
    tombstone: { state: 'cancelled', value: describePayment(instruction, receiver) },
    withdraw: ({ state, value }) =>
      state === 'unsent' ? { state: 'cancelled', value } : undefined,
  });
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
}
