import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { type KeyRing, openBytes, sealBytes } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { formatTimeCursor, type Paged, readTimeCursor, takePage } from '../db/time-page.ts';
import { describeCover, findCover } from './clearance-cover.ts';
import {
  type ClearanceFilter,
  type ListedClearanceRow,
  readClearances,
  readClearancesInForce,
  readNow,
  writeClearances,
  writeEnd,
} from './clearances.sql.ts';
import type { Hit } from './hit.ts';
import { findNewest, type ScreeningRow, type UserKey, writeReview } from './records.sql.ts';
import { getUserKey, reasonContext, type ScreeningServices } from './records.ts';

/**
 * The list of clearances (a good-guy list): entries of lists that a person found not to be about a
 * recipient, with a reason and an end. A clearance is bound to the content of the entry and to the
 * recipient's data that were compared; if either changes, a person decides again.
 */

type Services = { readonly db: Database; readonly keys: KeyRing };

export type ClearedEntries = UserKey & {
  /** The result that the person has seen. */
  readonly sequence: number;
  /** As list and number of the entry; undefined: all hits of the result. */
  readonly entries: readonly { readonly list: string; readonly entryId: string }[] | undefined;
  readonly until: Date;
  readonly clearedBy: string;
  readonly reason: string;
};

export type Clearance = UserKey & {
  readonly id: string;
  readonly list: string;
  readonly entryId: string;
  readonly entryName: string;
  /** Null where the data of the recipient was erased. */
  readonly reason: string | null;
  readonly clearedBy: string;
  readonly clearedAt: Date;
  readonly until: Date;
  readonly endedBy: string | null;
  readonly endedAt: Date | null;
  /** `changed`: the entry has changed, or is no longer on its list. */
  readonly state: 'in_force' | 'changed' | 'expired' | 'ended';
};

/** A clearance is reviewed once a year at least. */
const clearanceDaysMax = 366;

/**
 * Clears the entries for later payouts too, until the given time. A payout that is held already still
 * needs its own decision.
 *
 * @returns Whether all hits of the recipient are covered now.
 * @throws AppError not_found, invalid_request, illegal_move.
 */
export async function clearEntries(
  { db, keys }: Services,
  given: ClearedEntries,
): Promise<{ cleared: number; isCovered: boolean }> {
  return db.systemTransaction(async (session) => {
    const { userKey, last, hits } = await readClearable({ session, keys }, given);
    const reason = sealBytes(userKey, Buffer.from(given.reason), reasonContext(given));
    await writeClearances(session, {
      accountId: given.accountId,
      userId: given.userId,
      subjectIndex: last.subject_index,
      reason,
      clearedBy: given.clearedBy,
      until: given.until,
      entries: hits.map(({ list, entryId, entryHash = '', name }) => ({
        id: newId(),
        list,
        entry_id: entryId,
        entry_name: name,
        entry_hash: entryHash,
      })),
    });
    return { cleared: hits.length, isCovered: await review(session, given, last) };
  });
}

/**
 * The key of the user, the result, and those of its hits that would be cleared.
 *
 * @throws AppError not_found, user_erased, invalid_request for an end too early or too late, illegal_move.
 */
export async function readClearable(
  { session, keys }: ScreeningServices,
  given: Omit<ClearedEntries, 'clearedBy' | 'reason'>,
): Promise<{ userKey: Buffer; last: ScreeningRow; hits: readonly Hit[] }> {
  const userKey = await getUserKey({ session, keys }, given);
  await checkUntil(session, given.until);
  const last = await getSeenResult(session, given);
  return { userKey, last, hits: chooseHits(last, given.entries) };
}

async function checkUntil(session: Session, until: Date): Promise<void> {
  const now = await readNow(session);
  if (until <= now) throw new AppError('invalid_request', 'until must be in the future');
  if (until.getTime() > now.getTime() + clearanceDaysMax * 86_400_000) {
    const detail = `until must be within ${clearanceDaysMax} days`;
    throw new AppError('invalid_request', detail);
  }
}

