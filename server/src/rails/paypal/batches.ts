import type { CallContext, RailHost } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { type Api, type ApiResult, describeResult, readError } from './api.ts';
import { batchSchema, namedBatchSchema, type PayoutBatch } from './messages.ts';

/** Reading a batch. */

export type BatchReading =
  | { readonly kind: 'batch'; readonly batch: PayoutBatch; readonly raw: string }
  /** PayPal says that there is none. */
  | { readonly kind: 'missing' }
  /** It is this batch, in a form or with a status that the rail does not know. */
  | { readonly kind: 'not_understood'; readonly raw: string }
  | { readonly kind: 'unclear'; readonly reason: Reason; readonly retryAfterMs: number };

/** PayPal's largest page, which is more than the items of any batch of ours. */
const pageSize = 1000;

export async function readBatch(
  { api, host }: { readonly api: Api; readonly host: RailHost },
  batchId: string,
  { signal }: CallContext,
): Promise<BatchReading> {
  const query = `page=1&page_size=${pageSize}`;
  const path = `/v1/payments/payouts/${encodeURIComponent(batchId)}?${query}`;
  const result = await api.call({ method: 'GET', path }, signal);
  if (result.kind === 'answered' && result.status === 200) {
    const batch = batchSchema.safeParse(result.json).data;
    if (batch?.batch_header.payout_batch_id === batchId) {
      return { kind: 'batch', batch, raw: result.raw };
    }
    const named = namedBatchSchema.safeParse(result.json).data?.batch_header.payout_batch_id;
    if (batch === undefined && named === batchId) {
      host.log('error', 'a batch has a form that is not known', { batch: batchId });
      return { kind: 'not_understood', raw: result.raw };
    }
  }
  if (result.kind === 'answered' && result.status === 404 && readError(result) !== undefined) {
    return { kind: 'missing' };
  }
  host.log('warn', 'PayPal gave no readable batch', { batch: batchId, ...describeResult(result) });
  return { kind: 'unclear', ...describeFailure(result) };
}

/** Why a call has no readable result, and for how long PayPal asks to wait. */
export function describeFailure(result: ApiResult): { reason: Reason; retryAfterMs: number } {
  if (result.kind === 'not_sent') {
    const reason = result.why === 'no_token' ? 'not_configured' : 'unreachable';
    return { reason, retryAfterMs: 0 };
  }
  if (result.kind === 'unclear') return { reason: 'no_answer', retryAfterMs: 0 };
  const { status, retryAfterMs } = result;
  if (status === 429 || status === 503) return { reason: 'busy', retryAfterMs };
  if (status === 401 || status === 403) return { reason: 'not_configured', retryAfterMs };
  return { reason: status >= 500 ? 'no_answer' : 'not_understood', retryAfterMs };
}
