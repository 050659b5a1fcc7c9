import { findUserKey, type KeyRing } from '../core/sealing.ts';
import { computeOf, type IndexedTable, renewPortions } from '../db/indexed-tables.ts';
import { indexPayoutSubject } from '../screening/payout-screenings.ts';
import { indexSubject } from '../screening/records.ts';
import { openPerson } from '../users/users.ts';
import { describePerson, readScreenedPayout } from './screened-payout.ts';
import {
  type HitPayoutRow,
  listHitPayouts,
  listScreenedUsers,
  type RenewedSubject,
  replaceSubjects,
  type ScreenedUserRow,
  type SubjectTable,
} from './subject-renewal.sql.ts';

/**
 * Results and clearances state the data that were compared as a keyed hash. Those of the data that a
 * recipient or payout has now are computed again. Older ones match nothing but the same data, should they
 * come back: a rotation ends that, and a person is asked again.
 */

const createUsers = (table: SubjectTable): IndexedTable => ({
  table,
  columns: [`${table}.subject_index`],
  renew: ({ session, old, fresh }) =>
    renewPortions(session, listScreenedUsers[table], (rows) =>
      replaceSubjects(
        session,
        table,
        rows.map((row) => {
          const { account_id: accountId, id } = row;
          const person = computeOf([accountId, id], () => readPerson(fresh, row));
          if (person === undefined) return { accountId, id };
          return {
            accountId,
            id,
            old: indexSubject(old, person),
            fresh: indexSubject(fresh, person),
          };
        }),
      ),
    ),
});

/** Undefined for an erased user. */
function readPerson(keys: KeyRing, row: ScreenedUserRow) {
  const owner = { accountId: row.account_id, userId: row.id };
  const userKey = findUserKey(keys, row.data_key, owner);
  if (userKey === undefined) return undefined;
  return describePerson(openPerson(userKey, { ...owner, sealed: row.person }), row.country);
}

export const indexedScreenings = createUsers('screenings');
export const indexedClearances = createUsers('screening_clearances');

/** Only of payouts with hits: what was clear is never looked for. */
export const indexedPayoutScreenings: IndexedTable = {
  table: 'payout_screenings',
  columns: ['payout_screenings.subject_index'],
  renew: ({ session, old, fresh }) =>
    renewPortions(session, listHitPayouts, (rows) =>
      replaceSubjects(
        session,
        'payout_screenings',
        rows.map((row) => renewPayout({ old, fresh }, row)),
      ),
    ),
};

function renewPayout(
  { old, fresh }: { old: KeyRing; fresh: KeyRing },
  row: HitPayoutRow,
): RenewedSubject {
  const { account_id: accountId, payout_id: id } = row;
  const isErased = row.data_key.length === 0;
  if (!row.has_hits || isErased) return { accountId, id };
  const payout = computeOf([accountId, id], () => readScreenedPayout(fresh, row));
  return {
    accountId,
    id,
    old: indexPayoutSubject(old, payout),
    fresh: indexPayoutSubject(fresh, payout),
  };
}
