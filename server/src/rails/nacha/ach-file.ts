import { type Addenda, findAddendaLayout } from './addenda-layout.ts';
import {
  AchFormatError,
  adviceBatchControlLayout,
  adviceEntryLayout,
  adviceFileControlLayout,
  batchControlLayout,
  batchHeaderLayout,
  entryLayout,
  fileControlLayout,
  fileHeaderLayout,
  iatBatchHeaderLayout,
  iatEntryLayout,
  recordLength,
  type ValuesOf,
  writeRecord,
} from './record-layout.ts';

/** An ACH file: header, batches of entries with their addenda, control records. */

export type FileHeader = ValuesOf<typeof fileHeaderLayout>;
export type FileControl = ValuesOf<typeof fileControlLayout>;
export type BatchHeader = ValuesOf<typeof batchHeaderLayout>;
export type IatBatchHeader = ValuesOf<typeof iatBatchHeaderLayout>;
export type EntryDetail = ValuesOf<typeof entryLayout>;
export type IatEntryDetail = ValuesOf<typeof iatEntryLayout>;
export type AdviceEntryDetail = ValuesOf<typeof adviceEntryLayout>;
export type BatchControl = ValuesOf<typeof batchControlLayout>;
export type AdviceBatchControl = ValuesOf<typeof adviceBatchControlLayout>;

export type Entry<Detail> = { readonly detail: Detail; readonly addenda: readonly Addenda[] };

export type AnyEntry = Entry<EntryDetail | IatEntryDetail | AdviceEntryDetail>;

export type DomesticBatch = {
  readonly kind: 'domestic';
  readonly header: BatchHeader;
  readonly entries: readonly Entry<EntryDetail>[];
  readonly control: BatchControl;
};
export type IatBatch = {
  readonly kind: 'international';
  readonly header: IatBatchHeader;
  readonly entries: readonly Entry<IatEntryDetail>[];
  readonly control: BatchControl;
};
export type AdviceBatch = {
  readonly kind: 'advice';
  readonly header: BatchHeader;
  readonly entries: readonly Entry<AdviceEntryDetail>[];
  readonly control: AdviceBatchControl;
};
export type Batch = DomesticBatch | IatBatch | AdviceBatch;

export type AchFile = {
  readonly header: FileHeader;
  readonly batches: readonly Batch[];
  readonly control: FileControl;
};

/** Records per block; the last one is filled up with lines of nines. */
export const blockingFactor = 10;
const fillerLine = '9'.repeat(recordLength);

/** Second digit of a transaction code: 1 to 4 is a credit, 6 to 9 a debit (5: a loan's debit). */
export function isDebit(transactionCode: string): boolean {
  return transactionCode[1] !== undefined && transactionCode[1] >= '5';
}

/** Codes 81 to 88 of accounting advices: odd ones are credits, even ones debits. */
function isAdviceDebit(transactionCode: string): boolean {
  return Number(transactionCode) % 2 === 0;
}

export type Sums = {
  entryAddendaCount: number;
  /** The sum of the eight digits of every entry's receiving bank, last ten digits. */
  hash: bigint;
  debitMinor: bigint;
  creditMinor: bigint;
};

const hashModulus = 10_000_000_000n;

export function sumEntries(entries: readonly AnyEntry[], isAdvice = false): Sums {
  const sums: Sums = { entryAddendaCount: 0, hash: 0n, debitMinor: 0n, creditMinor: 0n };
  for (const { detail, addenda } of entries) {
    sums.entryAddendaCount += 1 + addenda.length;
    sums.hash = (sums.hash + BigInt(detail.rdfi)) % hashModulus;
    const code = detail.transactionCode;
    if (isAdvice ? isAdviceDebit(code) : isDebit(code)) sums.debitMinor += BigInt(detail.amount);
    else sums.creditMinor += BigInt(detail.amount);
  }
  return sums;
}

export function addSums(parts: readonly Sums[]): Sums {
  const total: Sums = { entryAddendaCount: 0, hash: 0n, debitMinor: 0n, creditMinor: 0n };
  for (const part of parts) {
    total.entryAddendaCount += part.entryAddendaCount;
    total.hash = (total.hash + part.hash) % hashModulus;
    total.debitMinor += part.debitMinor;
    total.creditMinor += part.creditMinor;
  }
  return total;
}

