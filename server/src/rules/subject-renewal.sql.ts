import { plainArray } from '../db/arrays.ts';
import { firstId, hexArray, type IndexCounts, indexPortion } from '../db/indexed-tables.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, one, type RowOf } from '../db/rows.ts';

/** The SQL of computing the hashes of what was screened again. */

/** By whom the data are: a user. */
export type SubjectTable = 'screenings' | 'screening_clearances';

const userColumns = {
  account_id: column.uuid,
  id: column.uuid,
  country: column.text,
  data_key: column.bytes,
  /** As `with_version` answers it. */
  person: column.bytes,
};
export type ScreenedUserRow = RowOf<typeof userColumns>;

function defineUsers(table: SubjectTable) {
  const query = defineQuery({
    name: `list_users_of_${table}`,
    text: `
      select u.account_id, u.id, u.country, u.data_key, with_version(u.version, u.sealed) as person
      from (
        select distinct account_id, user_id from ${table}
        where (account_id, user_id) > ($1::uuid, $2::uuid)
        order by account_id, user_id limit $3
      ) s
      join users u on u.account_id = s.account_id and u.id = s.user_id
      order by u.account_id, u.id`,
    columns: userColumns,
  });
  return (session: Session, after: ScreenedUserRow | undefined): Promise<ScreenedUserRow[]> => {
    const { account_id: accountId = firstId, id = firstId } = after ?? {};
    return many(session, query, [accountId, id, indexPortion]);
  };
}

/** A portion of the users of a table. */
export const listScreenedUsers = {
  screenings: defineUsers('screenings'),
  screening_clearances: defineUsers('screening_clearances'),
};

const payoutColumns = {
  account_id: column.uuid,
  payout_id: column.uuid,
  has_hits: column.boolean,
  user_id: column.uuid,
  country: column.text,
  attr_set_id: nullable(column.uuid),
  attributes: nullable(column.bytes),
  data_key: column.bytes,
  person: column.bytes,
  user_country: column.text,
};
export type HitPayoutRow = RowOf<typeof payoutColumns>;

const payouts = defineQuery({
  name: 'list_screened_payouts',
  text: `
    select s.account_id, s.payout_id, s.has_hits, p.user_id, p.country, p.attr_set_id,
      with_version(v.version, v.sealed) as attributes, u.data_key,
      with_version(u.version, u.sealed) as person, u.country as user_country
    from (
      select account_id, payout_id, bool_or(hits <> '[]') as has_hits from payout_screenings
      where (account_id, payout_id) > ($1::uuid, $2::uuid)
      group by account_id, payout_id
      order by account_id, payout_id limit $3
    ) s
    join payouts p on p.account_id = s.account_id and p.id = s.payout_id
    join users u on u.account_id = p.account_id and u.id = p.user_id
    left join attribute_set_versions v
      on v.account_id = p.account_id and v.set_id = p.attr_set_id and v.version = p.attr_version
    order by s.account_id, s.payout_id`,
  columns: payoutColumns,
});

/** Payouts that were screened, those without hits too. */
export function listHitPayouts(
  session: Session,
  after: HitPayoutRow | undefined,
): Promise<HitPayoutRow[]> {
  const { account_id: accountId = firstId, payout_id: payoutId = firstId } = after ?? {};
  return many(session, payouts, [accountId, payoutId, indexPortion]);
}

/** Of a user or payout. Without hashes, nothing can be computed of it. */
export type RenewedSubject = {
  readonly accountId: string;
  readonly id: string;
  readonly old?: Buffer;
  readonly fresh?: Buffer;
};

const counts = { renewed: column.integer, ended: column.integer };
const replacements = {
  screenings: defineQuery({
    name: 'renew_screening_subjects',
    text: 'select renewed, ended from renew_screening_subjects($1, $2, $3, $4)',
    columns: counts,
  }),
  screening_clearances: defineQuery({
    name: 'renew_clearance_subjects',
    text: 'select renewed, ended from renew_clearance_subjects($1, $2, $3, $4)',
    columns: counts,
  }),
  payout_screenings: defineQuery({
    name: 'renew_payout_subjects',
    text: 'select renewed, ended from renew_payout_subjects($1, $2, $3, $4)',
    columns: counts,
  }),
};

export function replaceSubjects(
  session: Session,
  table: keyof typeof replacements,
  subjects: readonly RenewedSubject[],
): Promise<IndexCounts> {
  return one(session, replacements[table], [
    plainArray(subjects.map(({ accountId }) => accountId)),
    plainArray(subjects.map(({ id }) => id)),
    hexArray(subjects.map(({ old }) => old)),
    hexArray(subjects.map(({ fresh }) => fresh)),
  ]);
}
