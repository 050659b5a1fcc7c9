import { createHash } from 'node:crypto';
import { CsvError, parse } from 'csv-parse/sync';
import { z } from 'zod';
import { isRealDate } from '../core/calendar-date.ts';
import { findCurrency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { nameId } from '../core/ids.ts';
import { parseAmount } from '../core/money.ts';
import { decodeReference } from '../rails/contract/references.ts';
import { type BookedEntry, readAccountReport } from '../rails/iso20022/camt.ts';
import { cleanReference } from '../rails/iso20022/pain002.ts';
import { parseDocument } from '../rails/iso20022/xml.ts';

/** Statements of the bank: camt.053, or CSV with the columns of `csvColumns`. */

/** `id` is the same whenever a file has the entry again. */
export type BankEntry = {
  readonly id: string;
  /** The place in the file. */
  readonly position: string;
  readonly bankAccount: string;
  /** YYYY-MM-DD. */
  readonly bookedOn: string;
  readonly direction: 'debit' | 'credit';
  readonly currency: string;
  readonly amountMinor: bigint;
  /** Of payments; ours as digits. Several for a batch that is booked as one amount. */
  readonly references: readonly string[];
  readonly bankReference: string;
  readonly batchId: string;
  readonly batchCount: number | undefined;
};

export type BankFile = {
  readonly digest: Buffer;
  readonly format: 'camt.053' | 'csv';
  readonly entries: readonly BankEntry[];
};

type Unnamed = Omit<BankEntry, 'id'>;

/** @throws AppError invalid_request that names what cannot be read. */
export function readBankFile(bytes: Buffer): BankFile {
  const isXml = /^[\s\ufeff\0]*</.test(bytes.subarray(0, 100).toString('utf8'));
  const entries = isXml ? readCamt053(bytes) : readCsv(bytes);
  return {
    digest: createHash('sha256').update(bytes).digest(),
    format: isXml ? 'camt.053' : 'csv',
    entries: nameEntries(entries),
  };
}

function refuse(detail: string): AppError {
  return new AppError('invalid_request', `the statement cannot be imported: ${detail}`);
}

/** Any fixed UUID: entries are named within it. */
const namespace = '6c9f5a0e-5d0c-5b1e-9d5a-0d2f0f3f7a11';

/** Equal entries of one file are numbered, since a bank may book the same amount twice on a day. */
function nameEntries(entries: readonly Unnamed[]): BankEntry[] {
  const seen = new Map<string, number>();
  return entries.map((entry) => {
    const { position: _position, ...parts } = entry;
    const name = JSON.stringify({ ...parts, amountMinor: String(parts.amountMinor) });
    const ordinal = (seen.get(name) ?? 0) + 1;
    seen.set(name, ordinal);
    return { ...entry, id: nameId(`${name}${ordinal}`, namespace) };
  });
}

/**
 * References that Outlay derived, as digits; else others that have the form of one. Free text is left
 * out, since it may name people.
 */
function readReferences(texts: readonly string[]): string[] {
  const derived = texts.flatMap((text) => decodeReference(text)?.replaceAll('-', '') ?? []);
  const others = texts.map(cleanReference).filter((text) => text !== '' && text !== 'NOTPROVIDED');
  return [...new Set(derived.length > 0 ? derived : others.slice(0, 1))];
}

const balanceSchema = z.object({
  Tp: z.object({ CdOrPrtry: z.object({ Cd: z.string().optional() }) }),
  Amt: z.object({ '#text': z.string(), '@Ccy': z.string() }),
  CdtDbtInd: z.enum(['CRDT', 'DBIT']),
});

const statementSchema = z.object({
  BkToCstmrStmt: z.object({
    Stmt: z.array(
      z.object({
        Bal: z.union([balanceSchema.transform((one) => [one]), z.array(balanceSchema)]).optional(),
        Ntry: z
          .array(
            z.object({
              Amt: balanceSchema.shape.Amt,
              CdtDbtInd: balanceSchema.shape.CdtDbtInd,
              Sts: z.union([z.string(), z.object({ Cd: z.string().optional() })]),
            }),
          )
          .default([]),
      }),
    ),
  }),
});

function readCamt053(bytes: Buffer): Unnamed[] {
  const document = parseDocument(bytes);
  if (!document.ok) throw refuse(document.fault);
  const report = readAccountReport(document.content);
  const raw = statementSchema.safeParse(document.content);
  if (report?.source !== 'statement' || !raw.success) throw refuse('it is no camt.053');
  const [fault] = report.faults;
  if (fault !== undefined) throw refuse(`entry ${fault.position}: ${fault.detail}`);
  const entries = report.entries.map(readBookedEntry);
  requireSums(raw.data.BkToCstmrStmt.Stmt, entries);
  return entries;
}

function readBookedEntry(entry: BookedEntry): Unnamed {
  const { position, booked, bookedAt, batch, direction } = entry;
  if (booked === undefined || booked.amountMinor <= 0n) {
    throw refuse(`entry ${position} has no amount of its own`);
  }
  const bookedOn = bookedAt.slice(0, 10);
  if (!isRealDate(bookedOn)) throw refuse(`entry ${position} has no booking date`);
  const names = batch?.endToEndIds.length ? batch.endToEndIds : [entry.endToEndId];
  const count = Number(batch?.count ?? '');
  return {
    position,
    bankAccount: entry.account,
    bookedOn,
    direction,
    currency: booked.currency,
    amountMinor: booked.amountMinor,
    references: readReferences([...names, entry.instructionId]),
    bankReference: entry.bankReference,
    batchId: cleanReference(batch?.id),
    batchCount: Number.isSafeInteger(count) && count > 0 ? count : undefined,
  };
}

type RawStatement = z.infer<typeof statementSchema>['BkToCstmrStmt']['Stmt'][number];

/**
 * The entries of each statement must lead from its opening to its closing balance where it has both,
 * and their transactions must add up to them: else something was not read.
 */
function requireSums(statements: readonly RawStatement[], entries: readonly Unnamed[]): void {
  let booked = 0n;
  for (const { Bal, Ntry } of statements) {
    let moved = 0n;
    for (const { Amt, CdtDbtInd, Sts } of Ntry) {
      const status = typeof Sts === 'string' ? Sts : Sts.Cd;
      if (status === 'BOOK') moved += readMoney(Amt, CdtDbtInd);
    }
    booked += moved;
    const find = (codes: readonly string[]): bigint | undefined => {
      const found = Bal?.find(({ Tp }) => codes.includes(Tp.CdOrPrtry.Cd ?? ''));
      return found && readMoney(found.Amt, found.CdtDbtInd);
    };
    const [opening, closing] = [find(['OPBD', 'PRCD']), find(['CLBD'])];
    if (opening !== undefined && closing !== undefined && opening + moved !== closing) {
      throw refuse('its entries do not lead from the opening to the closing balance');
    }
  }
  const read = entries.reduce(
    (sum, { direction, amountMinor }) => sum + (direction === 'debit' ? -amountMinor : amountMinor),
    0n,
  );
  if (read !== booked) throw refuse('the transactions of an entry do not add up to its amount');
}

/** Negative for a debit. A balance may be zero. */
function readMoney(
  amount: z.infer<typeof balanceSchema>['Amt'],
  indicator: 'CRDT' | 'DBIT',
): bigint {
  if (/^0*(?:\.0*)?$/.test(amount['#text'])) return 0n;
  const currency = findCurrency(amount['@Ccy']);
  const parsed = currency && parseAmount(amount['#text'], currency);
  if (parsed?.ok !== true) throw refuse('it has an amount that is none of its currency');
  return indicator === 'DBIT' ? -parsed.minor : parsed.minor;
}

/** `amount` is negative for a debit, or positive beside `credit_debit_indicator`. */
const csvColumns = {
  required: ['booking_date', 'amount', 'currency'],
  optional: [
    'credit_debit_indicator',
    'end_to_end_id',
    'bank_reference',
    'batch_id',
    'batch_count',
    'account',
  ],
} as const;

function readCsv(bytes: Buffer): Unnamed[] {
  const [head = ''] = bytes.subarray(0, 4096).toString('utf8').split('\n', 1);
  const delimiter = head.split(';').length > head.split(',').length ? ';' : ',';
  let header: readonly string[] = [];
  try {
    const rows = parse<Record<string, string>>(bytes, {
      bom: true,
      delimiter,
      columns: (names: string[]) => (header = names.map((name) => name.trim().toLowerCase())),
      skip_empty_lines: true,
      trim: true,
    });
    const missing = csvColumns.required.filter((name) => !header.includes(name));
    // A file of another kind would count as a day without entries.
    if (missing.length > 0) throw refuse(`its first line has no column ${missing.join(', ')}`);
    return rows.map((row, index) => readRow(row, index + 2));
  } catch (error) {
    if (error instanceof CsvError) throw refuse(`line ${Number(error['lines'] ?? 0)} is no CSV`);
    throw error;
  }
}

function readRow(row: Readonly<Record<string, string>>, line: number): Unnamed {
  const missing = csvColumns.required.find((name) => (row[name] ?? '') === '');
  if (missing !== undefined) throw refuse(`line ${line} has no ${missing}`);
  const { amount: written = '', currency: code = '', booking_date: bookedOn = '' } = row;
  const indicator = row['credit_debit_indicator'] ?? '';
  if (!['', 'CRDT', 'DBIT'].includes(indicator)) {
    throw refuse(`line ${line}: credit_debit_indicator must be CRDT or DBIT`);
  }
  if (!isRealDate(bookedOn)) {
    throw refuse(`line ${line}: booking_date must be YYYY-MM-DD`);
  }
  const currency = findCurrency(code);
  const parsed = currency && parseAmount(written.replace(/^[-+]/, ''), currency);
  if (parsed?.ok !== true || (indicator !== '' && /^[-+]/.test(written))) {
    throw refuse(
      `line ${line}: amount must be a decimal such as -12.50 (a debit) of a known currency, without sign beside credit_debit_indicator`,
    );
  }
  const isDebit = indicator === '' ? written.startsWith('-') : indicator === 'DBIT';
  const count = Number(row['batch_count'] ?? '');
  return {
    position: String(line),
    bankAccount: (row['account'] ?? '').replaceAll(' ', ''),
    bookedOn,
    direction: isDebit ? 'debit' : 'credit',
    currency: code,
    amountMinor: parsed.minor,
    references: readReferences([row['end_to_end_id'] ?? '']),
    bankReference: cleanReference(row['bank_reference']),
    batchId: cleanReference(row['batch_id']),
    batchCount: Number.isSafeInteger(count) && count > 0 ? count : undefined,
  };
}
