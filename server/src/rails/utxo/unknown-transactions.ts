import type { PassContext } from './compose.ts';
import type { PaymentContext, StoredPayment } from './records.ts';
import { formatOutput, type Output } from './transaction.ts';

/**
 * Transactions of the wallet without a record, as after a restore of the database from a backup. A
 * chain carries no references, so they are compared with payments by script and amount.
 */

/** So long, in real time, an identical payment is held: after a restore clients send again soon. */
const holdMs = 3 * 86_400_000;

/** Finds the recent unknown transaction with such an output. */
export async function listUnknownTransactions({
  host,
  stores: { unknowns },
}: Pick<PaymentContext, 'host' | 'stores'>): Promise<(output: Output) => string | undefined> {
  const found = new Map<string, string>();
  for await (const unknown of unknowns.list({ state: 'open' })) {
    const { outputs, notedAtMs } = unknown.value;
    if (notedAtMs + holdMs >= host.realNowMs()) {
      for (const output of outputs) found.set(formatOutput(output), unknown.key);
    } else {
      await unknowns.write(unknown, { ...unknown, state: 'past' });
    }
  }
  return (output) => found.get(formatOutput(output));
}

/**
 * Holds payments that an unknown transaction may have made already; a person must decide.
 *
 * @returns the payments that may be made.
 */
export async function holdUnknownTransactions(
  context: PassContext,
  payments: readonly StoredPayment[],
): Promise<readonly StoredPayment[]> {
  const findUnknown = await listUnknownTransactions(context);
  const free: StoredPayment[] = [];
  for (const payment of payments) {
    const txid = findUnknown(payment.value);
    if (txid === undefined) {
      free.push(payment);
      continue;
    }
    const message = 'an unknown transaction seems to have made the payment; a person must decide';
    context.note('error', message, { reference: payment.key, txid });
    await context.payments.write(payment, { ...payment, state: 'held' });
  }
  return free;
}
