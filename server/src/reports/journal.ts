import { open, rm } from 'node:fs/promises';
import { formatSeconds } from '../core/clock.ts';
import { writeRecord } from '../core/csv.ts';
import { assert } from '../core/errors.ts';
import { formatToken } from '../core/ids.ts';
import { formatMinor } from '../core/money.ts';
import type { Database } from '../db/postgres/pool.ts';
import { closePeriod, nameEntry, readPortions, type Wallet } from '../statements/statements.ts';
import {
  listAccountIds,
  listJournalCurrencies,
  listTransfers,
  type TransferRow,
} from './journal.sql.ts';
import { hasEnded } from './month-report.sql.ts';
import { periodOf } from './month-report.ts';

/**
 * The double-entry journal of a month, for the general ledger of the operator: every transfer with the
 * ledger account that it debits and the one that it credits. It has the periods of the statements, so
 * that it never changes once it was written, and its entries have the references that statements give.
 */

export type ExportedJournal = {
  entries: number;
  /** What the file adds up to, by currency. */
  totals: { currency_code: string; entries: number; amount: string }[];
};

/**
 * Writes a new CSV file, and leaves none behind when it fails. Undefined while the month has not ended.
 *
 * @throws Error where the file exists.
 */
export async function exportJournal(
  db: Database,
  path: string,
  { month, accountId }: { month: string; accountId: string | undefined },
): Promise<ExportedJournal | undefined> {
  const period = periodOf(month);
  if (!(await hasEnded(db.system, period.to))) return undefined;
  const file = await open(path, 'wx', 0o600);
  const sums = new Map<string, { entries: number; minor: bigint }>();
  try {
    await file.appendFile(writeRecord([...columns]));
    for (const id of await listAccountIds(db.system, accountId)) {
      for await (const rows of readAccount(db, id, period)) {
        await file.appendFile(rows.map((row) => writeTransfer(id, row)).join(''));
        for (const row of rows) addTransfer(sums, row);
      }
    }
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  const totals = [...sums]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([code, { entries, minor }]) => ({
      currency_code: code,
      entries,
      amount: formatMinor(minor, code),
    }));
  return { entries: totals.reduce((sum, { entries }) => sum + entries, 0), totals };
}

function addTransfer(
  sums: Map<string, { entries: number; minor: bigint }>,
  { currency, amount }: TransferRow,
): void {
  const { entries, minor } = sums.get(currency) ?? { entries: 0, minor: 0n };
  sums.set(currency, { entries: entries + 1, minor: minor + amount });
}

async function* readAccount(
  db: Database,
  accountId: string,
  period: { from: Date; to: Date },
): AsyncGenerator<TransferRow[]> {
  for (const currency of await listJournalCurrencies(db.system, accountId)) {
    yield* readTransfers(db, { accountId, currency }, period);
  }
}

async function* readTransfers(
  { system: session }: Database,
  wallet: Wallet,
  { from, to }: { from: Date; to: Date },
): AsyncGenerator<TransferRow[]> {
  const period = await closePeriod(session, { ...wallet, from, to });
  assert(period !== undefined, 'a month that has ended can be closed');
  yield* readPortions(period, (portion) =>
    listTransfers(session, { ...wallet, period, ...portion }),
  );
}

const columns = [
  'entry_reference',
  'booking_time',
  'account_id',
  'type',
  'debit_account',
  'credit_account',
  'currency_code',
  'amount',
  'payout_token',
  'batch_token',
  'client_transfer_id',
  'booking_reference',
] as const;

/** A transfer debits the ledger account that it is taken from: the balances are credit balances. */
function writeTransfer(accountId: string, row: TransferRow): string {
  const { payout_id: payout, batch_id: batch } = row;
  const cells: Record<(typeof columns)[number], string> = {
    entry_reference: nameEntry(row),
    booking_time: formatSeconds(row.posted_at),
    account_id: accountId,
    type: row.kind,
    debit_account: row.from_name,
    credit_account: row.to_name,
    currency_code: row.currency,
    amount: formatMinor(row.amount, row.currency),
    payout_token: payout === null ? '' : formatToken('payout', payout),
    batch_token: batch === null ? '' : formatToken('batch', batch),
    client_transfer_id: row.client_transfer_id ?? '',
    booking_reference: row.booking_reference ?? '',
  };
  return writeRecord(columns.map((name) => cells[name]));
}
