import { getCheckDigit } from './aba.ts';
import {
  type AchFile,
  type AnyEntry,
  addSums,
  type Batch,
  blockingFactor,
  type FileHeader,
  isDebit,
  type Sums,
  sumEntries,
} from './ach-file.ts';
import { type Addenda, readAddendaField } from './addenda-layout.ts';
import { isChangeCode } from './change-codes.ts';
import { AchFormatError } from './record-layout.ts';
import { isReturnCode } from './return-codes.ts';

/** The rules of a file beyond the form of its records. */

/**
 * `strict` checks everything that the rules say. `lenient` is for files of a bank, which report money
 * that came back: unknown codes, a blank modifier, origin and destination that are no numbers, and a
 * wrong block count do not make a file unreadable.
 */
export type Strictness = 'strict' | 'lenient';

/** Checking, savings, general ledger and loan accounts; 81 to 88 are accounting advices. */
const transactionCodes = /^(?:[234][1-46-9]|5[1-356]|8[1-8])$/;
const serviceClasses = /^(?:200|220|225|280)$/;
const internationalTypes = ['10', '11', '12', '13', '14', '15', '16'];

export function checkFileHeader(header: FileHeader, strictness: Strictness): void {
  const isRight =
    header.priorityCode === '01' &&
    header.recordSize === '094' &&
    header.blockingFactor === String(blockingFactor) &&
    header.formatCode === '1';
  if (!isRight) {
    throw new AchFormatError(
      'the file header must have priority 01, record size 094, blocking factor 10 and format 1',
    );
  }
  // Processors leave the modifier of return files blank.
  if (strictness === 'strict' && !/^[A-Z0-9]$/.test(header.fileIdModifier)) {
    throw new AchFormatError("the file header's modifier must be A to Z or a digit");
  }
  const ends = [header.immediateDestination, header.immediateOrigin];
  if (strictness === 'strict' && ends.some((end) => !/^ ?[0-9]{9,10}$/.test(end))) {
    throw new AchFormatError("the file header's destination and origin must be numbers");
  }
}

export function checkBatch(batch: Batch, strictness: Strictness): void {
  const where = `batch ${Number(batch.header.batchNumber)}`;
  const { header, control } = batch;
  if (!serviceClasses.test(header.serviceClass)) {
    throw new AchFormatError(`${where}: the service class ${header.serviceClass} is unknown`);
  }
  if (batch.entries.length === 0) throw new AchFormatError(`${where} has no entries`);
  let previousTrace = '';
  for (const [index, { detail, addenda }] of batch.entries.entries()) {
    const entryWhere = `${where}, entry ${index + 1}`;
    checkEntry(batch.kind, { detail, addenda }, entryWhere);
    checkAddenda(addenda, { where: entryWhere, strictness });
    // Returns keep the order in which they reached the returning bank.
    const isForward = addenda.every(({ typeCode }) => typeCode !== '98' && typeCode !== '99');
    if (isForward && batch.kind !== 'advice' && detail.trace <= previousTrace) {
      throw new AchFormatError(
        `${entryWhere}: its trace number must be higher than the one before`,
      );
    }
    previousTrace = isForward ? detail.trace : '';
  }
  checkDirection(batch, where);
  checkSums(control, sumEntries(batch.entries, batch.kind === 'advice'), `${where}'s control`);
  const isSame =
    control.serviceClass === header.serviceClass &&
    control.odfi === header.odfi &&
    control.batchNumber === header.batchNumber &&
    isSameCompany(header.companyId, 'companyId' in control ? control.companyId : '');
  if (!isSame) {
    throw new AchFormatError(
      `${where}: header and control must have the same class, company, bank and number`,
    );
  }
}

/** The control may leave the company out, as those of advices and of many IAT do. */
function isSameCompany(header: string, control: string): boolean {
  return control.trim() === '' || control.trim() === header.trim();
}

