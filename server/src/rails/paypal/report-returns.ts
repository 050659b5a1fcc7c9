import type { CallContext } from '../contract/contract.ts';
import { reportProblem } from '../kit/problem-messages.ts';
import { readBatch } from './batches.ts';
import { isReference, type ReportedTransaction, readTime } from './messages.ts';
import { pickItem } from './outcomes.ts';
import type { RailParts } from './parts.ts';
import type { PaymentRecord } from './payments.ts';
import { findPayout, readAmount } from './reports.ts';
import { markUnread, openUnread } from './unread.ts';

/**
 * Money that came back of a payout as PayPal's report shows it. The batch says what became of it, and is
 * read again: PayPal lists no event for an item that is `REVERSED` after it was paid
 * (developer.paypal.com/payouts/webhooks), and an event can be lost. What no batch tells opens an exception.
 */

const returnedStatuses: readonly string[] = ['RETURNED', 'REFUNDED', 'REVERSED'];

export async function compareReturn(
  parts: RailParts,
  row: ReportedTransaction,
  context: CallContext,
): Promise<void> {
  const { host } = parts;
  const payment = await findPayment(parts, row, context);
  if (payment === 'foreign') return;
  const fault =
    payment === undefined
      ? 'belongs to no payout in the report'
      : await readReturned(parts, { ...payment, row }, context);
  if (fault === undefined) return;
  const { transaction_id: transaction } = row;
  const about = payment === undefined ? '' : ` of ${payment.reference}`;
  const detail = `transaction ${transaction}${about}, money that came back, ${fault}`;
  host.log('error', "PayPal's report shows a return that the records do not", {
    transaction,
    fault,
  });
  const problem = { id: `report:${transaction}`, kind: 'unmatched', detail } as const;
  await reportProblem(host, { ...problem, ...readAmount(row) }, JSON.stringify(row));
}

/**
 * Undefined where the report has no such payout. `foreign`: of another app, of PayPal's web site, or of a
 * payout that the account received.
 */
async function findPayment(
  parts: RailParts,
  row: ReportedTransaction,
  context: CallContext,
): Promise<{ readonly reference: string } | 'foreign' | undefined> {
  if (isReference(row.custom_field)) return { reference: row.custom_field };
  // Money that left again.
  if (row.transaction_amount.value.startsWith('-')) return 'foreign';
  const { paypal_reference_id: id, paypal_reference_id_type: type } = row;
  if (id === undefined || type !== 'TXN') return undefined;
  const untilMs = readTime(row.transaction_initiation_date) ?? parts.host.realNowMs();
  const payout = await findPayout(parts, { id, untilMs }, context);
  if (payout === undefined) return undefined;
  const { custom_field: reference } = payout;
  return isReference(reference) ? { reference } : 'foreign';
}

/** Why the return is not told by its batch, or not as a whole; undefined: it is, and the batch is read. */
async function readReturned(
  parts: RailParts,
  { reference, row }: { readonly reference: string; readonly row: ReportedTransaction },
  context: CallContext,
): Promise<string | undefined> {
  const { host, payments } = parts;
  const record = await payments.find(reference);
  if (record === undefined) {
    return (await payments.isKnown(reference))
      ? 'was paid to an erased recipient'
      : 'has no record';
  }
  const batchId = await findBatch(parts, record);
  if (batchId === '') return 'has no batch that can be read';
  const reading = await readBatch(parts, batchId, context);
  if (reading.kind === 'unclear') throw new Error(`the batch ${batchId} at PayPal cannot be read`);
  // What is not understood, and a batch that is of something else, opens an exception there.
  await markUnread(openUnread(host), batchId);
  host.wake();
  if (reading.kind !== 'batch') return undefined;
  const [item] = pickItem(reading.batch, reference).items;
  if (!returnedStatuses.includes(item?.transaction_status ?? '')) {
    return `is no return in its batch ${batchId}`;
  }
  const money = readAmount(row);
  const { amountMinor, currency } = record.value;
  return money?.amountMinor === amountMinor && money.currency === currency
    ? undefined
    : 'is another amount than was paid, while the return of the whole is booked';
}

async function findBatch({ batches }: RailParts, { value }: PaymentRecord): Promise<string> {
  if (value.batchKey === '') return value.batchId;
  return (await batches.find(value.batchKey))?.value.batchId ?? '';
}
