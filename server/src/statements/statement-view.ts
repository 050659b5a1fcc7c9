import { z } from 'zod';
import { formatSeconds } from '../core/clock.ts';
import { writeRecord } from '../core/csv.ts';
import { getCurrency } from '../core/currency.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import { amountAnswer, createWriter } from '../http/schema.ts';
import { entryTypes } from '../ledger/ledger.ts';
import { endOf, formatDay } from './period.ts';
import type { Statement, StatementEntry } from './statements.ts';

/** Statements as JSON and CSV, written in portions while the entries are read. */

const entryAnswer = z
  .object({
    entry_reference: z
      .string()
      .describe('Unique in the account: the `token` of the journal without dashes, and its line'),
    booking_time: z.string().describe('When it was posted, UTC'),
    value_date: z.string().describe('The day from which the money counts: that of the posting'),
    type: z.enum(entryTypes).describe('The kind of journal that posted it'),
    counterpart: z
      .string()
      .describe('The ledger account of the opposite posting: `fees` where the entry is a fee'),
    credit_debit_indicator: z
      .enum(['CRDT', 'DBIT'])
      .describe('CRDT: the balance increased; DBIT: it decreased'),
    amount: amountAnswer.describe('Exact, never negative'),
    balance_after: amountAnswer.describe('The balance that the entry left'),
    payout_token: z.string().describe('"" when it belongs to no payout'),
    batch_token: z.string().describe('"" when it belongs to no batch'),
    client_transfer_id: z
      .string()
      .describe('Your identifier of the payout; "" when it belongs to none'),
  })
  .meta({ id: 'StatementEntry' });

export const statementAnswer = z
  .object({
    statement_id: z.string().describe('The same whenever this balance and period are read'),
    balance_token: z.string().describe('The balance, as listBalances has it'),
    currency_code: z
      .string()
      .describe('Of all amounts; ISO 4217, or the ticker of a cryptocurrency'),
    from_date: z.string().describe('The first day, UTC'),
    to_date: z.string().describe('The last day, UTC'),
    created_on: z.string().describe('The end of the period, UTC: when the statement was final'),
    opening_balance: amountAnswer.describe('The closing balance of the day before'),
    credit_count: z.number().int().describe('Entries that increased the balance'),
    credit_total: amountAnswer.describe('Their sum'),
    debit_count: z.number().int().describe('Entries that decreased the balance'),
    debit_total: amountAnswer.describe('Their sum, not negative'),
    closing_balance: amountAnswer.describe(
      'opening_balance + credit_total - debit_total, and what the last entry left',
    ),
    entries: z.array(entryAnswer).describe('In the order of posting'),
  })
  .meta({ id: 'Statement' });

const writeHead = createWriter(statementAnswer);
const writeEntry = createWriter(entryAnswer);

/** The JSON text in parts. */
export async function* writeJson(statement: Statement): AsyncGenerator<string> {
  // The entries come last.
  const end = ']}';
  yield writeHead(viewStatement(statement)).slice(0, -end.length);
  let separator = '';
  for await (const entries of statement.entries()) {
    const view = createEntryView(statement.currency);
    yield separator + entries.map((entry) => writeEntry(view(entry))).join(',');
    separator = ',';
  }
  yield end;
}

function viewStatement(statement: Statement): z.infer<typeof statementAnswer> {
  const { period, currency } = statement;
  const amount = createAmounts(currency);
  return {
    statement_id: statement.id,
    balance_token: statement.balanceToken,
    currency_code: currency,
    from_date: period.firstDay,
    to_date: period.lastDay,
    created_on: formatSeconds(endOf(period)),
    opening_balance: amount(statement.openingBalance),
    credit_count: Number(statement.credits),
    credit_total: amount(statement.creditTotal),
    debit_count: Number(statement.debits),
    debit_total: amount(statement.debitTotal),
    closing_balance: amount(statement.closingBalance),
    entries: [],
  };
}

function createAmounts(code: string): (minor: bigint) => JsonNumber {
  const currency = getCurrency(code);
  return (minor) => new JsonNumber(formatAmount(minor, currency));
}

function createEntryView(currency: string) {
  const amount = createAmounts(currency);
  return (entry: StatementEntry): z.infer<typeof entryAnswer> => ({
    entry_reference: entry.reference,
    booking_time: formatSeconds(entry.posted_at),
    value_date: formatDay(entry.posted_at),
    type: entry.kind,
    counterpart: entry.counterpart,
    credit_debit_indicator: entry.amount < 0n ? 'DBIT' : 'CRDT',
    amount: amount(entry.amount < 0n ? -entry.amount : entry.amount),
    balance_after: amount(entry.balance_after),
    payout_token: entry.payout_id === null ? '' : formatToken('payout', entry.payout_id),
    batch_token: entry.batch_id === null ? '' : formatToken('batch', entry.batch_id),
    client_transfer_id: entry.client_transfer_id ?? '',
  });
}

const columns = [
  'entry_reference',
  'booking_time',
  'value_date',
  'type',
  'counterpart',
  'credit_debit_indicator',
  'amount',
  'balance_after',
  'payout_token',
  'batch_token',
  'client_transfer_id',
] as const;

/**
 * The CSV in parts: between the header and the last row, which have the opening and the closing
 * balance in `balance_after`, one row per entry.
 */
export async function* writeCsv(statement: Statement): AsyncGenerator<string> {
  const { currency, period, openingBalance, closingBalance } = statement;
  const amount = createAmounts(currency);
  const view = createEntryView(currency);
  const writeBalance = (type: string, day: string, balance: bigint): string => {
    const row = { type, value_date: day, balance_after: amount(balance), currency_code: currency };
    return writeRow(row);
  };
  yield writeRecord([...columns, 'currency_code']);
  yield writeBalance('opening_balance', period.firstDay, openingBalance);
  for await (const entries of statement.entries()) {
    yield entries.map((entry) => writeRow({ ...view(entry), currency_code: currency })).join('');
  }
  yield writeBalance('closing_balance', period.lastDay, closingBalance);
}

type Cells = { [Name in (typeof columns)[number]]?: string | JsonNumber } & {
  currency_code: string;
};

function writeRow(cells: Cells): string {
  return writeRecord([...columns.map((column) => cells[column]), cells.currency_code]);
}
