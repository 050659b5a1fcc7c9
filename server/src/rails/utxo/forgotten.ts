import type { PassContext } from './compose.ts';
import { changePayment, type Payment } from './records.ts';
import { listForgotten } from './wallet-records.ts';

/**
 * Payments that the wallet has made and the rail's memory knows nothing of, as after a restore of
 * the database from a backup. A chain carries no reference, so that such a payment is recognised by
 * what it pays to whom: one that waits with the same script and amount is held for a person.
 *
 * @returns the payments that may be made; the others are held from now on.
 */
export async function holdForgotten(
  context: PassContext,
  payments: readonly Payment[],
): Promise<readonly Payment[]> {
  const { store } = context.host;
  const findForgotten = await listForgotten(context.host);
  const free: Payment[] = [];
  for (const payment of payments) {
    const txid = findForgotten(payment);
    if (txid === undefined) {
      free.push(payment);
      continue;
    }
    const { reference } = payment;
    context.note(
      'error',
      'the wallet seems to have made a payment that is not remembered; a person must look',
      { reference, txid },
    );
    await store.write([changePayment(payment, 'held', payment)]);
  }
  return free;
}
