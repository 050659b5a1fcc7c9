import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, type RowOf } from '../db/rows.ts';
import { vouchedColumns } from './bookings.sql.ts';

/** Proofs read whole tables. */
const proofMsMax = 24 * 3_600_000;

/** Journals that operators book without their booking, and the other way round. Suspense has no running balance. */
const unmatched = defineQuery({
  name: 'select_unmatched_bookings',
  answerMsMax: proofMsMax,
  text: `
    with posted as (
      select account_id, source_currency as currency, coalesce(wallet_balance, 0) as balance,
        created_at as at, split_part(kind, '_', 1) as kind,
        case when kind like '%_debit' then -source_amount else source_amount end as amount, id
      from ledger_journals
      where kind in ('fund', 'adjust_credit', 'adjust_debit', 'suspense_credit', 'suspense_debit')
    ), numbered as (
      select *, row_number() over (
        partition by account_id, currency, balance, at, kind, amount order by id) as number
      from posted
    ), booked as (
      select *, row_number() over (
        partition by account_id, currency, balance, at, kind, amount order by reference) as number
      from (
        select account_id, currency, case kind when 'suspense' then 0 else balance_after end as balance,
          booked_at as at, kind, amount, reference
        from balance_bookings) b
    )
    select account_id, currency, amount::text as amount, coalesce(p.id::text, '') as journal_id,
      coalesce(b.reference, '') as reference
    from numbered p
    full join booked b using (account_id, currency, balance, at, kind, amount, number)
    where (p.id is null or b.reference is null) and not (b.reference is null and kind = 'fund' and $1::boolean)
    order by account_id, at limit 100`,
  columns: {
    account_id: column.uuid,
    currency: column.text,
    amount: column.text,
    journal_id: column.text,
    reference: column.text,
  },
});

const page = defineQuery({
  name: 'list_vouched_bookings',
  answerMsMax: proofMsMax,
  text: `
    select account_id, reference, kind, currency, payout_id, amount, booked_by, reason, mac
    from balance_bookings where (account_id, reference) > ($1::uuid, $2::text)
    order by account_id, reference limit $3`,
  columns: { ...vouchedColumns, mac: column.bytes },
});

/** `isFundingFree`: journals of the kind `fund` need no booking. At most 100. */
export function selectUnmatchedBookings(
  session: Session,
  { isFundingFree }: { isFundingFree: boolean },
): Promise<RowOf<typeof unmatched.columns>[]> {
  return many(session, unmatched, [isFundingFree]);
}

export type VouchedRow = RowOf<typeof page.columns>;

export function listVouchedBookings(
  session: Session,
  after: Pick<VouchedRow, 'account_id' | 'reference'>,
  count: number,
): Promise<VouchedRow[]> {
  return many(session, page, [after.account_id, after.reference, count]);
}