async function getSeenResult(
  session: Session,
  given: UserKey & Pick<ClearedEntries, 'sequence'>,
): Promise<ScreeningRow> {
  const last = await findNewest(session, given);
  if (last === undefined) throw new AppError('illegal_move', 'the user was never screened');
  if (last.sequence !== given.sequence) {
    const detail = `the newest result of the user is ${last.sequence}: read it, then clear entries of it`;
    throw new AppError('illegal_move', detail);
  }
  if (last.state === 'confirmed_by_person') {
    const detail =
      'a person confirmed that the user is on a list; decide otherwise with screening decide first';
    throw new AppError('illegal_move', detail);
  }
  return last;
}

function chooseHits(last: ScreeningRow, entries: ClearedEntries['entries']): readonly Hit[] {
  if (last.hits.length === 0) throw new AppError('illegal_move', 'the result has no hits');
  if (entries === undefined) return last.hits;
  return entries.map(({ list, entryId }) => {
    const hit = last.hits.find((one) => one.list === list && one.entryId === entryId);
    if (hit !== undefined) return hit;
    throw new AppError('illegal_move', `${list}/${entryId} is not among the hits of the result`);
  });
}

/** Adds a result after the clearances have changed. @throws AppError illegal_move, if it is stale. */
async function review(session: Session, user: UserKey, last: ScreeningRow): Promise<boolean> {
  const inForce = await readClearancesInForce(session, [user]);
  const cover = findCover(inForce, last.hits, last.subject_index);
  const restsOnClearances = last.cleared_until !== null;
  if (cover === undefined && !restsOnClearances) return last.state === 'cleared_by_person';
  const clearance = cover === undefined ? undefined : describeCover(cover);
  const added = await writeReview(session, user, { sequence: last.sequence, clearance });
  if (added !== undefined) return cover !== undefined;
  throw new AppError('illegal_move', 'the user was screened at the same moment: try again');
}

/** @throws AppError not_found where it is not in force, illegal_move. */
export async function endClearance(
  { db }: Services,
  { id, endedBy }: { id: string; endedBy: string },
): Promise<void> {
  await db.systemTransaction(async (session) => {
    const ended = await writeEnd(session, id, endedBy);
    if (ended === undefined) {
      throw new AppError('not_found', 'No clearance with this id is in force');
    }
    const user = { accountId: ended.account_id, userId: ended.user_id };
    const last = await findNewest(session, user);
    if (last !== undefined && last.cleared_until !== null) await review(session, user, last);
  });
}

/** Newest first. @throws AppError invalid_request for a cursor of no page. */
export async function listClearances(
  { db, keys }: Services,
  filter: ClearanceFilter,
  { cursor, count }: { cursor?: string | undefined; count: number },
): Promise<Paged<Clearance>> {
  const after = readTimeCursor(cursor);
  const found = await readClearances(db.system, filter, { after, count: count + 1 });
  const { rows, next } = takePage(found, count, ({ cleared_us: us, id: key }) =>
    formatTimeCursor({ us, key }),
  );
  return { rows: rows.map((row) => openClearance(keys, row)), next };
}

function openClearance(keys: KeyRing, row: ListedClearanceRow): Clearance {
  const user = { accountId: row.account_id, userId: row.user_id };
  const isErased = row.data_key.length === 0;
  const open = (): string =>
    openBytes(keys.unwrap(row.data_key, user), row.reason, reasonContext(user)).toString();
  return {
    ...user,
    id: row.id,
    list: row.list,
    entryId: row.entry_id,
    entryName: row.entry_name,
    reason: isErased ? null : open(),
    clearedBy: row.cleared_by,
    clearedAt: row.cleared_at,
    until: row.until,
    endedBy: row.ended_by,
    endedAt: row.ended_at,
    state: describeState(row),
  };
}

function describeState(row: {
  ended_at: Date | null;
  is_in_time: boolean;
  is_entry_same: boolean;
}): Clearance['state'] {
  if (row.ended_at !== null) return 'ended';
  if (!row.is_in_time) return 'expired';
  return row.is_entry_same ? 'in_force' : 'changed';
}
