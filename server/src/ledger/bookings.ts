import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { type KeyRing, rowContext } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { defineProtectedTable, renewMac } from '../db/protected-tables.ts';
import type { RowOf } from '../db/rows.ts';
import { formatTimeCursor, type Paged, readTimeCursor, takePage } from '../db/time-page.ts';
import {
  type Booking,
  type BookingRow,
  bookBalanceRow,
  findBooking,
  listBookingRows,
  lockDeposits,
  vouchedColumns,
} from './bookings.sql.ts';

export {
  type Booking,
  listDepositRows as listDeposits,
} from './bookings.sql.ts';

/**
 * What operators book on balances: money that came in from outside, and corrections; and what they clear from
 * suspense. Each booking has a reference, under which it is made once however often it is asked for.
 */

export type Booked = {
  /** `booked_before`: this reference was booked with the same values, and nothing was added. */
  result: 'booked' | 'booked_before';
  /** After the booking. */
  balanceMinor: bigint;
};

/** What the code of a booking covers. */
export type VouchedBooking = RowOf<typeof vouchedColumns>;

export function describeBooking(row: VouchedBooking): string {
  const { account_id: accountId, reference, kind, currency, amount, booked_by: by, reason } = row;
  const money = [kind, currency, row.payout_id ?? '', amount.toString()];
  return rowContext('balance_bookings', accountId, reference, ...money, by, reason);
}

export const protectedBookings = defineProtectedTable({
  table: 'balance_bookings',
  key: { account_id: 'uuid', reference: 'text' },
  values: ['mac'],
  columns: vouchedColumns,
  replacement: 'renew_balance_bookings',
  renew: renewMac(describeBooking),
});

/**
 * `check` runs in the transaction of a new booking, when no other deposit of the same person can be
 * recorded any more, and refuses it by throwing.
 *
 * @throws AppError illegal_move: the reference has other values, or the balance or suspense does not cover it.
 */
export async function bookBalance(
  { db, keys }: { db: Database; keys: KeyRing },
  booking: Booking,
  deciding: { by: string; reason: string; check?(session: Session): Promise<void> },
): Promise<Booked> {
  const { check, ...signed } = deciding;
  const { accountId, payoutId = null, reference, kind, currency } = booking;
  const place = { account_id: accountId, payout_id: payoutId, reference };
  const vouched = { ...place, kind, currency, amount: booking.amountMinor };
  const mac = keys.mac(
    describeBooking({ ...vouched, booked_by: signed.by, reason: signed.reason }),
  );
  return db.systemTransaction(async (session) => {
    if (check !== undefined) await lockDeposits(session, signed.by);
    const row = await bookBalanceRow(session, { ...booking, ...signed, token: newId(), mac });
    if (row.result === 'booked') await check?.(session);
    switch (row.result) {
      case 'reference_used':
        throw new AppError(
          'illegal_move',
          'the reference was booked with another amount, currency, kind or payout; use another reference',
        );
      case 'not_covered':
        throw new AppError(
          'illegal_move',
          booking.kind === 'suspense'
            ? 'what the payout left in suspense must come closer to zero: a positive amount covers what was written off, a negative one takes from an excess'
            : 'the balance is less than the amount; what batches have reserved cannot be taken',
        );
      default:
        return { result: row.result, balanceMinor: row.balance };
    }
  });
}

/** The newest first. @throws AppError invalid_request for a cursor of no page. */
export async function listBookings(
  session: Session,
  accountId: string,
  { cursor, count }: { cursor: string | undefined; count: number },
): Promise<Paged<Omit<BookingRow, 'booked_us'>>> {
  // A reference is any text.
  const after = readTimeCursor(cursor, () => true);
  const found = await listBookingRows(session, { accountId, after, count: count + 1 });
  const { rows, next } = takePage(found, count, ({ booked_us: us, reference: key }) =>
    formatTimeCursor({ us, key }),
  );
  return { rows: rows.map(({ booked_us: _, ...row }) => row), next };
}

/** Whether the reference was booked, with whatever values. */
export async function isBooked(
  db: Database,
  reference: Pick<Booking, 'accountId' | 'reference'>,
): Promise<boolean> {
  return (await findBooking(db.system, reference)) !== undefined;
}
