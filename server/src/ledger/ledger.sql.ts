import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, maybeOne, nullable, one, type RowOf } from '../db/rows.ts';

const walletColumns = {
  token: column.uuid,
  currency: column.text,
  balance: column.bigint,
} as const;
export type WalletRow = RowOf<typeof walletColumns>;

const walletsOfAccount = defineQuery({
  name: 'select_balances',
  text: `
    select token, currency, balance from ledger_accounts
    where account_id = $1 and name = 'wallet'
    order by created_at, currency`,
  columns: walletColumns,
});

const walletOfToken = defineQuery({
  name: 'find_wallet',
  text: `
    select token, currency, balance from ledger_accounts
    where account_id = $1 and name = 'wallet' and token = $2`,
  columns: walletColumns,
});

export const entryTypes = [
  'fund',
  'adjust_credit',
  'adjust_debit',
  'commit',
  'refund',
  'return',
  'reserve',
  'release',
] as const;
export type EntryType = (typeof entryTypes)[number];

/**
 * Newest first; journal ids are ordered by time. `offset 0` keeps the rules from being joined as a table,
 * after which a plan may sort all journals for one page.
 */
const defineEntries = (name: string, where: string) =>
  defineQuery({
    name,
    text: `
    select j.id as journal_id, l.line, j.kind, j.payout_id, j.batch_id, j.created_at,
      case when l.to_name = 'wallet' then l.amount else -l.amount end as amount,
      j.wallet_balance - l.wallet_after as balance_after,
      case when l.to_name = 'wallet' then l.from_name else l.to_name end as counterpart
    from ledger_journals j
    cross join lateral (
      select * from journal_lines(j.kind, j.source_currency, j.source_amount, j.fee,
        j.destination_currency, j.destination_amount, j.rail) offset 0) l
    where j.account_id = $1 and j.source_currency = $2 and j.id <= $3::uuid ${where}
      and 'wallet' in (l.from_name, l.to_name) and (j.id, l.line) < ($3::uuid, $4::smallint)
    order by j.id desc, l.line desc
    limit $5`,
    columns: {
      journal_id: column.uuid,
      line: column.integer,
      kind: column.text,
      payout_id: nullable(column.uuid),
      batch_id: nullable(column.uuid),
      created_at: column.instant,
      amount: column.bigint,
      balance_after: column.bigint,
      counterpart: column.text,
    },
  });

/**
 * What the present transaction has posted for an account, by the wallet that its journals name. The
 * bound of their ids, which begin with the time, leaves few to look at.
 */
const transfersOfTransaction = defineQuery({
  name: 'select_transfers_of_transaction',
  text: `
    select w.token, w.currency as wallet_currency, w.balance, l.currency, l.from_name, l.to_name,
      l.amount
    from ledger_accounts w
    join ledger_journals j on j.account_id = w.account_id and j.source_currency = w.currency
      and j.id >= journal_id(journal_time(transaction_timestamp()), 0, '00000000-0000-0000-0000-000000000000')
      and j.xmin = pg_current_xact_id_if_assigned()::xid
    cross join lateral journal_lines(j.kind, j.source_currency, j.source_amount, j.fee,
      j.destination_currency, j.destination_amount, j.rail) l
    where w.account_id = $1 and w.name = 'wallet'
    order by j.source_currency, j.id, l.line`,
  columns: {
    token: column.uuid,
    wallet_currency: column.text,
    balance: column.bigint,
    currency: column.text,
    from_name: column.text,
    to_name: column.text,
    amount: column.bigint,
  },
});

const fund = defineQuery({
  name: 'fund_balance',
  text: `select token, currency, balance from fund_balance($1, $2, $3, $4, $5)`,
  columns: walletColumns,
});

/** Proofs read whole tables. */
const proofMsMax = 24 * 3_600_000;

/** Balances that differ from the sum of their transfers. */
const wrongBalances = defineQuery({
  name: 'select_wrong_balances',
  answerMsMax: proofMsMax,
  text: `
    with summed as (
      select account_id, currency, name, sum(amount) as total from ledger_sides group by 1, 2, 3
    )
    select coalesce(l.account_id, s.account_id) as account_id,
      coalesce(l.currency, s.currency) as currency, coalesce(l.name, s.name) as name,
      coalesce(l.balance, 0)::text as balance, coalesce(s.total, 0)::text as total
    from ledger_accounts l
    full join summed s using (account_id, currency, name)
    where coalesce(l.balance, 0) <> coalesce(s.total, 0)
    limit 100`,
  columns: {
    account_id: column.uuid,
    currency: column.text,
    name: column.text,
    balance: column.text,
    total: column.text,
  },
});

