import { assert } from '../core/errors.ts';
import { nameId } from '../core/ids.ts';
import type { Session } from '../db/postgres/pool.ts';
import { endOf, type Period, startOf } from './period.ts';
import {
  type ClosedPeriod,
  closePeriod,
  type EntryPlace,
  type EntryRow,
  listEntries,
  type Sums,
  sumEntries,
  type Wallet,
} from './statements.sql.ts';

export { type ClosedPeriod, closePeriod, type Wallet } from './statements.sql.ts';

/**
 * The statement of a balance over whole days (UTC) that have ended. It consists of posted journals and
 * terms of quotes, which are immutable, and its id and time follow from balance and period, so that it
 * is the same whenever it is read.
 */
export type Statement = Sums & {
  /** UUID, a function of balance and period. */
  readonly id: string;
  readonly balanceToken: string;
  readonly currency: string;
  readonly period: Period;
  readonly openingBalance: bigint;
  readonly closingBalance: bigint;
  /** In the order of posting, read in portions; can be read once per call. */
  readonly entries: () => AsyncIterable<StatementEntry[]>;
};

export type StatementEntry = EntryRow & {
  /** Unique within the account, at most 34 characters: the journal, and the line in it. */
  readonly reference: string;
};

/** The same wherever the entry is listed. */
export function nameEntry({ journal_id: id, line }: { journal_id: string; line: number }): string {
  return `${id.replaceAll('-', '')}-${line}`;
}

const portionEntries = 1000;

export type StatementWallet = Wallet & { token: string };

/** Undefined while the period has not ended. */
export async function readStatement(
  session: Session,
  wallet: StatementWallet,
  period: Period,
): Promise<Statement | undefined> {
  const { token, currency } = wallet;
  const from = startOf(period);
  const closed = await closePeriod(session, { ...wallet, from, to: endOf(period) });
  if (closed === undefined) return undefined;
  const { opening_balance: openingBalance, closing_balance: closingBalance } = closed;
  const sums = await sumEntries(session, { ...wallet, period: closed });
  assert(
    openingBalance + sums.creditTotal - sums.debitTotal === closingBalance,
    'the entries of a balance do not lead from the opening to the closing balance',
  );
  return {
    ...sums,
    id: nameId(`${period.firstDay}/${period.lastDay}`, token),
    balanceToken: token,
    currency,
    period,
    openingBalance,
    closingBalance,
    entries: () => readEntries(session, wallet, closed),
  };
}

async function* readEntries(
  session: Session,
  { accountId, currency }: Wallet,
  closed: ClosedPeriod,
): AsyncGenerator<StatementEntry[]> {
  const list = (portion: Portion) =>
    listEntries(session, { accountId, currency, ...portion, lastId: closed.last_id });
  for await (const rows of readPortions(closed, list)) {
    yield rows.map((row) => ({ ...row, reference: nameEntry(row) }));
  }
}

export type Portion = { after: EntryPlace; count: number };

/** What `list` finds in a closed period, portion by portion, by journal and line. */
export async function* readPortions<Row extends { journal_id: string; line: number }>(
  closed: ClosedPeriod,
  list: (portion: Portion) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  /** After every line of the last journal before the period. */
  let after = { journalId: closed.after_id, line: 32_767 };
  for (;;) {
    const rows = await list({ after, count: portionEntries });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    after = { journalId: last.journal_id, line: last.line };
  }
}
