import type { Session } from '../db/postgres/pool.ts';
import { beginWideReading } from '../db/postgres/snapshot.ts';
import { column, defineQuery, many, nullable, one, type RowOf } from '../db/rows.ts';

/** The sums of a month. All queries read the same snapshot, and every journal. */

const reportMsMax = 24 * 3_600_000;

/**
 * Journals with their place beside the period. Where a statement or a journal closed a balance at its
 * beginning or end, what was posted later is later, also after a step back of the clock.
 */
const placedText = `
  select j.*, coalesce(j.id > b.last_id, j.created_at >= $1) as is_after_begin,
    coalesce(j.id <= e.last_id, j.created_at < $2) as is_before_end
  from ledger_journals j
  left join statement_ends b
    on b.account_id = j.account_id and b.currency = j.source_currency and b.at = $1
  left join statement_ends e
    on e.account_id = j.account_id and e.currency = j.source_currency and e.at = $2
  where $3::uuid is null or j.account_id = $3`;

const linesText = `
  select j.account_id, j.kind, coalesce(j.rail, '') as rail, coalesce(q.country, '') as country,
    coalesce(q.delivery_type, '') as delivery_type, j.source_currency,
    coalesce(j.destination_currency, '') as destination_currency, count(*) as count,
    sum(j.source_amount)::bigint as source_amount, sum(j.fee)::bigint as fee,
    sum(j.destination_amount)::bigint as destination_amount,
    sum(case
      when j.kind in ('commit', 'batch_commit') then j.source_amount * q.mid_rate::numeric
      when j.kind in ('refund', 'return') then -j.source_amount * q.mid_rate::numeric end)
      as worth
  from (${placedText}) j
  left join payout_quotes q on q.account_id = j.account_id and q.id = j.payout_id
  where j.is_after_begin and j.is_before_end
  group by 1, 2, 3, 4, 5, 6, 7`;

const lines = defineQuery({
  name: 'report_month_lines',
  answerMsMax: reportMsMax,
  text: `
    select l.account_id, l.kind, l.rail, l.country, l.delivery_type, l.source_currency,
      l.destination_currency, l.count, l.source_amount, l.fee, l.destination_amount,
      l.worth::text as worth_text, a.name as account_name
    from (${linesText}) l
    join accounts a on a.id = l.account_id
    order by a.name, l.account_id, l.kind, l.rail, l.country, l.delivery_type, l.source_currency,
      l.destination_currency`,
  columns: {
    account_id: column.uuid,
    account_name: column.text,
    kind: column.text,
    /** "" where a journal belongs to no payout, as in the next two. */
    rail: column.text,
    country: column.text,
    delivery_type: column.text,
    source_currency: column.text,
    destination_currency: column.text,
    count: column.bigint,
    source_amount: column.bigint,
    fee: column.bigint,
    destination_amount: nullable(column.bigint),
    /** What commits, less refunds and returns, are worth at the mid rate: minor units of the source
     * times the rate. */
    worth_text: nullable(column.text),
  },
});

/** Balances of the ledger before and after, and what the lines move between. */
const movements = defineQuery({
  name: 'report_month_movements',
  answerMsMax: reportMsMax,
  text: `
    with balances as (
      select j.account_id, t.currency, side.name,
        coalesce(sum(side.amount) filter (where not j.is_after_begin), 0) as opening,
        sum(side.amount) as closing
      from (${placedText}) j
      cross join lateral journal_lines(j.kind, j.source_currency, j.source_amount, j.fee,
        j.destination_currency, j.destination_amount, j.rail) t
      cross join lateral (values (t.from_name, -t.amount), (t.to_name, t.amount))
        side (name, amount)
      where j.is_before_end
      group by 1, 2, 3
    ), moved as (
      select l.account_id, t.currency, side.name, sum(side.amount) as amount
      from (${linesText}) l
      cross join lateral journal_lines(l.kind, l.source_currency, l.source_amount, l.fee,
        l.destination_currency, l.destination_amount, l.rail) t
      cross join lateral (values (t.from_name, -t.amount), (t.to_name, t.amount))
        side (name, amount)
      group by 1, 2, 3
    )
    select b.account_id, b.currency, b.name, b.opening::bigint as opening,
      coalesce(m.amount, 0)::bigint as moved, b.closing::bigint as closing
    from balances b
    left join moved m
      on m.account_id = b.account_id and m.currency = b.currency and m.name = b.name
    order by b.account_id, b.currency, b.name`,
  columns: {
    account_id: column.uuid,
    currency: column.text,
    name: column.text,
    opening: column.bigint,
    moved: column.bigint,
    closing: column.bigint,
  },
});

const endedQuery = defineQuery({
  name: 'has_period_ended',
  text: `select (select environment_now()) >= $1 as has_ended`,
  columns: { has_ended: column.boolean },
});

/** By the clock of the environment. */
export async function hasEnded(session: Session, at: Date): Promise<boolean> {
  return (await one(session, endedQuery, [at])).has_ended;
}

export type ReportPeriod = { from: Date; to: Date; accountId: string | undefined };

export type ReportLineRow = RowOf<typeof lines.columns>;
export type MovementRow = RowOf<typeof movements.columns>;

/** In a transaction of its own. */
export async function selectMonth(
  session: Session,
  { from, to, accountId }: ReportPeriod,
): Promise<{ hasEnded: boolean; lines: ReportLineRow[]; movements: MovementRow[] }> {
  await beginWideReading(session);
  const values = [from, to, accountId ?? null];
  return {
    hasEnded: await hasEnded(session, to),
    lines: await many(session, lines, values),
    movements: await many(session, movements, values),
  };
}
