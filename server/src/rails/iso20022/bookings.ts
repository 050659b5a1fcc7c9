import { z } from 'zod';
import type { RailHost } from '../contract/contract.ts';
import { minorUnits, openRecords } from '../kit/records.ts';
import type { Money, ReportSource } from './camt.ts';

/**
 * The known bookings of a payment, so that one that several messages report counts once. Banks give no
 * identifier that all messages share: a notification may lack the bank's reference that the
 * statement has, and its day may be that of UTC. A report is therefore compared with the known
 * bookings of the same payment, kind and amount (README.md, "The same booking in several messages").
 */

export type BookingKind = 'debit' | 'return' | 'charge';

/** One mention of a booking in a message. */
export type BookingReport = {
  readonly kind: BookingKind;
  readonly money: Money;
  readonly source: ReportSource;
  /** The hash of the message, and the place in it. */
  readonly message: string;
  readonly position: string;
  /** The bank's, or "". */
  readonly bankReference: string;
  /** YYYY-MM-DD, or "". */
  readonly day: string;
};

const mentionSchema = z.object({
  source: z.enum(['notification', 'statement']),
  message: z.string(),
  position: z.string(),
  bankReference: z.string(),
  day: z.string(),
});

const bookingSchema = z.object({
  id: z.string(),
  kind: z.enum(['debit', 'return', 'charge']),
  currency: z.string(),
  amountMinor: minorUnits,
  mentions: z.array(mentionSchema),
});
export type Booking = z.infer<typeof bookingSchema>;

export type EntryMatch =
  | { readonly outcome: 'same'; readonly booking: Booking }
  | { readonly outcome: 'new' }
  /** It may be a known booking or another one of the same amount: a person decides. */
  | { readonly outcome: 'unclear' };

/** Whether the report is about a known booking. `hasRoom`: the amount leaves room for another one. */
function matchReport(
  known: readonly Booking[],
  report: BookingReport,
  hasRoom: boolean,
): EntryMatch {
  const ofKind = known.filter(({ kind }) => kind === report.kind);
  const repeated = ofKind.find(({ mentions }) =>
    mentions.some(({ message, position }) => isPlace(report, message, position)),
  );
  if (repeated !== undefined) return { outcome: 'same', booking: repeated };
  // One message reports one booking once.
  const candidates = ofKind.filter(
    (booking) =>
      isSameMoney(booking, report) &&
      booking.mentions.every(({ message }) => message !== report.message),
  );
  const verdicts = candidates.map((booking) => ({ booking, verdict: compare(booking, report) }));
  for (const wanted of ['by_reference', 'same_day', 'near'] as const) {
    const found = verdicts.find(({ verdict }) => verdict === wanted);
    if (found !== undefined) return { outcome: 'same', booking: found.booking };
  }
  const unclear = verdicts.find(({ verdict }) => verdict === 'unclear');
  if (unclear !== undefined) {
    return hasRoom ? { outcome: 'unclear' } : { outcome: 'same', booking: unclear.booking };
  }
  return hasOtherAmount(ofKind, report) ? { outcome: 'unclear' } : { outcome: 'new' };
}

function isPlace(report: BookingReport, message: string, position: string): boolean {
  return message === report.message && position === report.position;
}

function isSameMoney(booking: Booking, { money }: BookingReport): boolean {
  return booking.currency === money.currency && booking.amountMinor === money.amountMinor;
}

type Verdict = 'by_reference' | 'same_day' | 'near' | 'unclear' | 'different';

function compare({ mentions }: Booking, report: BookingReport): Verdict {
  const { bankReference, day, source } = report;
  if (bankReference !== '' && mentions.some((one) => one.bankReference === bankReference)) {
    return 'by_reference';
  }
  const isOtherReference =
    bankReference !== '' && mentions.every((one) => one.bankReference !== '');
  const distances = mentions.map((one) => findDistance(one.day, day));
  const isMentioned = mentions.some((one) => one.source === source);
  if (isMentioned) {
    // Messages of one kind repeat a booking as it was; another day or reference is another booking.
    const isRepeated = mentions.some(
      (one) =>
        one.source === source &&
        one.day === day &&
        (one.bankReference === '' || bankReference === ''),
    );
    return isRepeated ? 'same_day' : 'different';
  }
  if (isOtherReference) return 'unclear';
  if (distances.includes(0)) return 'same_day';
  return distances.includes(1) ? 'near' : 'unclear';
}