const currencySums = defineQuery({
  name: 'select_currency_sums',
  answerMsMax: proofMsMax,
  text: `
    select currency, sum(balance)::text as total, count(*)::integer as ledger_accounts
    from ledger_accounts group by currency order by currency`,
  columns: { currency: column.text, total: column.text, ledger_accounts: column.integer },
});

const payoutColumns = {
  account_id: column.uuid,
  payout_id: column.uuid,
  status: column.text,
} as const;

/** Payouts whose postings do not match their status. */
const wrongPayouts = defineQuery({
  name: 'select_wrong_payouts',
  answerMsMax: proofMsMax,
  text: `
    with posted as (
      select account_id, payout_id,
        sum(case when from_name in ('wallet', 'reserved') then amount when to_name = 'wallet' then -amount
          else 0 end) as taken,
        sum(case when to_name like 'settlement:%' then amount
          when from_name like 'settlement:%' then -amount else 0 end) as settled,
        sum(case when to_name like 'in_transit:%' then amount
          when from_name like 'in_transit:%' then -amount else 0 end) as in_transit
      from ledger_transfers
      where payout_id is not null and kind not in ('charge', 'excess', 'write_off', 'write_back')
      group by account_id, payout_id
    )
    select coalesce(p.account_id, t.account_id) as account_id,
      coalesce(p.id, t.payout_id) as payout_id, coalesce(p.status, 'none') as status
    from payouts p
    full join posted t on t.account_id = p.account_id and t.payout_id = p.id
    where p.id is null or (coalesce(t.taken, 0), coalesce(t.settled, 0), coalesce(t.in_transit, 0)) <>
      case
        when p.status in ('PENDING', 'SCHEDULED') then (0::numeric, 0::numeric, 0::numeric)
        when p.status = 'COMPLETED' then
          ((p.source_amount + p.fee)::numeric, p.destination_amount::numeric, 0::numeric)
        when p.status = 'CANCELLED' and p.completed_at is not null then
          (p.source_amount + p.fee - div(
              p.source_amount::numeric * p.returned_amount, p.destination_amount),
            (p.destination_amount - p.returned_amount)::numeric, 0::numeric)
        when p.status = 'CANCELLED' then (0::numeric, 0::numeric, 0::numeric)
        else ((p.source_amount + p.fee)::numeric, 0::numeric, p.destination_amount::numeric)
      end
    union all
    -- No balance may remain at a rail that the payout has left.
    select p.account_id, p.id, p.status from (
      select account_id, payout_id, name, sum(amount) as amount
      from ledger_sides
      where payout_id is not null and kind not in ('charge', 'excess', 'write_off', 'write_back')
        and name ~ '^(in_transit|settlement):'
      group by account_id, payout_id, name
    ) misplaced
    join payouts p on p.account_id = misplaced.account_id and p.id = misplaced.payout_id
    where misplaced.amount <> 0
      and misplaced.name not in ('in_transit:' || p.rail, 'settlement:' || p.rail)
    union all
    select s.account_id, s.payout_id, s.status from payout_states s
    where not exists (
      select from payout_quotes q where q.account_id = s.account_id and q.id = s.payout_id)
    limit 100`,
  columns: payoutColumns,
});

/** Batches whose reserve differs from what their open rows still need. */
const wrongBatches = defineQuery({
  name: 'select_wrong_batches',
  answerMsMax: proofMsMax,
  text: `
    with posted as (
      select account_id, batch_id, source_currency,
        sum(case kind when 'reserve' then source_amount when 'release' then -source_amount
          else -source_amount - fee end) as held
      from ledger_journals where batch_id is not null
      group by account_id, batch_id, source_currency
    ), owed as (
      select r.account_id, r.batch_id, r.source_currency, sum(r.source_amount + r.fee) as held
      from batches b
      join batch_rows r on r.account_id = b.account_id and r.batch_id = b.id
        and r.number between b.next_row and b.row_count and r.status = 'VALID'
      where b.status = 'COMMITTING'
      group by r.account_id, r.batch_id, r.source_currency
    )
    select coalesce(p.account_id, o.account_id) as account_id,
      coalesce(p.batch_id, o.batch_id) as batch_id,
      coalesce(p.source_currency, o.source_currency) as currency, coalesce(p.held, 0)::text as held
    from posted p
    full join owed o using (account_id, batch_id, source_currency)
    where coalesce(p.held, 0) <> coalesce(o.held, 0)
    limit 100`,
  columns: {
    account_id: column.uuid,
    batch_id: column.uuid,
    currency: column.text,
    held: column.text,
  },
});

