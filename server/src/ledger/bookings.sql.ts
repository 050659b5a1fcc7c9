import type { Session, Statement } from '../db/postgres/pool.ts';
import {
  column,
  defineQuery,
  exec,
  many,
  maybeOne,
  nullable,
  one,
  type RowOf,
} from '../db/rows.ts';
import { cursorValues, microseconds, startOf, type TimePage } from '../db/time-page.ts';

/** Money from outside, a correction of a balance, and what clears suspense. */
const bookingKinds = ['fund', 'adjust', 'suspense'] as const;

/** What the code of a booking covers. */
export const vouchedColumns = {
  account_id: column.uuid,
  reference: column.text,
  kind: column.text,
  currency: column.text,
  payout_id: nullable(column.uuid),
  amount: column.bigint,
  booked_by: column.text,
  reason: column.text,
};

const book = defineQuery({
  name: 'book_balance',
  text: `select result, balance, token from book_balance($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
  columns: {
    result: column.oneOf('booked', 'booked_before', 'reference_used', 'not_covered'),
    balance: column.bigint,
    token: nullable(column.uuid),
  },
});

const listed = defineQuery({
  name: 'list_bookings',
  text: `
    select reference, kind, currency, payout_id, amount, balance_after, reason, booked_by, booked_at,
      ${microseconds('booked_at')} as booked_us
    from balance_bookings
    where account_id = $1 and (booked_at, reference) < (${startOf('$2', 'desc')}, $3::text)
    order by booked_at desc, reference desc
    limit $4`,
  columns: {
    reference: column.text,
    kind: column.oneOf(...bookingKinds),
    currency: column.text,
    payout_id: nullable(column.uuid),
    amount: column.bigint,
    balance_after: column.bigint,
    reason: column.text,
    booked_by: column.text,
    booked_at: column.instant,
    booked_us: column.bigint,
  },
});

export type Booking = {
  accountId: string;
  kind: (typeof bookingKinds)[number];
  /** Unique within the account. */
  reference: string;
  currency: string;
  /** Whose amount in suspense is cleared; of no other kind. */
  payoutId?: string;
  /** Negative: taken from the balance or from suspense. */
  amountMinor: bigint;
};

export async function bookBalanceRow(
  session: Session,
  booking: Booking & { by: string; reason: string; token: string; mac: Buffer },
): Promise<RowOf<typeof book.columns>> {
  const { accountId, kind, reference, currency, payoutId, amountMinor, by, reason } = booking;
  const signed = [by, reason, booking.token, booking.mac];
  const values = [accountId, kind, reference, currency, payoutId ?? null, amountMinor, ...signed];
  return one(session, book, values);
}

const found = defineQuery({
  name: 'find_booking',
  text: `select amount from balance_bookings where account_id = $1 and reference = $2`,
  columns: { amount: column.bigint },
});

/** Undefined: the reference is new. */
export async function findBooking(
  session: Session,
  { accountId, reference }: Pick<Booking, 'accountId' | 'reference'>,
): Promise<bigint | undefined> {
  return (await maybeOne(session, found, [accountId, reference]))?.amount;
}

/** Serializes the deposits that one operator records, until the transaction ends. */
const lock: Statement = {
  name: 'lock_deposits_of',
  text: `select pg_advisory_xact_lock(hashtext('deposits'), hashtext($1))`,
};

const deposits = defineQuery({
  name: 'list_deposits_of_a_day',
  text: `
    select currency, amount from balance_bookings
    where booked_by = $1 and kind = 'fund' and booked_at > (select environment_now()) - interval '1 day'
      and (account_id, reference) <> ($2::uuid, $3::text)`,
  columns: { currency: column.text, amount: column.bigint },
});

export async function lockDeposits(session: Session, by: string): Promise<void> {
  await exec(session, lock, [by]);
}

/** What the operator recorded as money that came in within a day, but for the named booking. */
export async function listDepositRows(
  session: Session,
  { by, accountId, reference }: Pick<Booking, 'accountId' | 'reference'> & { by: string },
): Promise<RowOf<typeof deposits.columns>[]> {
  return many(session, deposits, [by, accountId, reference]);
}

export type BookingRow = RowOf<typeof listed.columns>;

export async function listBookingRows(
  session: Session,
  { accountId, after, count }: TimePage & { accountId: string },
): Promise<BookingRow[]> {
  return many(session, listed, [accountId, ...cursorValues(after), count]);
}