/** The control record that belongs under these entries. */
export function closeBatch(
  header: BatchHeader | IatBatchHeader,
  entries: readonly Entry<EntryDetail | IatEntryDetail>[],
): BatchControl {
  const sums = sumEntries(entries);
  return {
    recordType: '8',
    serviceClass: header.serviceClass,
    entryAddendaCount: String(sums.entryAddendaCount),
    entryHash: String(sums.hash),
    debitTotal: String(sums.debitMinor),
    creditTotal: String(sums.creditMinor),
    companyId: header.companyId,
    authentication: '',
    reserved: '',
    odfi: header.odfi,
    batchNumber: header.batchNumber,
  };
}

/** A file with the control record that belongs under its batches. */
export function closeFile(header: FileHeader, batches: readonly Batch[]): AchFile {
  const sums = addSums(batches.map((batch) => sumEntries(batch.entries, batch.kind === 'advice')));
  // Header and control of the file, and of every batch.
  const lines = 2 + 2 * batches.length + sums.entryAddendaCount;
  return {
    header,
    batches,
    control: {
      recordType: '9',
      batchCount: String(batches.length),
      blockCount: String(Math.ceil(lines / blockingFactor)),
      entryAddendaCount: String(sums.entryAddendaCount),
      entryHash: String(sums.hash),
      debitTotal: String(sums.debitMinor),
      creditTotal: String(sums.creditMinor),
      reserved: '',
    },
  };
}

function formatAddenda(record: Addenda): string {
  const layout = findAddendaLayout(record.typeCode, record.values['code'] ?? '');
  if (layout === undefined) {
    throw new AchFormatError(`there is no addenda record of type ${record.typeCode}`);
  }
  return writeRecord(layout, record.values);
}

function formatBatch(batch: Batch): string[] {
  const addendaOf = (entry: { addenda: readonly Addenda[] }) => entry.addenda.map(formatAddenda);
  switch (batch.kind) {
    case 'domestic':
      return [
        writeRecord(batchHeaderLayout, batch.header),
        ...batch.entries.flatMap((entry) => [
          writeRecord(entryLayout, entry.detail),
          ...addendaOf(entry),
        ]),
        writeRecord(batchControlLayout, batch.control),
      ];
    case 'international':
      return [
        writeRecord(iatBatchHeaderLayout, batch.header),
        ...batch.entries.flatMap((entry) => [
          writeRecord(iatEntryLayout, entry.detail),
          ...addendaOf(entry),
        ]),
        writeRecord(batchControlLayout, batch.control),
      ];
    case 'advice':
      return [
        writeRecord(batchHeaderLayout, batch.header),
        ...batch.entries.flatMap((entry) => [
          writeRecord(adviceEntryLayout, entry.detail),
          ...addendaOf(entry),
        ]),
        writeRecord(adviceBatchControlLayout, batch.control),
      ];
  }
}

/** Whether a file is one of accounting advices, whose totals have twenty digits. */
export function isAdviceFile(batches: readonly Batch[]): boolean {
  return batches.length > 0 && batches.every(({ kind }) => kind === 'advice');
}

function formatFileControl({ batches, control }: AchFile): string {
  return isAdviceFile(batches)
    ? writeRecord(adviceFileControlLayout, control)
    : writeRecord(fileControlLayout, control);
}

/** The records of a file, one after the other, filled up to whole blocks. */
function formatLines(file: AchFile): string[] {
  const lines = [
    writeRecord(fileHeaderLayout, file.header),
    ...file.batches.flatMap(formatBatch),
    formatFileControl(file),
  ];
  while (lines.length % blockingFactor !== 0) lines.push(fillerLine);
  return lines;
}

/** @throws AchFormatError where a value does not fit its field. */
export function formatAchFile(file: AchFile, lineEnd: '\n' | '\r\n' = '\n'): string {
  return formatLines(file)
    .map((line) => `${line}${lineEnd}`)
    .join('');
}
