import { approve, type Deciding } from '../controls/two-persons.ts';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Database } from '../db/postgres/pool.ts';
import { type Booking, bookBalanceRow, findBooking } from './bookings.sql.ts';

export { type BookingRow, listBookingRows as listBookings } from './bookings.sql.ts';

/**
 * What operators book on balances: money that came in from outside, and corrections. Each booking has a
 * reference, under which it is made once however often it is asked for.
 */

export type Booked = {
  /** `booked_before`: this reference was booked with the same values, and nothing was added. */
  result: 'booked' | 'booked_before' | 'waiting';
  /** After the booking; undefined while it waits for another person. */
  balanceMinor: bigint | undefined;
};

/** @throws AppError illegal_move: the reference has other values, or the balance does not cover it. */
export async function bookBalance(
  db: Database,
  booking: Booking,
  deciding: Deciding & { personsNeeded: number },
): Promise<Booked> {
  return db.systemTransaction(async (session) => {
    const known = await findBooking(session, booking);
    if (known === undefined) {
      const { accountId, reference, kind, currency, amountMinor } = booking;
      const decision = await approve(
        session,
        {
          action: 'book_balance',
          object: `${accountId} ${reference}`,
          values: { kind, currency, amount: amountMinor.toString() },
        },
        deciding,
      );
      if (decision === 'waiting') return { result: decision, balanceMinor: undefined };
    }
    const row = await bookBalanceRow(session, { ...booking, ...deciding, token: newId() });
    switch (row.result) {
      case 'reference_used':
        throw new AppError(
          'illegal_move',
          'the reference was booked with another amount, currency or kind; use another reference',
        );
      case 'not_covered':
        throw new AppError(
          'illegal_move',
          'the balance is less than the amount; what batches have reserved cannot be taken',
        );
      default:
        return { result: row.result, balanceMinor: row.balance ?? undefined };
    }
  });
}
