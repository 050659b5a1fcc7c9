import { readAddendaField } from './addenda-layout.ts';
import { formatRecordDate } from './banking-days.ts';
import { isChangeCode } from './change-codes.ts';
import type { InboundEntry } from './inbound-reader.ts';
import { type Context, listOwners, type PaymentRecord, type TraceOwner } from './records.ts';

/**
 * Finds the payment of a return or a notification of change by the original trace number. The other
 * fields that the entry repeats of the original must not contradict it.
 */
export type Match =
  | { readonly kind: 'payment'; readonly payment: PaymentRecord; readonly amountMinor: bigint }
  | { readonly kind: 'own_debit' }
  | { readonly kind: 'none'; readonly why: string };

type Candidate = { readonly owner: TraceOwner; readonly payment: PaymentRecord };

export async function matchEntry(context: Context, entry: InboundEntry): Promise<Match> {
  const owners = await listOwners(context, readAddendaField(entry.record, 'originalTrace'));
  if (owners.length === 0) {
    return { kind: 'none', why: 'no file of this rail has the original trace number' };
  }
  if (owners.every(({ reference }) => reference === '')) return { kind: 'own_debit' };
  const candidates: Candidate[] = [];
  let why = '';
  for (const owner of owners) {
    if (owner.reference === '') continue;
    const payment = await findPayment(context, owner);
    if (payment === undefined) {
      why = 'the payment of the original trace number has no record';
      continue;
    }
    const candidate = { owner, payment };
    const contradiction = findContradiction(candidate, entry);
    if (contradiction === undefined) candidates.push(candidate);
    else why = contradiction;
  }
  const [found] =
    candidates.length > 1 ? await selectCandidate(context, candidates, entry) : candidates;
  if (found === undefined) {
    const several = `${candidates.length} payments have had the original trace number`;
    return { kind: 'none', why: candidates.length > 1 ? several : why };
  }
  const { payment, owner } = found;
  const { amountMinor } = owner;
  if (entry.isBatchSound || isExact(found, entry)) return { kind: 'payment', payment, amountMinor };
  return { kind: 'none', why: 'its batch is not sound and it does not repeat the payment exactly' };
}

/**
 * Of a payment whose recipient was erased only the owner of the trace number is left. Its payout has ended,
 * so that what comes back is a return.
 */
async function findPayment(
  { payments }: Context,
  { reference, fileId, amountMinor }: TraceOwner,
): Promise<PaymentRecord | undefined> {
  const payment = await payments.find(reference);
  if (payment !== undefined || !(await payments.isKnown(reference))) return payment;
  const value = { draft: null, amountMinor, sentAtMs: 0, fileId, returnedMinor: {} };
  return { key: reference, state: 'paid', revision: 0, value };
}

/** A field of the entry that contradicts the payment; undefined where the two agree. */
function findContradiction(
  { payment, owner: { amountMinor } }: Candidate,
  entry: InboundEntry,
): string | undefined {
  const { draft } = payment.value;
  const rdfi = readAddendaField(entry.record, 'originalRdfi');
  if (entry.isDebit) return 'it is a debit, and the payment was a credit';
  if (rdfi !== '' && draft !== null && rdfi !== draft.routingNumber.slice(0, 8)) {
    return 'its receiving bank is not that of the payment';
  }
  const identification = payment.key.slice(-15).toLowerCase();
  if (entry.identification !== '' && entry.identification.toLowerCase() !== identification) {
    return 'its identification is not that of the payment';
  }
  const original = readOriginalAmount(entry);
  if (original !== undefined && original !== amountMinor) {
    return 'its original amount is not that of the payment';
  }
  if (entry.amountMinor > amountMinor) return 'its amount exceeds that of the payment';
  return undefined;
}

/**
 * The amount of the original entry, which the return of an IAT carries in positions 36 to 45, since
 * less may come back from abroad.
 */
function readOriginalAmount({ isInternational, record }: InboundEntry): bigint | undefined {
  if (!isInternational || record.typeCode !== '99') return undefined;
  const text = readAddendaField(record, 'information').slice(0, 10);
  return /^[0-9]{10}$/.test(text) && BigInt(text) > 0n ? BigInt(text) : undefined;
}

/** Of several payments with one trace number, the one of the batch's date, else of the amount. */
async function selectCandidate(
  context: Context,
  candidates: readonly Candidate[],
  entry: InboundEntry,
): Promise<readonly Candidate[]> {
  const ofDate: Candidate[] = [];
  for (const candidate of candidates) {
    const file = await context.files.find(candidate.owner.fileId);
    const date = file && formatRecordDate(file.value.effectiveOn);
    if (date === entry.effectiveDate) ofDate.push(candidate);
  }
  if (ofDate.length === 1) return ofDate;
  const left = ofDate.length > 1 ? ofDate : candidates;
  const ofAmount = left.filter(({ owner }) => owner.amountMinor === entry.amountMinor);
  return ofAmount.length === 1 ? ofAmount : [];
}

/** Whether an entry repeats bank and whole amount: then it counts in a faulty batch, too. */
function isExact({ payment, owner }: Candidate, entry: InboundEntry): boolean {
  const rdfi = readAddendaField(entry.record, 'originalRdfi');
  return (
    entry.record.typeCode === '99' &&
    entry.amountMinor === owner.amountMinor &&
    payment.value.draft !== null &&
    rdfi === payment.value.draft.routingNumber.slice(0, 8)
  );
}

/** The code of the report; undefined where the field does not have the form of one. */
export function readCode({ record }: InboundEntry): string | undefined {
  const code = readAddendaField(record, 'code');
  if (record.typeCode === '99') return /^R[0-9]{2}$/.test(code) ? code : undefined;
  return isChangeCode(code) ? code : undefined;
}
