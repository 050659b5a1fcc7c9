import type { Instruction, RailStore } from '../contract/contract.ts';
import { type Reading, readExchange } from './answers.ts';
import type { Exchange } from './exchange.ts';
import { matchesInstruction } from './payment-order.ts';
import { paymentOrderSchema } from './protocol.ts';
import { beginSending, type Sending } from './records.ts';

/** An order on its way: recorded before it leaves, by itself or in a batch. */

export type SendingParts = {
  readonly store: RailStore;
  readonly exchange: Exchange;
  readonly realNowMs: () => number;
  readonly orderSeconds: number;
};

export type NewOrder = { readonly instruction: Instruction; readonly body: string };

/**
 * `known`: the partner has answered for the payment before, so that it is queried instead. `mismatch`:
 * the stored order does not match the instruction; nothing was sent. `aborted`: its answer is no longer
 * awaited, and nothing was sent.
 */
export type SentOrder =
  | { readonly kind: 'sent'; readonly sending: Sending; readonly reading: Reading }
  | { readonly kind: 'mismatch'; readonly sending: Sending }
  | { readonly kind: 'known' }
  | { readonly kind: 'aborted' };

export type BegunOrder =
  | { readonly kind: 'begun'; readonly sending: Sending }
  | Extract<SentOrder, { kind: 'mismatch' | 'known' }>;

/** Records that the order may leave, and compares what would leave with the instruction. */
export async function beginOrder(
  store: RailStore,
  { instruction, body }: NewOrder,
  leaving: { readonly untilS: number; readonly batch?: string },
): Promise<BegunOrder> {
  const sending = await beginSending(store, instruction, { body, ...leaving });
  if (sending === 'known') return { kind: 'known' };
  const order = paymentOrderSchema.safeParse(JSON.parse(sending.body));
  const isRight = order.success && matchesInstruction(order.data, instruction);
  return { kind: isRight ? 'begun' : 'mismatch', sending };
}

export function findExpiryS({ realNowMs, orderSeconds }: SendingParts): number {
  return Math.ceil(realNowMs() / 1000) + orderSeconds;
}

/** PUT /payments/{reference}. */
export async function sendAlone(
  parts: SendingParts,
  order: NewOrder,
  signal: AbortSignal,
): Promise<SentOrder> {
  const untilS = findExpiryS(parts);
  const begun = await beginOrder(parts.store, order, { untilS });
  if (begun.kind !== 'begun') return begun;
  const { instruction } = order;
  const result = await parts.exchange({
    method: 'PUT',
    path: `/payments/${instruction.reference}`,
    body: begun.sending.body,
    expiresS: untilS,
    signal,
  });
  return { kind: 'sent', sending: begun.sending, reading: readExchange(result, instruction) };
}
