import { readFileSync } from 'node:fs';
import { formatSeconds } from '../core/clock.ts';
import { getCurrency } from '../core/currency.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import { type PageTemplate, type TypesetDocument, typesetDocument } from '../receipts/receipt.ts';
import { groupDigits, mapTexts, padToScale, transliterate } from '../receipts/texts.ts';
import { endOf } from './period.ts';
import type { Statement, StatementEntry } from './statements.ts';

/** Statements as PDF. A page has some forty entries, so only short ones are typeset. */

export const pdfEntriesMax = 1000;

const template: PageTemplate = {
  source: readFileSync(new URL('./statement.typ', import.meta.url), 'utf8'),
  pagesMax: 200,
};

type Row = readonly [
  time: string,
  description: string,
  references: readonly string[],
  amount: string,
  balance: string,
];

export type StatementDocument = TypesetDocument & {
  title: string;
  documentTitle: string;
  statementId: string;
  isTest: boolean;
  /** Year, month and day. */
  createdOn: readonly number[];
  head: readonly (readonly [label: string, value: string])[];
  columns: readonly string[];
  rows: readonly Row[];
};

/**
 * Typesets a statement of at most `pdfEntriesMax` entries. Other scripts are always transliterated, so
 * that installing their fonts does not change the bytes.
 *
 * @throws AppError unavailable when too many wait or the time limit passes.
 */
export async function writeStatementPdf(
  statement: Statement,
  environmentName: 'staging' | 'live',
): Promise<Uint8Array> {
  const document = await composeStatement(statement, environmentName);
  return typesetDocument(mapTexts(document, transliterate), template);
}

export async function composeStatement(
  statement: Statement,
  environmentName: 'staging' | 'live',
): Promise<StatementDocument> {
  const { currency, period, openingBalance, closingBalance } = statement;
  const amount = createAmounts(currency);
  const rows: Row[] = [['', 'Opening balance', [], '', amount(openingBalance)]];
  for await (const entries of statement.entries()) {
    rows.push(...entries.map((entry) => composeRow(entry, amount)));
  }
  rows.push(['', 'Closing balance', [], '', amount(closingBalance)]);
  const days = `${period.firstDay} to ${period.lastDay}`;
  return {
    hanRegion: 'sc',
    title: 'Balance statement',
    documentTitle: `Balance statement ${currency} ${days}`,
    statementId: statement.id,
    isTest: environmentName === 'staging',
    createdOn: endOf(period).toISOString().slice(0, 10).split('-').map(Number),
    head: [
      ['Balance', statement.balanceToken],
      ['Currency', currency],
      ['Period', `${days}, both days included`],
      ['Opening balance', amount(openingBalance)],
      [`Credits (${statement.credits})`, amount(statement.creditTotal)],
      [`Debits (${statement.debits})`, amount(-statement.debitTotal)],
      ['Closing balance', amount(closingBalance)],
    ],
    columns: ['Booked', 'Entry', 'Reference', 'Amount', 'Balance'],
    rows,
  };
}

function createAmounts(code: string): (minor: bigint) => string {
  const currency = getCurrency(code);
  return (minor) => groupDigits(padToScale(formatAmount(minor, currency), code));
}

const names: Readonly<Record<StatementEntry['kind'], string>> = {
  fund: 'Funding',
  adjust_credit: 'Correction',
  adjust_debit: 'Correction',
  commit: 'Payout',
  refund: 'Refund',
  return: 'Return',
  reserve: 'Batch reserve',
  release: 'Batch release',
};

function composeRow(entry: StatementEntry, amount: (minor: bigint) => string): Row {
  const { payout_id: payout, batch_id: batch, client_transfer_id: transfer } = entry;
  const isFee = entry.counterpart === 'fees';
  const references = [
    transfer ?? '',
    payout === null ? '' : formatToken('payout', payout),
    batch === null ? '' : formatToken('batch', batch),
  ];
  return [
    formatSeconds(entry.posted_at).replace('T', ' '),
    `${names[entry.kind]}${isFee ? ' fee' : ''}`,
    references.filter((text) => text !== ''),
    amount(entry.amount),
    amount(entry.balance_after),
  ];
}
