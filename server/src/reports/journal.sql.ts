import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, nullable, type RowOf } from '../db/rows.ts';
import type { ClosedPeriod, Portion, Wallet } from '../statements/statements.ts';

const accountsQuery = defineQuery({
  name: 'list_journal_accounts',
  text: `select id from accounts where $1::uuid is null or id = $1 order by id`,
  columns: { id: column.uuid },
});

export async function listAccountIds(
  session: Session,
  accountId: string | undefined,
): Promise<string[]> {
  return (await many(session, accountsQuery, [accountId ?? null])).map(({ id }) => id);
}

const awaitStatement: Statement = {
  name: 'await_postings',
  text: 'select from accounts where id = $1 for share',
};

const currenciesQuery = defineQuery({
  name: 'list_journal_currencies',
  text: `select distinct currency from ledger_accounts where account_id = $1 order by currency`,
  columns: { currency: column.text },
});

/**
 * Where journals of an account may be: they are kept by source currency. A transaction that is posting may
 * open the first balance of a currency, so that it is waited for, in a statement of its own.
 */
export async function listJournalCurrencies(
  session: Session,
  accountId: string,
): Promise<string[]> {
  await exec(session, awaitStatement, [accountId]);
  const rows = await many(session, currenciesQuery, [accountId]);
  return rows.map(({ currency }) => currency);
}

const transferColumns = {
  journal_id: column.uuid,
  line: column.integer,
  posted_at: column.instant,
  kind: column.text,
  from_name: column.text,
  to_name: column.text,
  currency: column.text,
  amount: column.bigint,
  payout_id: nullable(column.uuid),
  batch_id: nullable(column.uuid),
  client_transfer_id: nullable(column.text),
  /** Of what operators booked. */
  booking_reference: nullable(column.text),
} as const;
export type TransferRow = RowOf<typeof transferColumns>;

const transfersQuery = defineQuery({
  name: 'select_transfers_of_period',
  text: `
    select j.id as journal_id, l.line, j.created_at as posted_at, j.kind, l.from_name, l.to_name,
      l.currency, l.amount, coalesce(j.payout_id, b.payout_id) as payout_id, j.batch_id, q.client_transfer_id,
      b.reference as booking_reference
    from ledger_journals j
    cross join lateral (
      select * from journal_lines(j.kind, j.source_currency, j.source_amount, j.fee,
        j.destination_currency, j.destination_amount, j.rail) offset 0) l
    left join payout_quotes q on q.account_id = j.account_id and q.id = j.payout_id
    left join balance_bookings b
      on j.kind in ('fund', 'adjust_credit', 'adjust_debit', 'suspense_credit', 'suspense_debit')
      and b.account_id = j.account_id and b.currency = j.source_currency
      and b.kind = split_part(j.kind, '_', 1) and b.booked_at = j.created_at
      and abs(b.amount) = j.source_amount
      and b.balance_after = coalesce(j.wallet_balance, b.balance_after)
    where j.account_id = $1 and j.source_currency = $2 and j.id >= $3::uuid and j.id <= $4
      and (j.id, l.line) > ($3::uuid, $5::smallint)
    order by j.id, l.line
    limit $6`,
  columns: transferColumns,
});

/** The transfers after a place, in the order in which they were posted. */
export async function listTransfers(
  session: Session,
  { accountId, currency, period, after, count }: Wallet & Portion & { period: ClosedPeriod },
): Promise<TransferRow[]> {
  const values = [accountId, currency, after.journalId, period.last_id, after.line, count];
  return many(session, transfersQuery, values);
}
