import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, type RowOf } from '../db/rows.ts';
import { proofMsMax } from './chain.sql.ts';

/** Each reads the events of its types once, and texts of events as texts, which may be anything. */

/** Since when events are kept: those of earlier months were dropped. */
export const keptEvents = `
  kept as materialized (
    select coalesce(min(to_date(right(relname, 7), 'YYYY_MM')), '-infinity') as since
    from pg_class
    where relnamespace = 'public'::regnamespace and relname ~ '^events_[0-9]{4}_[0-9]{2}$'
  )`;

const columns = {
  account_id: column.uuid,
  sequence: column.text,
  type: column.text,
  subject_id: column.uuid,
  /**
   * - `no_account`, `no_object`: the account or the object does not exist
   * - `no_beginning`, `no_move`: the first event of a payout, or its move from the event before, is none
   *   that payouts make
   * - `other_state`: the object is not as its event says
   * - `no_journal`, `no_event`: of a balance or a return, without what it tells of; or the journal without
   *   its event, whose `sequence` is then ""
   * - `other_number`: not the number after the event of the same object before it
   * - `other_month`: stored with the events of a month that is not that of its time
   */
  code: column.oneOf(
    'no_account',
    'no_object',
    'no_beginning',
    'no_move',
    'other_state',
    'no_journal',
    'no_event',
    'other_number',
    'other_month',
  ),
};

const located = 'account_id, sequence::text as sequence, type, subject_id, code';

/** Events of payouts that are no path of permitted moves to their present states. */
const payoutEvents = defineQuery({
  name: 'select_wrong_payout_events',
  answerMsMax: proofMsMax,
  text: `
    with ${keptEvents}, steps as (
      select account_id, sequence, subject_id, type, detail, month, created_at,
        upper(substr(type, 8)) as status, lag(upper(substr(type, 8))) over object as before,
        lead(sequence) over object is null as is_last
      from events
      where type like 'payout.%' and type <> 'payout.returned'
      window object as (partition by account_id, subject_id order by sequence)
    ), judged as (
      select s.account_id, s.sequence, s.type, s.subject_id, case
        when q.id is null then 'no_object'
        when s.month <> month_of(s.created_at) then 'other_month'
        when s.before is null and s.status <> 'PENDING'
          and not (s.status = 'PROCESSING' and q.batch_id is not null)
          and month_of(q.created_at) >= k.since then 'no_beginning'
        when s.before is not null and t.from_status is null
          -- To another payer; and what a scheduled payout waits for.
          and not (s.before = s.status and (s.status = 'SCHEDULED'
            or s.status = 'PROCESSING' and s.detail = 'goes through another payer'))
          then 'no_move'
        when s.is_last and s.status <> coalesce(p.status, 'PENDING') then 'other_state'
      end as code
      from steps s
      cross join kept k
      left join payout_quotes q on q.account_id = s.account_id and q.id = s.subject_id
      left join payout_states p on p.account_id = s.account_id and p.payout_id = s.subject_id
      left join payout_transitions t on t.from_status = s.before and t.to_status = s.status
    )
    select ${located} from judged where code is not null limit 100`,
  columns,
});

/** Parts of returns: the amounts of their events are those of the journals, one after the other. */
const returnEvents = defineQuery({
  name: 'select_wrong_return_events',
  answerMsMax: proofMsMax,
  text: `
    with ${keptEvents}, posted as (
      select account_id, payout_id, created_at,
        json_build_object('returned_amount', (sum(destination_amount) over parts)::text)::text as payload
      from ledger_journals where kind = 'return'
      window parts as (partition by account_id, payout_id order by id)
    ), numbered as (
      select account_id, payout_id as subject_id, payload, created_at, 1 as number from posted
    ), said as (
      select account_id, subject_id, coalesce(payload, '') as payload, sequence, type,
        row_number() over (partition by account_id, subject_id, payload order by sequence) as number
      from events where type = 'payout.returned'
    )
    select account_id, coalesce(s.sequence::text, '') as sequence, 'payout.returned' as type,
      subject_id, case when s.sequence is null then 'no_event' else 'no_journal' end as code
    from numbered n
    full join said s using (account_id, subject_id, payload, number)
    cross join kept k
    where s.sequence is null and month_of(n.created_at) >= k.since or n.payload is null
    limit 100`,
  columns,
});

/** Events of balances without the journal that they tell of, and the other way round. */
const balanceEvents = defineQuery({
  name: 'select_wrong_balance_events',
  answerMsMax: proofMsMax,
  text: `
    with ${keptEvents}, posted as (
      select j.account_id, l.token as subject_id, j.source_currency as currency, j.created_at,
        case j.kind when 'fund' then 'balance.funded' else 'balance.adjusted' end as type,
        json_build_object('currency', j.source_currency, 'balance', j.wallet_balance::text)::text
          as payload,
        row_number() over (
          partition by j.account_id, j.source_currency, j.created_at, j.kind = 'fund', j.wallet_balance
          order by j.id) as number
      from ledger_journals j
      join ledger_accounts l on l.account_id = j.account_id and l.currency = j.source_currency
        and l.name = 'wallet'
      where j.kind in ('fund', 'adjust_credit', 'adjust_debit')
    ), said as (
      select account_id, subject_id, created_at, type, coalesce(payload, '') as payload, sequence,
        row_number() over (
          partition by account_id, subject_id, created_at, type, payload order by sequence) as number
      from events where type like 'balance.%'
    ), unmatched as (
      select account_id, subject_id, created_at, type, payload, s.sequence, p.currency
      from posted p
      full join said s using (account_id, subject_id, created_at, type, payload, number)
      where s.sequence is null or p.currency is null
    )
    select u.account_id, coalesce(u.sequence::text, '') as sequence, u.type, u.subject_id,
      case when u.sequence is null then 'no_event' when l.currency is null then 'no_object'
        else 'no_journal' end as code
    from unmatched u
    cross join kept k
    left join ledger_accounts l on l.account_id = u.account_id and l.token = u.subject_id
      and l.name = 'wallet'
    where case when u.sequence is null then month_of(u.created_at) >= k.since
      -- A balance that was opened, without money.
      else l.currency is null or u.type <> 'balance.funded' or u.payload <> json_build_object(
        'currency', l.currency, 'balance', find_balance_after(l.account_id, l.currency,
          find_last_journal_before(l.account_id, l.currency, u.created_at))::text)::text
        -- Where the clock has stepped back, journals of later times may be earlier ones.
        and u.payload not in (
          select json_build_object('currency', l.currency, 'balance', b.balance::text)::text
          from (
            select wallet_balance from ledger_journals j
            where j.account_id = l.account_id and j.source_currency = l.currency
              and j.wallet_balance is not null
            union all
            select 0
          ) b (balance)) end
    limit 100`,
  columns,
});