/** @throws AchFormatError where an entry's own records contradict each other. */
export function checkEntry(
  kind: Batch['kind'],
  { detail, addenda }: AnyEntry,
  where: string,
): void {
  if (!transactionCodes.test(detail.transactionCode)) {
    throw new AchFormatError(`${where}: the transaction code ${detail.transactionCode} is unknown`);
  }
  if (getCheckDigit(detail.rdfi) !== detail.checkDigit) {
    throw new AchFormatError(`${where}: the check digit of the routing number is wrong`);
  }
  if (detail.addendaIndicator !== (addenda.length === 0 ? '0' : '1')) {
    throw new AchFormatError(`${where}: the addenda indicator does not agree with the addenda`);
  }
  if (kind !== 'international') return;
  const types = addenda.map(({ typeCode }) => typeCode);
  if (internationalTypes.some((type, place) => types[place] !== type)) {
    throw new AchFormatError(`${where}: an IAT entry must have addenda 10 to 16, in this order`);
  }
  // Returns keep the numbers of the original entry.
  if (types.some((type) => type === '98' || type === '99')) return;
  for (const record of addenda) {
    const sequence = record.values['entrySequence'];
    if (sequence !== undefined && sequence !== detail.trace.slice(8)) {
      throw new AchFormatError(`${where}: an addenda record belongs to another entry`);
    }
  }
}

type CodeCheck = { readonly where: string; readonly strictness: Strictness };

function checkAddenda(addenda: readonly Addenda[], { where, strictness }: CodeCheck): void {
  for (const record of addenda) {
    const code = readAddendaField(record, 'code');
    if (record.typeCode === '99' && strictness === 'strict' && !isReturnCode(code)) {
      throw new AchFormatError(`${where}: the return code ${showCode(code)} is unknown`);
    }
    if (record.typeCode === '98' && strictness === 'strict' && !isChangeCode(code)) {
      throw new AchFormatError(`${where}: the change code ${showCode(code)} is unknown`);
    }
  }
}

/** A text that is no code may be personal data. */
function showCode(code: string): string {
  return /^[A-Z][0-9]{2}$/.test(code) ? code : 'of this form';
}

/** Class 220 is for credits only, 225 for debits only. */
function checkDirection(batch: Batch, where: string): void {
  if (batch.kind === 'advice') return;
  const { serviceClass } = batch.header;
  for (const { detail } of batch.entries) {
    const isOfDebit = isDebit(detail.transactionCode);
    if ((serviceClass === '220' && isOfDebit) || (serviceClass === '225' && !isOfDebit)) {
      throw new AchFormatError(`${where}: class ${serviceClass} must not have such entries`);
    }
  }
}

type StatedSums = {
  readonly entryAddendaCount: string;
  readonly entryHash: string;
  readonly debitTotal: string;
  readonly creditTotal: string;
};

function checkSums(stated: StatedSums, sums: Sums, where: string): void {
  const comparisons: readonly (readonly [string, string, bigint])[] = [
    ['entries and addenda', stated.entryAddendaCount, BigInt(sums.entryAddendaCount)],
    ['the entry hash', stated.entryHash, sums.hash],
    ['debits', stated.debitTotal, sums.debitMinor],
    ['credits', stated.creditTotal, sums.creditMinor],
  ];
  for (const [what, text, value] of comparisons) {
    if (BigInt(text) !== value) {
      throw new AchFormatError(`${where}: its sum of ${what} differs from that of the entries`);
    }
  }
}

type FileCheck = { readonly lineCount: number; readonly strictness: Strictness };

export function checkFile(
  { batches, control }: Pick<AchFile, 'batches' | 'control'>,
  { lineCount, strictness }: FileCheck,
): void {
  const sums = addSums(batches.map((batch) => sumEntries(batch.entries, batch.kind === 'advice')));
  checkSums(control, sums, 'the file control');
  if (Number(control.batchCount) !== batches.length) {
    throw new AchFormatError('the batch count of the file control is wrong');
  }
  const blockCount = Math.ceil(lineCount / blockingFactor);
  if (strictness === 'strict' && Number(control.blockCount) !== blockCount) {
    throw new AchFormatError('the block count of the file control is wrong');
  }
}
