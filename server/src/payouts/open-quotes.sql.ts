import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, one, type RowOf } from '../db/rows.ts';

const selectOpenQuotes = defineQuery({
  name: 'find_open_quotes',
  text: `
    select a.open_quotes_max as count_max, a.open_quotes_usd_max as usd_max,
      a.open_quotes_max - m.count_left as count,
      (a.open_quotes_usd_max * 100 - m.usd_left)::bigint as usd,
      greatest(1, ceil(extract(epoch from e.ends_at - environment_now())))::integer as wait_seconds
    from accounts a
    cross join lateral measure_open_quotes(a.id, environment_now(), null) m
    cross join lateral (
      select coalesce(min(ends_at), environment_now()) as ends_at
      from (
        select ends_at from open_quotes
        where account_id = a.id and ends_at > (select environment_now()) and quote_count > 0
        union all
        select expires_at from batches
        where account_id = a.id and status = 'QUOTED' and expires_at > (select environment_now())
      ) o
    ) e
    where a.id = $1`,
  columns: {
    count_max: column.bigint,
    usd_max: column.bigint,
    count: column.bigint,
    usd: column.bigint,
    /** Until the next of them have expired. */
    wait_seconds: column.integer,
  },
});

export async function findOpenQuotes(
  session: Session,
  accountId: string,
): Promise<RowOf<typeof selectOpenQuotes.columns>> {
  return one(session, selectOpenQuotes, [accountId]);
}

const selectAdmission = defineQuery({
  name: 'admit_batch_quote',
  text: `select admit_batch_quote($1, $2, $3) as is_admitted`,
  columns: { is_admitted: column.boolean },
});

/** Whether the account may quote the batch, until the transaction ends. */
export async function selectBatchAdmission(
  session: Session,
  batch: { accountId: string; batchId: string; usdMinor: bigint },
): Promise<boolean> {
  const values = [batch.accountId, batch.batchId, batch.usdMinor];
  return (await one(session, selectAdmission, values)).is_admitted;
}

const deleteEndedCounts = {
  name: 'delete_ended_open_quotes',
  text: `
    delete from open_quotes where (account_id, ends_at) in (
      select account_id, ends_at from open_quotes
      where ends_at < (select environment_now()) - interval '1 minute' order by ends_at limit $1
      for update skip locked)`,
};

const deletedMax = 1000;

/** Deletes at most a thousand counts of expired quotes; returns whether there may be more. */
export async function deleteEndedQuoteCounts(session: Session): Promise<boolean> {
  return (await exec(session, deleteEndedCounts, [deletedMax])) === deletedMax;
}

const updateLimits = {
  name: 'set_open_quote_limits',
  text: `
    update accounts set open_quotes_max = coalesce($2, open_quotes_max),
      open_quotes_usd_max = coalesce($3, open_quotes_usd_max)
    where id = $1`,
};

/** `usdMax` in whole USD; undefined keeps a limit. */
export async function setOpenQuoteLimits(
  session: Session,
  limits: { accountId: string; countMax: number | undefined; usdMax: number | undefined },
): Promise<void> {
  const { accountId, countMax = null, usdMax = null } = limits;
  await exec(session, updateLimits, [accountId, countMax, usdMax]);
}
