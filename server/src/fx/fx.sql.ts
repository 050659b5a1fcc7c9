import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, one } from '../db/rows.ts';
import type { RateQuote } from './rate-book.ts';

const insertRates: Statement = {
  name: 'fx_insert_rates',
  text: `
    insert into rates (base, quote, source, as_of, digits, scale)
    select given.base, given.quote, given.source, given.as_of, given.digits, given.scale
    from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::bigint[], $6::smallint[])
      as given (base, quote, source, as_of, digits, scale)
    order by given.base, given.quote, given.source, given.as_of
    on conflict (base, quote, source, as_of) do update
      set digits = excluded.digits, scale = excluded.scale, imported_at = now()
      where (rates.digits, rates.scale) is distinct from (excluded.digits, excluded.scale)`,
};

/** Keeps 90 days of history, which bounds the quotes of sources that publish every minute. */
const deleteOldRates: Statement = {
  name: 'fx_delete_old_rates',
  text: `
    delete from rates
    using unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
      as given (base, quote, source, as_of)
    where rates.base = given.base and rates.quote = given.quote and rates.source = given.source
      and rates.as_of < given.as_of - interval '90 days'`,
};

const raiseRevision: Statement = {
  name: 'fx_raise_revision',
  text: 'update rates_revision set revision = revision + 1',
};

const selectRevision = defineQuery({
  name: 'fx_select_revision',
  text: 'select revision from rates_revision',
  columns: { revision: column.bigint },
});

const selectRevisionForUpdate: Statement = {
  name: 'fx_lock_revision',
  text: 'select revision from rates_revision for update',
};

/**
 * The newest quote of each pair and source. Stepping from one pair to the next in the primary key
 * reads two index entries per pair, however long the history is; `distinct on` would read it all.
 */
const selectNewestRates = defineQuery({
  name: 'fx_select_newest_rates',
  text: `
    with recursive pairs as (
      (select base, quote, source from rates order by base, quote, source limit 1)
      union all
      select following.base, following.quote, following.source
      from pairs cross join lateral (
        select rates.base, rates.quote, rates.source
        from rates
        where (rates.base, rates.quote, rates.source) > (pairs.base, pairs.quote, pairs.source)
        order by rates.base, rates.quote, rates.source
        limit 1
      ) as following
    )
    select newest.base, newest.quote, newest.source, newest.as_of, newest.digits, newest.scale
    from pairs cross join lateral (
      select rates.base, rates.quote, rates.source, rates.as_of, rates.digits, rates.scale
      from rates
      where rates.base = pairs.base and rates.quote = pairs.quote and rates.source = pairs.source
      order by rates.as_of desc
      limit 1
    ) as newest`,
  columns: {
    base: column.text,
    quote: column.text,
    source: column.text,
    as_of: column.instant,
    digits: column.bigint,
    scale: column.integer,
  },
});

/** Writes the quotes and returns how many of them were new or different. */
export async function writeRates(session: Session, quotes: readonly RateQuote[]): Promise<number> {
  if (quotes.length === 0) return 0;
  const keys = [
    quotes.map((quote) => quote.base),
    quotes.map((quote) => quote.quote),
    quotes.map((quote) => quote.source),
    quotes.map((quote) => new Date(quote.asOfMs).toISOString()),
  ];
  const written = await exec(session, insertRates, [
    ...keys,
    quotes.map((quote) => quote.rate.digits.toString()),
    quotes.map((quote) => quote.rate.scale),
  ]);
  if (written > 0) {
    await exec(session, deleteOldRates, keys);
    await exec(session, raiseRevision);
  }
  return written;
}

export async function readNewestRates(session: Session): Promise<RateQuote[]> {
  const rows = await many(session, selectNewestRates);
  return rows.map((row) => ({
    base: row.base,
    quote: row.quote,
    source: row.source,
    rate: { digits: row.digits, scale: row.scale },
    asOfMs: row.as_of.getTime(),
  }));
}

export async function readRevision(session: Session): Promise<bigint> {
  return (await one(session, selectRevision)).revision;
}

/** Serializes imports. */
export async function lockRevision(session: Session): Promise<void> {
  await exec(session, selectRevisionForUpdate);
}
