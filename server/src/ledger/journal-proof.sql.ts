import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, type RowOf } from '../db/rows.ts';
import { proofMsMax } from './chain.sql.ts';
import { keptEvents } from './event-proof.sql.ts';

const columns = {
  account_id: column.uuid,
  /** "" where the journal is missing. */
  journal_id: column.text,
  kind: column.text,
  /** "" where it is of a batch. */
  payout_id: column.text,
  /**
   * - `no_payout`: its payout does not exist
   * - `other_amount`, `other_rail`, `other_batch`: it has other terms than the payout, the return or the rows
   *   of the batch
   * - `other_state`: the payout is in no state that posts it
   * - `repeated`: a payout posts it once
   * - `no_event`: no event tells of the move that posts it
   * - `no_cause`, `no_journal`: a charge or an amount in suspense without what it was posted for, or the
   *   other way round
   */
  code: column.oneOf(
    'no_payout',
    'other_amount',
    'other_rail',
    'other_batch',
    'other_state',
    'repeated',
    'no_event',
    'no_cause',
    'no_journal',
  ),
};

const located = 'account_id, id::text as journal_id, kind, payout_id::text as payout_id, code';

/** The quote and the state of a journal's payout. */
const ofPayout = (journal: string): string => `
      left join payout_quotes q on q.account_id = ${journal}.account_id and q.id = ${journal}.payout_id
      left join payout_states s on s.account_id = ${journal}.account_id and s.payout_id = ${journal}.payout_id`;

/** Journals that the state of their payout does not justify, or with other terms. */
const unjustified = defineQuery({
  name: 'select_unjustified_journals',
  answerMsMax: proofMsMax,
  text: `
    with judged as (
      select j.account_id, j.id, j.kind, j.payout_id, case
        when q.id is null then 'no_payout'
        when (j.source_currency, j.source_amount, j.fee, j.destination_currency, j.destination_amount)
          <> (q.source_currency, q.source_amount, q.fee, q.destination_currency, q.destination_amount)
          then 'other_amount'
        when j.rail <> case when j.kind in ('commit', 'batch_commit') then q.rail
          else coalesce(s.rail, q.rail) end then 'other_rail'
        when j.kind in ('commit', 'batch_commit')
          and j.batch_id is distinct from q.batch_id then 'other_batch'
        when not coalesce(case j.kind
            when 'complete' then s.completed_at is not null
            when 'refund' then s.status = 'CANCELLED' and s.completed_at is null
            else s.status <> 'SCHEDULED' end, false)
          or q.runs_at is not null and q.ran_at is null then 'other_state'
      end as code
      from ledger_journals j
      ${ofPayout('j')}
      where j.kind in ('commit', 'batch_commit', 'complete', 'refund')
    )
    select ${located}
    from judged where code is not null limit 100`,
  columns,
});

const repeated = defineQuery({
  name: 'select_repeated_journals',
  answerMsMax: proofMsMax,
  text: `
    select account_id, max(id::text) as journal_id, max(kind) as kind, payout_id::text as payout_id,
      'repeated' as code
    from ledger_journals where kind in ('commit', 'batch_commit', 'complete', 'refund')
    group by account_id, payout_id, case kind when 'batch_commit' then 'commit' else kind end
    having count(*) > 1 limit 100`,
  columns,
});

/** Of what a payout does later, each has the event of its move, at the same time. */
const withoutEvent = defineQuery({
  name: 'select_journals_without_event',
  answerMsMax: proofMsMax,
  text: `
    with ${keptEvents}, moves as (
      select account_id, subject_id, type, created_at from events
      where type in ('payout.completed', 'payout.cancelled')
        or type = 'payout.processing' and detail = 'goes through another payer'
    )
    select j.account_id, j.id::text as journal_id, j.kind, j.payout_id::text as payout_id,
      'no_event' as code
    from ledger_journals j
    cross join kept k
    left join moves e on e.account_id = j.account_id and e.subject_id = j.payout_id
      and e.created_at = j.created_at and e.type = case j.kind when 'complete' then 'payout.completed'
        when 'refund' then 'payout.cancelled' else 'payout.processing' end
    where j.kind in ('complete', 'refund', 'unroute', 'route')
      and month_of(j.created_at) >= k.since and e.account_id is null
    limit 100`,
  columns,
});

/** Returned parts: their amounts add up, and none is worth more than its part of the payout. */
const returns = defineQuery({
  name: 'select_wrong_returns',
  answerMsMax: proofMsMax,
  text: `
    with parts as (
      select account_id, id, kind, payout_id, source_currency, source_amount, destination_currency,
        destination_amount, fee, rail, sum(destination_amount) over so_far as total
      from ledger_journals where kind = 'return'
      window so_far as (partition by account_id, payout_id order by id)
    ), judged as (
      select t.account_id, t.id, t.kind, t.payout_id, case
        when q.id is null then 'no_payout'
        when (t.source_currency, t.destination_currency, t.fee)
            <> (q.source_currency, q.destination_currency, 0)
          or t.total > q.destination_amount
          or t.source_amount <> div(q.source_amount::numeric * t.total, q.destination_amount)
            - div(q.source_amount::numeric * (t.total - t.destination_amount), q.destination_amount)
          then 'other_amount'
        when t.rail <> coalesce(s.rail, q.rail) then 'other_rail'
        when s.completed_at is null or s.status <> 'CANCELLED' or t.total > s.returned_amount
          then 'other_state'
      end as code
      from parts t
      ${ofPayout('t')}
    )
    select ${located}
    from judged where code is not null limit 100`,
  columns,
});

