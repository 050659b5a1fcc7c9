import type { Rate } from '../core/rate.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many } from '../db/rows.ts';

/** The first rate of each pair, source and day (UTC) that an import stored. */

export type Pair = { readonly base: string; readonly quote: string; readonly source: string };
export type PairRate = Pair & { readonly rate: Rate };

const select = defineQuery({
  name: 'fx_select_checkpoints',
  text: 'select base, quote, source, digits, scale from rate_checkpoints where day >= $1::date',
  columns: {
    base: column.text,
    quote: column.text,
    source: column.text,
    digits: column.bigint,
    scale: column.integer,
  },
});

const remove: Statement = {
  name: 'fx_remove_checkpoints',
  text: `
    delete from rate_checkpoints
    using unnest($1::text[], $2::text[], $3::text[]) as given (base, quote, source)
    where (rate_checkpoints.base, rate_checkpoints.quote, rate_checkpoints.source)
      = (given.base, given.quote, given.source)`,
};

const removeOld: Statement = {
  name: 'fx_remove_old_checkpoints',
  text: 'delete from rate_checkpoints where day < $1::date',
};

const insert: Statement = {
  name: 'fx_insert_checkpoints',
  text: `
    insert into rate_checkpoints (base, quote, source, day, digits, scale)
    select base, quote, source, $6::date, digits, scale
    from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::smallint[])
      as given (base, quote, source, digits, scale)
    order by base, quote, source
    on conflict do nothing`,
};

export async function readCheckpoints(session: Session, since: string): Promise<PairRate[]> {
  const rows = await many(session, select, [since]);
  return rows.map(({ digits, scale, ...pair }) => ({ ...pair, rate: { digits, scale } }));
}

function columnsOf(pairs: readonly Pair[]): string[][] {
  return [
    pairs.map(({ base }) => base),
    pairs.map(({ quote }) => quote),
    pairs.map(({ source }) => source),
  ];
}

export async function removeCheckpoints(session: Session, pairs: readonly Pair[]): Promise<void> {
  if (pairs.length > 0) await exec(session, remove, columnsOf(pairs));
}

/** Stores the checkpoints of a day where there are none yet, and removes those before `since`. */
export async function insertCheckpoints(
  session: Session,
  rates: readonly PairRate[],
  { day, since }: { day: string; since: string },
): Promise<void> {
  await exec(session, removeOld, [since]);
  await exec(session, insert, [
    ...columnsOf(rates),
    rates.map(({ rate }) => rate.digits.toString()),
    rates.map(({ rate }) => rate.scale),
    day,
  ]);
}
