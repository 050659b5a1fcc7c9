import { type AuditLog, appendClientAudit, type ClientRequest } from '../audit/audit.ts';
import { eraseInputs } from '../batches/erase-inputs.ts';
import { formatSecondsZ } from '../core/clock.ts';
import { AppError, assert } from '../core/errors.ts';
import { formatToken, newId } from '../core/ids.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { formatTimeCursor, type Paged, readTimeCursor, takePage } from '../db/time-page.ts';
import { forgetMetadata } from '../payouts/payout-metadata.ts';
import {
  completeErasure,
  endHoldRow,
  eraseRow,
  type HoldFilter,
  type HoldRow,
  insertHold,
  isHoldInForce,
  listErasures,
  listHoldRows,
  listIntact,
  listUnfinished,
  type UserKey,
} from './erasure.sql.ts';
import { appendTombstones, readTombstones, type TombstonePlace } from './tombstones.ts';

export type { HoldRow } from './erasure.sql.ts';

/**
 * Erases the data of a person: destroys the key that seals it, and empties the copies that are sealed
 * under the environment's keys. What was erased is also noted in a file outside of the database, so
 * that a restore of an older backup erases it again before the service opens.
 */

export type ErasureServices = { db: Database; keys: KeyRing; tombstones: TombstonePlace };

export type Erasure = UserKey & {
  actor: string;
  reason: string;
  /** Whose request it is, where a client asks by API. */
  client?: ClientRequest;
};

/**
 * Returns when the user was erased, now or before.
 *
 * @throws AppError not_found, payouts_open, legal_hold with the date of its end.
 */
export async function eraseUser(services: ErasureServices, erasure: Erasure): Promise<Date> {
  const { db, tombstones } = services;
  const { accountId, userId } = erasure;
  const at = await db.systemTransaction(
    async (session) => {
      // Nothing of it stays where the erasure is refused.
      await forgetMetadata({ session, keys: services.keys }, erasure);
      const row = await eraseRow(session, erasure, erasure);
      if (row.result === 'not_found') throw new AppError('not_found', 'User not found');
      if (row.result === 'open_payouts') {
        throw new AppError('payouts_open', 'Payouts to this user have not ended');
      }
      assert(row.at !== null, 'erase_user answers a time');
      if (row.result === 'held') {
        const until = formatSecondsZ(row.at);
        const detail = `A legal hold keeps the data of this user until ${until}`;
        throw new AppError('legal_hold', detail);
      }
      // Before the commit: an erasure that a restore could undo has not happened.
      if (row.result === 'erased') {
        await appendTombstones(tombstones, [{ accountId, userId, erasedAt: row.at }]);
        if (erasure.client !== undefined) {
          await auditErasure({ session, keys: services.keys }, erasure.client, { userId });
        }
      }
      return row.at;
    },
    { accountId },
  );
  await completeOne(services, erasure);
  return at;
}

/** An erasure that a client asked for: done, or refused with this code. */
export async function auditErasure(
  log: AuditLog,
  client: ClientRequest,
  { userId, refusedBecause }: { userId: string; refusedBecause?: string },
): Promise<void> {
  const object = { user: formatToken('user', userId) };
  await appendClientAudit(log, client, {
    action: 'user erase',
    object,
    ...(refusedBecause !== undefined && {
      outcome: 'refused',
      after: { error: refusedBecause },
    }),
  });
}

/** Empties batch files, which is slow and needs no lock on the account. */
async function completeOne(services: ErasureServices, user: UserKey): Promise<void> {
  await eraseInputs(services, user);
  await completeErasure(services.db.system, user);
}

/**
 * Erases again what a restore brought back, and completes erasures that a crash interrupted. Those of
 * users with payouts that have not ended wait for the next call. Returns how many wait.
 */
export async function reapplyErasures(services: ErasureServices): Promise<number> {
  const { db, tombstones } = services;
  let waiting = 0;
  const noted = readTombstones(tombstones);
  for (let first = 0; first < noted.length; first += portion) {
    const intact = await listIntact(db.system, noted.slice(first, first + portion));
    for (const user of intact) {
      try {
        await eraseUser(services, {
          ...user,
          actor: 'restore',
          reason: 'erased before the restore',
        });
      } catch (error) {
        if (!(error instanceof AppError) || !waitingCodes.has(error.code)) throw error;
        waiting += 1;
      }
    }
  }
  for (const user of await listUnfinished(db.system)) await completeOne(services, user);
  // Erasures of another process, whose file this one may not see.
  const known = new Set(noted.map(({ accountId, userId }) => `${accountId} ${userId}`));
  const missing = (await listErasures(db.system, new Date(0)))
    .filter((row) => !known.has(`${row.account_id} ${row.user_id}`))
    .map((row) => ({ accountId: row.account_id, userId: row.user_id, erasedAt: row.erased_at }));
  await appendTombstones(tombstones, missing);
  return waiting;
}

const portion = 1_000;
const waitingCodes: ReadonlySet<string> = new Set(['payouts_open', 'legal_hold']);

/** @throws AppError invalid_request for an end that has passed, user_erased. */
export async function placeHold(
  db: Database,
  hold: UserKey & { reason: string; placedBy: string; until: Date },
  now: Date,
): Promise<HoldRow> {
  if (hold.until <= now) throw new AppError('invalid_request', 'until must be in the future');
  const row = await insertHold(db.system, { ...hold, id: newId() });
  if (row === undefined) throw new AppError('user_erased', 'The data of this user was erased');
  return row;
}

export async function isErased(session: Session, user: UserKey): Promise<boolean> {
  return (await listIntact(session, [user])).length === 0;
}

const noHold = () => new AppError('not_found', 'No legal hold with this id is in force');

/** @throws AppError not_found where no such hold is in force. */
export async function requireHold(session: Session, id: string): Promise<void> {
  if (!(await isHoldInForce(session, id))) throw noHold();
}

/** @throws AppError not_found where no such hold is in force. */
export async function endHold(
  db: Database,
  hold: { id: string; endedBy: string },
): Promise<HoldRow> {
  const row = await endHoldRow(db.system, hold);
  if (row === undefined) throw noHold();
  return row;
}

/** The newest first. @throws AppError invalid_request for a cursor of no page. */
export async function listHolds(
  session: Session,
  filter: HoldFilter,
  { cursor, count }: { cursor: string | undefined; count: number },
): Promise<Paged<HoldRow>> {
  const after = readTimeCursor(cursor);
  const found = await listHoldRows(session, filter, { after, count: count + 1 });
  const { rows, next } = takePage(found, count, ({ placed_us: us, id: key }) =>
    formatTimeCursor({ us, key }),
  );
  return { rows: rows.map(({ placed_us: _, ...row }) => row), next };
}
