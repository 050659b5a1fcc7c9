import type { Reason } from '../contract/reasons.ts';
import { type ApiResult, readError } from './api.ts';
import { type ApiError, createdSchema, type PayoutBatch } from './messages.ts';

/** What the answer to an order says. */

/** The batch that was created now. */
export function readCreated(
  result: ApiResult,
  reference: string,
): PayoutBatch['batch_header'] | undefined {
  if (result.kind !== 'answered' || result.status !== 201) return undefined;
  const header = createdSchema.safeParse(result.json).data?.batch_header;
  return header?.sender_batch_header.sender_batch_id === reference ? header : undefined;
}

/** The batch that has the `sender_batch_id` already. */
export function findNamedBatch(result: ApiResult): string | undefined {
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
export function judgeFailure(result: ApiResult): Verdict {
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
export function readRefusal({ details }: ApiError): Reason {
  const fields = details.map(({ field }) => field.toLowerCase()).join(' ');
  if (fields.includes('receiver')) return 'invalid_details';
  if (fields.includes('currency')) return 'currency_refused';
  if (fields.includes('amount')) return 'amount_refused';
  return 'payer_refused';
}