/** Payouts that have not ended, with nothing due, no freeze and no open exception; scheduled ones with no try due. */
const stuckPayouts = defineQuery({
  name: 'select_stuck_payouts',
  answerMsMax: proofMsMax,
  text: `
    select s.account_id, s.payout_id, s.status from payout_states s
    where s.status <> 'SCHEDULED'
      and s.status in (select status from payout_statuses where not has_ended)
      and not exists (
        select from payout_dispatches d
        where d.account_id = s.account_id and d.payout_id = s.payout_id
          and (d.due_at < 'infinity' or d.frozen_by is not null))
      and not exists (
        select from exceptions e
        where e.account_id = s.account_id and e.payout_id = s.payout_id and e.closed_at is null)
    union all
    select s.account_id, s.payout_id, s.status from payout_states s
    where s.status = 'SCHEDULED' and not exists (
      select from payout_schedules x
      where x.account_id = s.account_id and x.payout_id = s.payout_id and x.due_at is not null)
    limit 100`,
  columns: payoutColumns,
});

/** Greater than every identifier and line: where a list begins. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
export const lastLine = 32_767;

export async function selectBalances(session: Session, accountId: string): Promise<WalletRow[]> {
  return many(session, walletsOfAccount, [accountId]);
}

export async function findWallet(
  session: Session,
  wallet: { accountId: string; token: string },
): Promise<WalletRow | undefined> {
  return maybeOne(session, walletOfToken, [wallet.accountId, wallet.token]);
}

const balanceOfCurrency = defineQuery({
  name: 'find_balance_of_currency',
  text: `
    select coalesce((
      select balance from ledger_accounts where account_id = $1 and currency = $2 and name = 'wallet'
    ), 0) as balance`,
  columns: { balance: column.bigint },
});

/** What an account may spend; 0 where the balance was never opened. */
export async function findBalanceMinor(
  session: Session,
  { accountId, currency }: { accountId: string; currency: string },
): Promise<bigint> {
  return (await one(session, balanceOfCurrency, [accountId, currency])).balance;
}

export type EntryRow = RowOf<typeof walletEntries.columns>;

const walletEntries = defineEntries('select_wallet_entries', '');
const commitEntries = defineEntries('select_commit_entries', `and j.kind = 'commit'`);
/** Along the index of the kinds that are few among the commits. */
const rareEntries = defineEntries(
  'select_rare_entries',
  `and j.kind = $6 and j.kind in ('fund', 'adjust_credit', 'adjust_debit', 'refund', 'return',
    'reserve', 'release')`,
);

export async function selectEntries(
  session: Session,
  range: {
    accountId: string;
    currency: string;
    before: { journalId: string; line: number } | undefined;
    type: EntryType | undefined;
    count: number;
  },
): Promise<EntryRow[]> {
  const { accountId, currency, before, type, count } = range;
  const { journalId = lastId, line = lastLine } = before ?? {};
  const values = [accountId, currency, journalId, line, count];
  if (type === undefined) return many(session, walletEntries, values);
  if (type === 'commit') return many(session, commitEntries, values);
  return many(session, rareEntries, [...values, type]);
}

const lastJournalBefore = defineQuery({
  name: 'find_last_journal_before',
  text: 'select find_last_journal_before($1, $2, $3) as id',
  columns: { id: column.uuid },
});

/** The last journal of a balance's currency before a time; the nil UUID if there is none. */
export async function findLastJournalBefore(
  session: Session,
  wallet: { accountId: string; currency: string },
  at: Date,
): Promise<string> {
  return (await one(session, lastJournalBefore, [wallet.accountId, wallet.currency, at])).id;
}

export async function postFunding(
  session: Session,
  funding: {
    accountId: string;
    currency: string;
    amountMinor: bigint;
    token: string;
    journalId: string;
  },
): Promise<WalletRow> {
  const { accountId, currency, amountMinor, token, journalId } = funding;
  return one(session, fund, [accountId, currency, amountMinor, token, journalId]);
}

export type TransferRow = RowOf<typeof transfersOfTransaction.columns>;

export function selectTransfersOfTransaction(
  session: Session,
  accountId: string,
): Promise<TransferRow[]> {
  return many(session, transfersOfTransaction, [accountId]);
}

export type WrongBalance = RowOf<typeof wrongBalances.columns>;
export type CurrencySum = RowOf<typeof currencySums.columns>;
export type WrongPayout = RowOf<typeof payoutColumns>;
export type WrongBatch = RowOf<typeof wrongBatches.columns>;

export type LedgerFindings = {
  currencies: CurrencySum[];
  wrongBalances: WrongBalance[];
  wrongPayouts: WrongPayout[];
  wrongBatches: WrongBatch[];
  /** In progress, with nothing due and no open exception. */
  stuckPayouts: WrongPayout[];
};

export async function selectFindings(session: Session): Promise<LedgerFindings> {
  return {
    currencies: await many(session, currencySums),
    wrongBalances: await many(session, wrongBalances),
    wrongPayouts: await many(session, wrongPayouts),
    wrongBatches: await many(session, wrongBatches),
    stuckPayouts: await many(session, stuckPayouts),
  };
}