/** From one rail to another: pairs that lead from the quoted rail to the present one. */
const routes = defineQuery({
  name: 'select_wrong_routes',
  answerMsMax: proofMsMax,
  text: `
    with steps as (
      select j.account_id, j.id, j.kind, j.payout_id, j.rail, j.destination_amount,
        j.destination_currency, j.source_amount, j.source_currency, j.created_at,
        lag(j.kind) over so_far as kind_before, lag(j.rail) over so_far as rail_before,
        lag(j.created_at) over so_far as before_at, lead(j.id) over so_far is null as is_last
      from ledger_journals j where j.kind in ('unroute', 'route')
      -- In the order of posting, whatever the clock did.
      window so_far as (partition by account_id, payout_id order by id)
    ), judged as (
      select t.account_id, t.id, t.kind, t.payout_id, case
        when q.id is null then 'no_payout'
        when (t.source_amount, t.source_currency, t.destination_amount, t.destination_currency)
          <> (q.destination_amount, q.destination_currency, q.destination_amount,
            q.destination_currency) then 'other_amount'
        when t.kind = coalesce(t.kind_before, 'route')
          or t.kind = 'route' and (t.rail = t.rail_before or t.created_at <> t.before_at)
          or t.kind = 'unroute' and (t.rail <> coalesce(t.rail_before, q.rail) or t.is_last)
          or t.is_last and t.rail <> coalesce(s.rail, q.rail) then 'other_rail'
      end as code
      from steps t
      ${ofPayout('t')}
    )
    select ${located}
    from judged where code is not null limit 100`,
  columns,
});

/** Charges of rails, and amounts through suspense, against the rows that they were posted with. */
const withoutCause = defineQuery({
  name: 'select_journals_without_cause',
  answerMsMax: proofMsMax,
  text: `
    with posted as (
      select account_id, id, kind, payout_id, case kind when 'excess' then '' else rail end as rail,
        source_currency as currency, source_amount as amount, created_at as at,
        row_number() over (partition by account_id, kind, payout_id,
          case kind when 'excess' then '' else rail end, source_currency, source_amount, created_at
          order by id) as number
      from ledger_journals where kind in ('charge', 'excess', 'write_off', 'write_back')
    ), stored as (
      select account_id, 'charge' as kind, payout_id, rail, currency, amount, created_at as at
      from payout_charges
      union all
      select account_id, 'excess', payout_id, '', currency, amount, opened_at from exceptions
      where kind = 'excess_return' and resolution <> 'written back'
      union all
      select account_id, 'write_off', payout_id, rail, currency, amount, closed_at from exceptions
      where resolution like 'write_off by %'
      union all
      select account_id, 'write_back', payout_id, rail, currency, amount, opened_at from exceptions
      where resolution = 'written back'
    ), causes as (
      select *, row_number() over (
        partition by account_id, kind, payout_id, rail, currency, amount, at) as number
      from stored
    )
    select account_id, coalesce(p.id::text, '') as journal_id, kind, payout_id::text as payout_id,
      case when p.id is null then 'no_journal' else 'no_cause' end as code
    from posted p
    full join (select *, true as is_cause from causes) c
      using (account_id, kind, payout_id, rail, currency, amount, at, number)
    where p.id is null or c.is_cause is null
    limit 100`,
  columns,
});

/** What was reserved for batches and released again, against their rows. */
const batches = defineQuery({
  name: 'select_wrong_reserves',
  answerMsMax: proofMsMax,
  text: `
    with posted as (
      select account_id, batch_id, source_currency, kind, sum(source_amount) as amount,
        max(id::text) as id, count(*) as count
      from ledger_journals where kind in ('reserve', 'release')
      group by account_id, batch_id, source_currency, kind
    ), needed as (
      select r.account_id, r.batch_id, r.source_currency, k.kind,
        sum(r.source_amount + r.fee) as amount
      from batches b
      join batch_rows r on r.account_id = b.account_id and r.batch_id = b.id
        and r.number <= b.row_count
      join (values ('reserve', 'VALID'), ('reserve', 'COMMITTED'), ('reserve', 'REFUSED'), ('release', 'REFUSED'))
        k (kind, status) on k.status = r.status
      where b.status in ('COMMITTING', 'COMMITTED')
      group by r.account_id, r.batch_id, r.source_currency, k.kind
    )
    select account_id, coalesce(p.id, '') as journal_id, kind, '' as payout_id,
      case when p.id is null then 'no_journal' when p.kind = 'reserve' and p.count > 1 then 'repeated'
        else 'other_batch' end as code
    from posted p
    full join needed n using (account_id, batch_id, source_currency, kind)
    where p.amount is distinct from n.amount or p.kind = 'reserve' and p.count > 1
    limit 100`,
  columns,
});

export type WrongJournal = RowOf<typeof columns>;

const queries = [unjustified, repeated, withoutEvent, returns, routes, withoutCause, batches];

export async function selectWrongJournals(session: Session): Promise<WrongJournal[]> {
  const wrong: WrongJournal[] = [];
  for (const query of queries) wrong.push(...(await many(session, query)));
  return wrong;
}
