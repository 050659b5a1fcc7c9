import type { KeyRing } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { beginWideReading } from '../db/postgres/snapshot.ts';
import { listVouchedBookings, selectUnmatchedBookings } from './booking-proof.sql.ts';
import { describeBooking } from './bookings.ts';
import { nilAccount } from './chain.ts';

/**
 * The chains show that no journal was changed, not that the service wrote it: the triggers link and post
 * what the owner of the database inserts. Money that enters a balance therefore needs a booking, whose code
 * only the service can compute.
 */

export type WrongBooking = {
  account_id: string;
  currency: string;
  /** Minor units; negative: taken from the balance. */
  amount: string;
  /** "" where no journal posted it. */
  journal_id: string;
  /** "" where nothing was booked. */
  reference: string;
  /**
   * `not_booked`: the journal has no booking; `no_journal`: the booking was not posted; `forged`: the
   * booking was written or changed past the service.
   */
  code: 'not_booked' | 'no_journal' | 'forged';
};

const pageRows = 500;
const wrongMax = 100;

/**
 * Compares money from outside and corrections with what operators booked. `isFundingFree`: clients fund
 * their balances themselves, as in staging.
 */
export function verifyBookings(
  db: Database,
  { keys, isFundingFree }: { keys: Pick<KeyRing, 'isMac'>; isFundingFree: boolean },
): Promise<WrongBooking[]> {
  return db.systemTransaction(async (session) => {
    await beginWideReading(session);
    const unmatched = await selectUnmatchedBookings(session, { isFundingFree });
    const wrong = unmatched.map((row): WrongBooking => {
      return { ...row, code: row.journal_id === '' ? 'no_journal' : 'not_booked' };
    });
    return [...wrong, ...(await findForged(session, keys))].slice(0, wrongMax);
  });
}

async function findForged(session: Session, keys: Pick<KeyRing, 'isMac'>): Promise<WrongBooking[]> {
  const forged: WrongBooking[] = [];
  for (let after = { account_id: nilAccount, reference: '' }; ; ) {
    const rows = await listVouchedBookings(session, after, pageRows);
    for (const row of rows) {
      if (keys.isMac(describeBooking(row), row.mac)) continue;
      const { account_id: accountId, currency, amount, reference } = row;
      const place = { account_id: accountId, currency, amount: amount.toString() };
      forged.push({ ...place, journal_id: '', reference, code: 'forged' });
    }
    after = rows.at(-1) ?? after;
    if (rows.length < pageRows || forged.length >= wrongMax) return forged;
  }
}
