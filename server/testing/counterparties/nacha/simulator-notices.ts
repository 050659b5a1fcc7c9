import { createHash } from 'node:crypto';
import {
  type Batch,
  closeBatch,
  closeFile,
  type Entry,
  type EntryDetail,
  type FileHeader,
  formatAchFile,
  type IatEntryDetail,
} from '../../../src/rails/nacha/ach-file.ts';
import type { Addenda } from '../../../src/rails/nacha/addenda-layout.ts';
import type { Notice } from './simulator-books.ts';

/** Writes return and change files as a bank sends them to the originator. */

/** The returning bank, with its check digit. */
export const returningBank = '091000019';

export type NoticeFile = { readonly name: string; readonly text: string };

/** The file of these notices; `copy` distinguishes files of the same content. */
export function buildNoticeFile(notices: readonly Notice[], copy: number): NoticeFile {
  const batches = notices.map((notice, index) => buildBatch(notice, index + 1));
  const text = formatAchFile(closeFile(buildHeader(copy), batches));
  const ids = notices.map(({ id }) => id).join(' ');
  const digest = createHash('sha256').update(ids).digest('hex').slice(0, 16);
  return { name: `notices-${digest}-${copy}.ach`, text };
}

function buildHeader(copy: number): FileHeader {
  return {
    recordType: '1',
    priorityCode: '01',
    immediateDestination: ' 121042882',
    immediateOrigin: ` ${returningBank}`,
    creationDate: '260102',
    creationTime: '0600',
    fileIdModifier: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'[copy % 36] ?? 'A',
    recordSize: '094',
    blockingFactor: '10',
    formatCode: '1',
    destinationName: 'Originator',
    originName: 'Simulated Bank',
    referenceCode: '',
  };
}

function buildBatch(notice: Notice, batchNumber: number): Batch {
  const { batch, code } = notice;
  const isChange = code.startsWith('C');
  const numbers = {
    odfi: returningBank.slice(0, 8),
    batchNumber: String(batchNumber).padStart(7, '0'),
    originatorStatus: '1',
  };
  if (batch.kind === 'domestic') {
    const entryClass = isChange ? 'COR' : batch.header.entryClass;
    const header = { ...batch.header, ...numbers, entryClass };
    const entries = batch.entries.map((entry) => answerEntry(entry, notice));
    return { kind: 'domestic', header, entries, control: closeBatch(header, entries) };
  }
  if (batch.kind !== 'international') throw new Error('unreachable: an advice is not returned');
  const header = {
    ...batch.header,
    ...numbers,
    ...(isChange ? { iatIndicator: 'IATCOR', entryClass: 'COR' } : {}),
  };
  const entries = batch.entries.map((entry) => answerEntry(entry, notice));
  return { kind: 'international', header, entries, control: closeBatch(header, entries) };
}

function answerEntry<Detail extends EntryDetail | IatEntryDetail>(
  { detail, addenda }: Entry<Detail>,
  notice: Notice,
): Entry<Detail> {
  const isChange = notice.code.startsWith('C');
  return {
    detail: {
      ...detail,
      // 21 and 31 are the returns of 22 and 32.
      transactionCode: `${detail.transactionCode[0] ?? '2'}1`,
      amount: isChange ? '0'.repeat(10) : detail.amount,
      addendaIndicator: '1',
      trace: notice.trace,
    },
    addenda: [
      ...addenda.filter(({ typeCode }) => typeCode >= '10' && typeCode <= '16'),
      isChange ? buildChange(detail, notice) : buildReturn(detail, notice),
    ],
  };
}

function buildReturn(detail: EntryDetail | IatEntryDetail, { code, trace }: Notice): Addenda {
  const base = { recordType: '7', typeCode: '99', code, originalTrace: detail.trace, trace };
  return {
    typeCode: '99',
    values: {
      ...base,
      dateOfDeath: '',
      originalRdfi: detail.rdfi,
      information: '',
      // Dishonored and contested returns (R61 to R77).
      reserved: '',
      reservedToo: '',
      originalReturnDate: '',
      originalSettlementDate: '',
      returnTrace: '',
      returnSettlementDate: '',
      returnCode: '',
      dishonoredTrace: '',
      dishonoredSettlementDate: '',
      dishonoredCode: '',
    },
  };
}

function buildChange(detail: EntryDetail | IatEntryDetail, { code, trace }: Notice): Addenda {
  return {
    typeCode: '98',
    values: {
      recordType: '7',
      typeCode: '98',
      code,
      originalTrace: detail.trace,
      reserved: '',
      originalRdfi: detail.rdfi,
      correctedData: '1918171614',
      reservedToo: '',
      trace,
    },
  };
}
