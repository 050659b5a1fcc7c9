import type { CallContext } from '../contract/contract.ts';
import type { Payment } from './payments.ts';
import { type BatchGroup, type Transfer, transferSchema } from './protocol.ts';
import type { Setup } from './setup.ts';
import { isTransferOf } from './states.ts';

/** The transfers that Wise lists in a group, by the references of the payments that they are. */
export type Members = { readonly transfers: ReadonlyMap<string, Transfer> };

/**
 * Reads each transfer of the group and compares it with its payment. Undefined where one cannot be read
 * now, or is none of the group's payments: such a group is not completed and not funded.
 */
export async function readMembers(
  { api, host }: Setup,
  {
    group,
    payments,
    isCancelled = false,
  }: {
    readonly group: BatchGroup;
    readonly payments: readonly Payment[];
    readonly isCancelled?: boolean;
  },
  context: CallContext,
): Promise<Members | undefined> {
  const transfers = new Map<string, Transfer>();
  for (const id of group.transferIds) {
    const path = `/v1/transfers/${id}`;
    const answer = await api({ method: 'GET', path }, transferSchema, context);
    if (answer.kind !== 'answered' || answer.value.id !== id) return undefined;
    const transfer = answer.value;
    const payment = payments.find(({ key }) => key === transfer.customerTransactionId);
    const isOwn = payment !== undefined && !transfers.has(payment.key) && isOf(transfer, payment);
    if (!isOwn) {
      // Others do not keep the group's own payments from their end.
      if (isCancelled) continue;
      host.log('error', 'a batch group at Wise has a transfer that is not its own', {
        group: group.id,
        transfer: id,
      });
      return undefined;
    }
    transfers.set(payment.key, transfer);
  }
  return { transfers };
}

/** The same amount to the same recipient, at the quote that was compared with the price. */
function isOf(transfer: Transfer, { value }: Payment): boolean {
  const { order } = value;
  return (
    isTransferOf(transfer, value) &&
    transfer.targetAccount === order?.recipientId &&
    transfer.quoteUuid === order.quoteId
  );
}
