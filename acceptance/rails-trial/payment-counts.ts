import { derivePaymentId, encodeReference } from '../../server/src/rails/contract/references.ts';
import type { Target } from './client.ts';
import type { BookedPayment, Counterpart } from './counterpart.ts';

/** Payments by transfer, for databases that have forgotten payouts. */

export type CountedTransfer = {
  readonly transferId: string;
  readonly target: Pick<Target, 'destination'>;
  readonly amountMinor: bigint;
};

const attemptsMax = 3;

/** How often each transfer was paid, by the counterparts' own records. */
export async function countPayments(options: {
  counterparts: readonly Counterpart[];
  accountId: string;
  transfers: readonly CountedTransfer[];
}): Promise<Map<string, number>> {
  const { counterparts, accountId, transfers } = options;
  const counts = new Map(transfers.map(({ transferId }) => [transferId, 0]));
  const find = indexTransfers(accountId, transfers);
  for (const counterpart of counterparts) {
    for (const payment of await counterpart.listBooked([])) {
      if (payment.state === 'refused') continue;
      const transferId = find(payment);
      if (transferId !== undefined) counts.set(transferId, (counts.get(transferId) ?? 0) + 1);
    }
  }
  return counts;
}

/** By the reference that follows from the transfer; on a chain by recipient and amount. */
function indexTransfers(accountId: string, transfers: readonly CountedTransfer[]) {
  const byReference = new Map<string, string>();
  const byAmount = new Map<string, string>();
  for (const { transferId, target, amountMinor } of transfers) {
    for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
      const id = derivePaymentId({ accountId, clientTransferId: transferId, attempt });
      byReference.set(encodeReference('digits', id), transferId);
    }
    const { way, values } = target.destination;
    const recipient = values['BankAccountNumber']?.toLowerCase();
    byAmount.set(`${recipient} ${way.currency} ${amountMinor}`, transferId);
  }
  return ({ reference, recipient, currency, amountMinor }: BookedPayment): string | undefined =>
    reference === undefined
      ? byAmount.get(`${recipient?.toLowerCase()} ${currency} ${amountMinor}`)
      : byReference.get(reference.replaceAll('-', '').toLowerCase());
}
