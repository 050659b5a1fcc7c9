import type { BookedEntry } from './camt.ts';
import { findBatchReferences } from './files.ts';
import { findPayment, isPayoutReference, isReference, type StatementContext } from './findings.ts';
import type { Payment } from './payments.ts';

/** Which payment, or which batch of payments, a booked entry is about. */
export type EntryTarget =
  | { readonly kind: 'payment'; readonly payment: Payment }
  /** Without payments that were rejected before. */
  | { readonly kind: 'batch'; readonly id: string; readonly payments: readonly Payment[] }
  /** It has the form of a payout's reference, and this rail has no record of it. */
  | { readonly kind: 'unknown_payout'; readonly reference: string }
  | { readonly kind: 'none' };

/**
 * By our references first, then by the bank's number of a known debit, then by the batch. A number of
 * the bank alone is trusted only where the amount fits, since banks reuse numbers.
 */
export async function findTarget(
  entry: BookedEntry,
  context: StatementContext,
): Promise<EntryTarget> {
  const { endToEndId, instructionId, bankReference, batch } = entry;
  const { book, bankReferences } = context;
  const payment = await findPayment(book, [endToEndId, instructionId]);
  if (payment !== undefined) return { kind: 'payment', payment };
  const unknown = [endToEndId, instructionId].find(isPayoutReference);
  if (unknown !== undefined) return { kind: 'unknown_payout', reference: unknown };
  const listed = await findListed(batch?.endToEndIds ?? [], context);
  if (listed.length > 0) return { kind: 'batch', id: batch?.id ?? '', payments: listed };
  const owner = await bankReferences.find(bankReference);
  if (owner !== undefined) {
    const known = await book.find(owner);
    if (known !== undefined && fits(entry, known)) return { kind: 'payment', payment: known };
    const batched = await findBatch(owner, context);
    if (batched.length > 0) return { kind: 'batch', id: owner, payments: batched };
  }
  // An end-to-end id that is unknown names one payment, and none of ours.
  if (batch === undefined || batch.id === '' || isReference(endToEndId)) return { kind: 'none' };
  const payments = await findBatch(batch.id, context);
  const [only, ...others] = payments;
  if (only === undefined) return { kind: 'none' };
  return others.length === 0
    ? { kind: 'payment', payment: only }
    : { kind: 'batch', id: batch.id, payments };
}

function fits({ booked, isReturn, direction }: BookedEntry, payment: Payment): boolean {
  const { currency, amountMinor } = payment.value.order;
  if (direction === 'credit' && !isReturn) return false;
  return booked?.currency === currency && booked.amountMinor <= amountMinor;
}

async function findListed(
  references: readonly string[],
  { book }: StatementContext,
): Promise<Payment[]> {
  const payments: Payment[] = [];
  for (const reference of references.filter(isReference)) {
    const payment = await book.find(reference);
    if (payment !== undefined) payments.push(payment);
  }
  return payments;
}

/** The payments of one of our groups, or of a whole file. */
async function findBatch(id: string, { files, book }: StatementContext): Promise<Payment[]> {
  const payments: Payment[] = [];
  for (const reference of await findBatchReferences(files, id)) {
    const payment = await book.find(reference);
    if (payment !== undefined && payment.state !== 'rejected') payments.push(payment);
  }
  return payments;
}
