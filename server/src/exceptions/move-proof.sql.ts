import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, type RowOf } from '../db/rows.ts';
import { vouchedColumns as vouchedObservation } from '../dispatch/observations.ts';
import { vouchedColumns as vouchedDecision } from './decisions.sql.ts';

/** Proofs read whole tables. */
const proofMsMax = 24 * 3_600_000;

/** Outcomes after which money moves. */
const moving = `('paid', 'returned', 'rejected', 'exhausted')`;

/**
 * Moves of money without an observation or decision that says so. Those count by their codes, which are
 * compared apart. A return by notifications is the sum of their parts, by answers to queries the largest
 * total. What was never given to a rail may be refunded: its approval did not come in time.
 */
const unobserved = defineQuery({
  name: 'select_unobserved_moves',
  answerMsMax: proofMsMax,
  text: `
    with observed as (
      select account_id, payout_id,
        bool_or(outcome in ('paid', 'returned')) as is_paid,
        bool_or(outcome in ('rejected', 'exhausted')) as is_rejected,
        bool_or(outcome = 'returned' and amount is null) as is_returned,
        coalesce(max(amount) filter (
          where outcome = 'returned' and source not in ('callback', 'file', 'poll')), 0) as by_query,
        coalesce(sum(amount) filter (
          where outcome = 'returned' and source in ('callback', 'file', 'poll')), 0) as by_notification
      from observations
      where mac is not null and outcome in ${moving} and (source <> 'sandbox' or $1::boolean)
      group by account_id, payout_id
    ), decided as (
      select account_id, payout_id, bool_or(action in ('paid', 'returned')) as is_paid,
        bool_or(action = 'returned') as is_returned,
        bool_or(action in ('refund', 'not_paid', 'write_off')) as is_rejected
      from payout_decisions where is_effective
      group by account_id, payout_id
    ), moves as (
      select account_id, payout_id, 'complete' as move from payout_states
      where completed_at is not null
      union all
      select s.account_id, s.payout_id, 'refund' from payout_states s
      join payout_quotes q on q.account_id = s.account_id and q.id = s.payout_id
      where s.status = 'CANCELLED' and s.completed_at is null
        and (q.runs_at is null or q.ran_at is not null)
      union all
      select account_id, payout_id, 'return' from payout_states where returned_amount > 0
    ), wrong as (
      select m.account_id, m.payout_id, m.move
      from moves m
      left join observed o on o.account_id = m.account_id and o.payout_id = m.payout_id
      left join decided d on d.account_id = m.account_id and d.payout_id = m.payout_id
      where not coalesce(case m.move when 'complete' then o.is_paid or d.is_paid
        when 'refund' then o.is_rejected or d.is_rejected or not exists (
          select from attempts a
          where a.account_id = m.account_id and a.payout_id = m.payout_id)
        else o.is_returned or d.is_returned or greatest(o.by_query, o.by_notification) >= (
          select s.returned_amount from payout_states s
          where s.account_id = m.account_id and s.payout_id = m.payout_id) end, false)
      union all
      select j.account_id, j.payout_id, 'write_off'
      from ledger_journals j
      where j.kind = 'write_off'
      group by j.account_id, j.payout_id
      having count(*) > (
        select count(*) from payout_decisions d
        where d.account_id = j.account_id and d.payout_id = j.payout_id and d.action = 'write_off'
          and d.is_effective)
    )
    select account_id, payout_id, move from wrong limit 100`,
  columns: {
    account_id: column.uuid,
    payout_id: column.uuid,
    move: column.oneOf('complete', 'refund', 'return', 'write_off'),
  },
});

const after = '(account_id, payout_id, id) > ($1::uuid, $2::uuid, $3::uuid)';

const observationsAfter = defineQuery({
  name: 'list_moving_observations',
  answerMsMax: proofMsMax,
  text: `
    select account_id, payout_id, id, source, outcome, reason, code, amount, mac from observations
    where ${after} and mac is not null and outcome in ${moving}
    order by account_id, payout_id, id limit $4`,
  columns: {
    ...vouchedObservation,
    mac: column.bytes,
  },
});

const decisionsAfter = defineQuery({
  name: 'list_vouched_decisions',
  answerMsMax: proofMsMax,
  text: `
    select account_id, payout_id, id, action, decided_by, reason, operator_id, about, mac
    from payout_decisions where ${after}
    order by account_id, payout_id, id limit $4`,
  columns: { ...vouchedDecision, mac: column.bytes },
});

export type PlaceOfRow = { account_id: string; payout_id: string; id: string };

/** `isSandbox`: clients decide outcomes, as in staging. */
export function selectUnobservedMoves(
  session: Session,
  { isSandbox }: { isSandbox: boolean },
): Promise<RowOf<typeof unobserved.columns>[]> {
  return many(session, unobserved, [isSandbox]);
}

export const listMovingObservations = (session: Session, from: PlaceOfRow, count: number) =>
  many(session, observationsAfter, [from.account_id, from.payout_id, from.id, count]);

export const listDecisionsAfter = (session: Session, from: PlaceOfRow, count: number) =>
  many(session, decisionsAfter, [from.account_id, from.payout_id, from.id, count]);