/**
 * Events of other objects: each object exists, numbers its events, and is as its last event says. A webhook
 * may be gone. What ends an object is nowhere said of one that has not ended.
 */
const otherEvents = defineQuery({
  name: 'select_wrong_object_events',
  answerMsMax: proofMsMax,
  text: `
    with steps as (
      select account_id, sequence, subject_id, type, coalesce(payload, '') as payload, detail, month,
        created_at, split_part(type, '.', 1) as noun, lag(detail) over object as before,
        lead(sequence) over object is null as is_last
      from events
      where type not like 'payout.%' and type not like 'balance.%'
      window object as (partition by account_id, subject_id order by sequence)
    ), judged as (
      select s.account_id, s.sequence, s.type, s.subject_id, case
        when case s.noun when 'user' then u.id when 'credential' then c.id when 'batch' then
            case when b.id is null and s.type = 'batch.removed' then s.subject_id else b.id end
          when 'attributes' then a.id when 'verification' then v.id when 'proposal' then o.id
          when 'account' then w.id when 'webhook' then s.subject_id end is null
          -- Of a batch that was removed, every event but the last one.
          and not (s.noun = 'batch' and not s.is_last)
          then 'no_object'
        when s.month <> month_of(s.created_at) then 'other_month'
        when s.detail !~ '^[1-9][0-9]{0,17}$' then 'other_number'
        when s.before ~ '^[1-9][0-9]{0,17}$' and s.detail <> (s.before::bigint + 1)::text
          then 'other_number'
        when s.type = 'credential.revoked' and c.revoked_at is null
          or s.type = 'user.erased' and u.status <> 'DEACTIVE' then 'other_state'
        when s.is_last and not case s.noun
          when 'user' then case u.status when 'DEACTIVE' then s.type = 'user.erased'
            else starts_with(s.payload, '{"status" : ' || to_json(u.status) || ', "country" : '
                || to_json(u.country) || ', ')
              and position(encode(with_version(u.version, u.sealed), 'hex') in s.payload) > 0 end
          when 'credential' then starts_with(s.payload, '{"kind" : ' || to_json(c.kind)
              || ', "scopes" : ' || to_json(c.scopes) || ', ')
            and (c.revoked_at is null) = (right(s.payload, 22) = ', "revoked_at" : null}')
          when 'batch' then s.type = 'batch.' || coalesce(lower(b.status), 'removed')
          when 'verification' then s.type = 'verification.' || lower(replace(v.status, ' ', '_'))
          when 'proposal' then s.type = 'proposal.'
            || case o.status when 'OPEN' then 'created' else lower(o.status) end
          -- Also the first one after a restore, which says nothing about stops.
          when 'account' then s.type = 'account.restored' or s.type = 'account.' || case when exists (
              select from freezes f
              where f.scope = 'account' and f.account_id = s.account_id and f.lifted_at is null)
            then 'frozen' else 'unfrozen' end
          else true end then 'other_state'
      end as code
      from steps s
      left join users u on s.noun = 'user' and u.account_id = s.account_id and u.id = s.subject_id
      left join credentials c on s.noun = 'credential' and c.account_id = s.account_id
        and c.id = s.subject_id
      left join batches b on s.noun = 'batch' and b.account_id = s.account_id and b.id = s.subject_id
      left join attribute_sets a on s.noun = 'attributes' and a.account_id = s.account_id
        and a.id = s.subject_id
      left join verification_sessions v on s.noun = 'verification' and v.account_id = s.account_id
        and v.id = s.subject_id
      left join proposals o on s.noun = 'proposal' and o.account_id = s.account_id
        and o.id = s.subject_id
      left join accounts w on s.noun = 'account' and w.id = s.account_id and w.id = s.subject_id
    )
    select ${located} from judged where code is not null limit 100`,
  columns,
});

const strayEvents = defineQuery({
  name: 'select_events_of_no_account',
  answerMsMax: proofMsMax,
  text: `
    select account_id, sequence::text as sequence, type, subject_id, 'no_account' as code
    from events e where not exists (select from accounts a where a.id = e.account_id)
    limit 100`,
  columns,
});

export type WrongEvent = RowOf<typeof columns>;

export async function selectWrongEvents(session: Session): Promise<WrongEvent[]> {
  const wrong: WrongEvent[] = [];
  for (const query of [payoutEvents, returnEvents, balanceEvents, otherEvents, strayEvents]) {
    wrong.push(...(await many(session, query)));
  }
  return wrong;
}