/** In days. A day that is not given may be any. */
function findDistance(one: string, other: string): number {
  const milliseconds = Math.abs(Date.parse(one) - Date.parse(other));
  return Number.isNaN(milliseconds) ? 0 : Math.round(milliseconds / 86_400_000);
}

/** Another message gave this reference of the bank to another amount. */
function hasOtherAmount(bookings: readonly Booking[], report: BookingReport): boolean {
  const { bankReference, message } = report;
  if (bankReference === '' || report.kind === 'charge') return false;
  const isShared = bookings.some(
    (booking) =>
      isSameMoney(booking, report) &&
      booking.mentions.some((one) => one.bankReference === bankReference),
  );
  return (
    !isShared &&
    bookings.some(({ mentions }) => {
      const isReferenced = mentions.some((one) => one.bankReference === bankReference);
      return isReferenced && mentions.every((one) => one.message !== message);
    })
  );
}

/** This many mentions of one booking are stored; a further one is only compared. */
const mentionsMax = 40;

export type IdentifiedBooking = {
  /** Unique within the rail, the same for every report of the booking. */
  readonly id: string;
  /** The first one of its kind and amount is 1. */
  readonly ordinal: number;
  /** Another message was the first to report it. */
  readonly isRepeated: boolean;
};

/**
 * Stores the report with its booking; undefined where it is unclear which booking it is.
 *
 * @param reported.ordered The payment's amount; undefined where the payment is unknown.
 */
export async function identifyBooking(
  { store }: Pick<RailHost, 'store'>,
  reference: string,
  { report, ordered }: { report: BookingReport; ordered: Money | undefined },
): Promise<IdentifiedBooking | undefined> {
  const records = openRecords(store, {
    collection: 'bookings',
    states: ['known'],
    value: z.object({ bookings: z.array(bookingSchema) }),
  });
  let identified: IdentifiedBooking | undefined;
  await records.update(reference, (record) => {
    const bookings = record?.value.bookings ?? [];
    const match = matchReport(bookings, report, hasRoomFor(report, bookings, ordered));
    identified = undefined;
    if (match.outcome === 'unclear') return undefined;
    const { booking, next } = addReport(bookings, { reference, report, match });
    const equal = next.filter((one) => one.kind === report.kind && isSameMoney(one, report));
    identified = {
      id: booking.id,
      ordinal: equal.indexOf(booking) + 1,
      isRepeated: booking.mentions[0]?.message !== report.message,
    };
    return { state: 'known', value: { bookings: next } };
  });
  return identified;
}

function hasRoomFor(
  { kind, money }: BookingReport,
  bookings: readonly Booking[],
  ordered: Money | undefined,
): boolean {
  if (kind === 'charge' || ordered === undefined || ordered.currency !== money.currency) {
    return true;
  }
  const sumMinor = bookings
    .filter((one) => one.kind === kind && one.currency === money.currency)
    .reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  return sumMinor + money.amountMinor <= ordered.amountMinor;
}

function addReport(
  bookings: readonly Booking[],
  added: {
    reference: string;
    report: BookingReport;
    match: Exclude<EntryMatch, { outcome: 'unclear' }>;
  },
): { booking: Booking; next: Booking[] } {
  const { reference, report, match } = added;
  const { kind, money, source, message, position, bankReference, day } = report;
  const mention = { source, message, position, bankReference, day };
  if (match.outcome === 'same') {
    const known = match.booking;
    const isKept =
      known.mentions.length >= mentionsMax ||
      known.mentions.some((one) => isPlace(report, one.message, one.position));
    const booking = isKept ? known : { ...known, mentions: [...known.mentions, mention] };
    return { booking, next: bookings.map((one) => (one === known ? booking : one)) };
  }
  const equal = bookings.filter((one) => one.kind === kind && isSameMoney(one, report));
  const id = `${reference}:${kind}:${money.amountMinor}${money.currency}:${equal.length + 1}`;
  const booking: Booking = {
    id,
    kind,
    currency: money.currency,
    amountMinor: money.amountMinor,
    mentions: [mention],
  };
  return { booking, next: [...bookings, booking] };
}
