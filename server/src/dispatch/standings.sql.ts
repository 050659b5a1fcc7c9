import { plainArray, textArray } from '../db/arrays.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, type RowOf } from '../db/rows.ts';

const addCounts: Statement = {
  name: 'count_payer_days',
  text: `
    insert into payer_days as d (rail, payer_key, day, paid, refused, refused_by_payer, unknown,
      unreached, returned, late)
    select rail, payer_key, (environment_now() at time zone 'UTC')::date, paid, refused,
      refused_by_payer, unknown, unreached, returned, late
    from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
      $7::bigint[], $8::bigint[], $9::bigint[])
      as c (rail, payer_key, paid, refused, refused_by_payer, unknown, unreached, returned, late)
    order by rail, payer_key
    on conflict (rail, payer_key, day) do update set
      paid = d.paid + excluded.paid, refused = d.refused + excluded.refused,
      refused_by_payer = d.refused_by_payer + excluded.refused_by_payer,
      unknown = d.unknown + excluded.unknown, unreached = d.unreached + excluded.unreached,
      returned = d.returned + excluded.returned, late = d.late + excluded.late`,
};

/** Of the last ninety days. */
const sumCounts = defineQuery({
  name: 'sum_payer_days',
  text: `
    select rail, payer_key, sum(paid)::float8 as paid, sum(refused)::float8 as refused,
      sum(refused_by_payer)::float8 as refused_by_payer, sum(unknown)::float8 as unknown,
      sum(unreached)::float8 as unreached, sum(returned)::float8 as returned,
      sum(late)::float8 as late
    from payer_days
    where day > (environment_now() at time zone 'UTC')::date - 90
    group by rail, payer_key`,
  columns: {
    rail: column.text,
    payer_key: column.text,
    paid: column.float,
    /** For reasons that lie with the recipient. */
    refused: column.float,
    refused_by_payer: column.float,
    unknown: column.float,
    unreached: column.float,
    returned: column.float,
    /** Of those paid: more than an hour after the announced time. */
    late: column.float,
  },
});

const storeContacts: Statement = {
  name: 'store_rail_contacts',
  text: `
    insert into rail_contacts as c (rail, reported_at)
    select rail, reported_at from unnest($1::text[], $2::timestamptz[]) r (rail, reported_at)
    order by rail
    on conflict (rail) do update set reported_at = greatest(c.reported_at, excluded.reported_at)`,
};

const store: Statement = {
  name: 'store_payer_standing',
  text: `
    insert into payer_standings (id, body, created_at) values ($1, $2, environment_now())
    on conflict do nothing`,
};

export type PayerCountsRow = RowOf<typeof sumCounts.columns>;
export type PayerCounts = Omit<PayerCountsRow, 'rail' | 'payer_key'>;

/** When each rail last answered. */
export async function addContacts(
  session: Session,
  contacts: ReadonlyMap<string, number>,
): Promise<void> {
  const times = [...contacts.values()].map((ms) => new Date(ms));
  await exec(session, storeContacts, [[...contacts.keys()], times]);
}

export async function addPayerCounts(
  session: Session,
  rows: readonly PayerCountsRow[],
): Promise<void> {
  await exec(session, addCounts, [
    textArray(rows.map(({ rail }) => rail)),
    textArray(rows.map(({ payer_key: payerKey }) => payerKey)),
    plainArray(rows.map(({ paid }) => paid)),
    plainArray(rows.map(({ refused }) => refused)),
    plainArray(rows.map((row) => row.refused_by_payer)),
    plainArray(rows.map(({ unknown }) => unknown)),
    plainArray(rows.map(({ unreached }) => unreached)),
    plainArray(rows.map(({ returned }) => returned)),
    plainArray(rows.map(({ late }) => late)),
  ]);
}

export async function sumPayerCounts(session: Session): Promise<PayerCountsRow[]> {
  return many(session, sumCounts);
}

export async function insertStanding(session: Session, id: string, body: string): Promise<void> {
  await exec(session, store, [id, body]);
}
