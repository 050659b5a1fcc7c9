import type { CallContext } from '../contract/contract.ts';
import { reportUnreadable } from '../kit/unreadable-entries.ts';
import { cancelAtWise, isFunded } from './funding.ts';
import type { Group } from './groups.ts';
import type { Payment } from './payments.ts';
import { type BatchGroup, type Transfer, transferSchema } from './protocol.ts';
import type { Setup } from './setup.ts';
import { isTransferOf, readStanding } from './states.ts';

/** A group as it is recorded, with its payments; those of erased recipients have no record any more. */
export type KnownGroup = { readonly group: Group; readonly payments: readonly Payment[] };

/** The transfers that Wise lists in a group, by the references of the payments that they are. */
export type Members = { readonly transfers: ReadonlyMap<string, Transfer> };

export async function findPayments(
  { payments }: Pick<Setup, 'payments'>,
  { value: { references } }: Group,
): Promise<readonly Payment[]> {
  const found = await Promise.all(references.map((reference) => payments.find(reference)));
  return found.filter((payment) => payment !== undefined);
}

/**
 * The group's transfers, none of which waits for money on behalf of an erased recipient. Undefined where
 * that is not certain now, or one is none of the group's payments: such a group is not completed and not
 * funded.
 */
export async function readMembers(
  setup: Setup,
  known: KnownGroup,
  { group, context }: { readonly group: BatchGroup; readonly context: CallContext },
): Promise<Members | undefined> {
  const members = await listMembers(setup, { known, group }, context);
  return members && cancelErased(setup, { ...known, members }, context);
}

/** Reads each transfer of the group and compares it with its payment. */
export async function listMembers(
  { api, host }: Setup,
  {
    known,
    group,
    isCancelled = false,
  }: {
    readonly known: KnownGroup;
    readonly group: BatchGroup;
    readonly isCancelled?: boolean;
  },
  context: CallContext,
): Promise<Members | undefined> {
  const { references } = known.group.value;
  const transfers = new Map<string, Transfer>();
  for (const id of group.transferIds) {
    const path = `/v1/transfers/${id}`;
    const answer = await api({ method: 'GET', path }, transferSchema, context);
    if (answer.kind !== 'answered' || answer.value.id !== id) return undefined;
    const transfer = answer.value;
    const reference = transfer.customerTransactionId ?? '';
    const payment = known.payments.find(({ key }) => key === reference);
    // With the record of an erased recipient its details are gone.
    const isSame = payment === undefined || isOf(transfer, payment);
    const isOwn = references.includes(reference) && !transfers.has(reference) && isSame;
    if (!isOwn) {
      // Others do not keep the group's own payments from their end.
      if (isCancelled) continue;
      const whose = `batch group ${group.id} of ${known.group.key}`;
      const detail = `${whose}: transfer ${id} is none of its payments, so that it is not funded`;
      const raw = Buffer.from(detail);
      await reportUnreadable(host, { name: `group:${group.id}:${id}`, raw, detail });
      return undefined;
    }
    transfers.set(reference, transfer);
  }
  return { transfers };
}

/**
 * The payout of an erased recipient has ended, so that its transfer must not get money together with the
 * others: it is canceled by itself, which is final.
 */
async function cancelErased(
  setup: Setup,
  { payments, members }: KnownGroup & { readonly members: Members },
  context: CallContext,
): Promise<Members | undefined> {
  const transfers = new Map(members.transfers);
  for (const [reference, transfer] of members.transfers) {
    const isErased = payments.every(({ key }) => key !== reference);
    if (!isErased || readStanding(transfer.status) !== 'unfunded') continue;
    const funded = await isFunded(setup, transfer.id, context);
    if (funded === true) continue;
    if (funded === undefined || !(await cancelAtWise(setup, transfer.id, context)))
      return undefined;
    transfers.set(reference, { ...transfer, status: 'cancelled' });
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
