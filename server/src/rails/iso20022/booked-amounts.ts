import type { BookingKind, BookingReport } from './bookings.ts';
import type { BookedEntry, Money, ReportSource } from './camt.ts';
import { type MessageContext, moneyOf } from './findings.ts';
import type { Payment } from './payments.ts';

/** Compares the amount of an entry with that of its payment. */

export type EntryContext = {
  readonly context: MessageContext;
  readonly atMs: number;
  readonly source: ReportSource;
};

export function describeReport(
  kind: BookingKind,
  { entry, booked, given }: { entry: BookedEntry; booked: Money; given: EntryContext },
): BookingReport {
  return {
    kind,
    money: booked,
    source: given.source,
    message: given.context.message,
    position: entry.position,
    bankReference: entry.bankReference,
    day: entry.bookedAt.slice(0, 10),
  };
}

/**
 * A debit belongs to the payment if it has its amount: with or without the charges that it contains,
 * or as the instructed amount where the bank books in another currency or adds charges. A debit that
 * is larger without an explanation may be a charge.
 */
export function isAmountOf(entry: BookedEntry, payment: Payment): boolean {
  const { booked, otherAmounts } = entry;
  const ordered = moneyOf(payment);
  if (booked === undefined) return false;
  if (isSame(booked, ordered)) return true;
  const netMinor = booked.amountMinor - sumIncluded(entry, booked);
  if (isSame({ ...booked, amountMinor: netMinor }, ordered)) return true;
  const isSmaller =
    booked.currency === ordered.currency && booked.amountMinor < ordered.amountMinor;
  return !isSmaller && otherAmounts.some((amount) => isSame(amount, ordered));
}

/**
 * The returned amount in the payment's currency, before the charges that the bank deducted, which are
 * counted as charges. Undefined where the entry has no amount in that currency.
 */
export function findReturned(entry: BookedEntry, payment: Payment): bigint | undefined {
  const { booked, otherAmounts } = entry;
  const { currency } = moneyOf(payment);
  if (booked?.currency === currency) return booked.amountMinor + sumIncluded(entry, booked);
  return otherAmounts.find((amount) => amount.currency === currency)?.amountMinor;
}

function isSame(one: Money, other: Money): boolean {
  return one.currency === other.currency && one.amountMinor === other.amountMinor;
}

function sumIncluded({ charges }: BookedEntry, { currency }: Money): bigint {
  return charges
    .filter((charge) => charge.isIncluded && charge.currency === currency)
    .reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
}
