import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, maybeOne, nullable, one, type RowOf } from '../db/rows.ts';

import { entryTypes } from '../ledger/ledger.ts';

/** The reads of a statement. What they return never changes once the period has ended. */

const periodColumns = {
  after_id: column.uuid,
  last_id: column.uuid,
  opening_balance: column.bigint,
  closing_balance: column.bigint,
} as const;
export type ClosedPeriod = RowOf<typeof periodColumns>;

const closeQuery = defineQuery({
  name: 'close_period',
  text: `select after_id, last_id, opening_balance, closing_balance from close_period($1, $2, $3, $4)`,
  columns: periodColumns,
});

const sumQuery = defineQuery({
  name: 'sum_wallet_entries',
  text: `select next_id, credits, credit_total, debits, debit_total
    from sum_wallet_entries($1, $2, $3, $4, $5)`,
  columns: {
    next_id: nullable(column.uuid),
    credits: column.bigint,
    credit_total: column.bigint,
    debits: column.bigint,
    debit_total: column.bigint,
  },
});

const entryColumns = {
  journal_id: column.uuid,
  line: column.integer,
  kind: column.oneOf(...entryTypes),
  counterpart: column.text,
  amount: column.bigint,
  balance_after: column.bigint,
  posted_at: column.instant,
  payout_id: nullable(column.uuid),
  batch_id: nullable(column.uuid),
  client_transfer_id: nullable(column.text),
} as const;
/** `amount` is negative where money left the balance. */
export type EntryRow = RowOf<typeof entryColumns>;

const entriesQuery = defineQuery({
  name: 'select_statement_entries',
  text: `
    select j.id as journal_id, l.line, j.kind,
      case when l.to_name = 'wallet' then l.from_name else l.to_name end as counterpart,
      case when l.to_name = 'wallet' then l.amount else -l.amount end as amount,
      j.wallet_balance - l.wallet_after as balance_after, j.created_at as posted_at, j.payout_id,
      j.batch_id, q.client_transfer_id
    from ledger_journals j
    cross join lateral (
      select * from journal_lines(j.kind, j.source_currency, j.source_amount, j.fee,
        j.destination_currency, j.destination_amount, j.rail) offset 0) l
    left join payout_quotes q on q.account_id = j.account_id and q.id = j.payout_id
    where j.account_id = $1 and j.source_currency = $2 and j.id >= $3::uuid and j.id <= $4
      and j.wallet_balance is not null and 'wallet' in (l.from_name, l.to_name)
      and (j.id, l.line) > ($3::uuid, $5::smallint)
    order by j.id, l.line
    limit $6`,
  columns: entryColumns,
});

export type Wallet = { accountId: string; currency: string };

/** Undefined while the period has not ended. `to` is exclusive. */
export async function closePeriod(
  session: Session,
  { accountId, currency, from, to }: Wallet & { from: Date; to: Date },
): Promise<ClosedPeriod | undefined> {
  return maybeOne(session, closeQuery, [accountId, currency, from, to]);
}

export type Sums = { credits: bigint; creditTotal: bigint; debits: bigint; debitTotal: bigint };

/** One statement adds up this many journals in well under a second. */
const summedJournals = 20_000;

/** Counts and adds up the entries of a closed period. */
export async function sumEntries(
  session: Session,
  { accountId, currency, period }: Wallet & { period: ClosedPeriod },
): Promise<Sums> {
  const sums = { credits: 0n, creditTotal: 0n, debits: 0n, debitTotal: 0n };
  let after = period.after_id;
  for (;;) {
    const values = [accountId, currency, after, period.last_id, summedJournals];
    const part = await one(session, sumQuery, values);
    sums.credits += part.credits;
    sums.creditTotal += part.credit_total;
    sums.debits += part.debits;
    sums.debitTotal += part.debit_total;
    if (part.next_id === null) return sums;
    after = part.next_id;
  }
}

export type EntryPlace = { journalId: string; line: number };

/** The entries after a place, in the order in which they were posted. */
export async function listEntries(
  session: Session,
  range: Wallet & { after: EntryPlace; lastId: string; count: number },
): Promise<EntryRow[]> {
  const { accountId, currency, after, lastId, count } = range;
  const values = [accountId, currency, after.journalId, lastId, after.line, count];
  return many(session, entriesQuery, values);
}
