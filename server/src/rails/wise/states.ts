import type { Charge, RailObservation } from '../contract/contract.ts';
import { readMinor } from '../kit/amounts.ts';
import { type Transfer } from './protocol.ts';

/** The statuses of transfers (guide "Tracking transfers") in our outcomes. */

/**
 * - `unfunded`: Wise waits for the funding.
 * - `under_way`: funded. `bounced_back` is under way too: it is sent again, or canceled and refunded.
 *   `cancelled` after a funding is under way until the money is back (`funds_refunded`).
 * - `undefined`: `charged_back`, `unknown`, and what Wise may add.
 */
export type Standing = 'unfunded' | 'under_way' | 'paid' | 'cancelled' | 'refunded' | undefined;

export const refunded = 'funds_refunded';

const standings: Readonly<Record<string, Standing>> = {
  incoming_payment_waiting: 'unfunded',
  incoming_payment_initiated: 'under_way',
  processing: 'under_way',
  waiting_recipient_input_to_proceed: 'under_way',
  funds_converted: 'under_way',
  outgoing_payment_sent: 'paid',
  bounced_back: 'under_way',
  cancelled: 'cancelled',
  [refunded]: 'refunded',
};

export function readStanding(status: string): Standing {
  return Object.hasOwn(standings, status) ? standings[status] : undefined;
}

/** The fee of the quote, taken from the balance together with the amount. */
export function describeFee(
  feeMinor: bigint | undefined,
  currency: string,
): { readonly charges?: readonly Charge[] } {
  if (feeMinor === undefined || feeMinor === 0n) return {};
  return { charges: [{ id: 'fee', kind: 'partner', currency, amountMinor: feeMinor }] };
}

/** Whether the transfer pays this amount; a paid one may have paid another, which is reported. */
export function isTransferOf(
  transfer: Transfer,
  payment: { readonly amountMinor: bigint; readonly currency: string },
): boolean {
  return (
    transfer.targetCurrency === payment.currency &&
    readMinor(transfer.targetValue, payment.currency) === payment.amountMinor
  );
}

type Ended = {
  readonly transferId: string;
  readonly reference: string;
  readonly atMs: number;
  /** Perhaps the only report after the funding, whose answer had the fee. */
  readonly fee: ReturnType<typeof describeFee>;
};

/**
 * The observation of a status, with the same id from each callback and from the list of transfers, so
 * that it counts once.
 */
function observe(status: string, { transferId, reference, atMs, fee }: Ended) {
  const id = nameStatus(transferId, status);
  return { id, reference, atMs, providerReference: transferId, code: status, ...fee };
}

export function observePaid(status: string, ended: Ended): RailObservation {
  return { ...observe(status, ended), outcome: 'paid' };
}

/** Without an amount the whole. */
export function observeReturn(
  ended: Ended & { readonly returned: { readonly amountMinor?: bigint } },
): RailObservation {
  return {
    ...observe(refunded, ended),
    ...ended.returned,
    outcome: 'returned',
    reason: 'sent_back',
  };
}

export function nameStatus(transferId: string, status: string): string {
  return `transfer:${transferId}:${status}`;
}
