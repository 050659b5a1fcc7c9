import { checkBatch, checkFile, checkFileHeader, type Strictness } from './ach-checks.ts';
import {
  type AchFile,
  type AdviceEntryDetail,
  type Batch,
  type Entry,
  type EntryDetail,
  type FileHeader,
  type IatEntryDetail,
} from './ach-file.ts';
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
  type Layout,
  readRecord,
  recordLength,
  type Values,
} from './record-layout.ts';

/** A record with its place in the file, counted from one. */
export type AchRecord = { readonly text: string; readonly number: number };

/**
 * Reads and checks a file: order of the records, every count, hash and total, check digits, order
 * of the trace numbers.
 *
 * @throws AchFormatError that names line and field, and no contents.
 */
export function parseAchFile(bytes: Uint8Array, strictness: Strictness = 'strict'): AchFile {
  const records = splitRecords(bytes);
  if (records.length === 0) throw new AchFormatError('the file is empty');
  const lines = records.map((record, index) => readText(record, index + 1));
  const reader = new RecordReader(lines);
  const header = readFileHeader(reader, strictness);
  const batches: Batch[] = [];
  while (reader.peekType() === '5') {
    const batch = readBatch(reader);
    checkBatch(batch, strictness);
    batches.push(batch);
  }
  const isAdvice = batches.length > 0 && batches.every(({ kind }) => kind === 'advice');
  const line = reader.take('9', 'a file control or a batch header');
  const control = isAdvice
    ? { ...readLine(adviceFileControlLayout, line) }
    : { ...readLine(fileControlLayout, line) };
  reader.takeFillers();
  const file: AchFile = { header, batches, control };
  checkFile(file, { lineCount: lines.length, strictness });
  return file;
}

export class RecordReader {
  readonly #lines: readonly AchRecord[];
  #next = 0;

  constructor(lines: readonly AchRecord[]) {
    this.#lines = lines;
  }

  /** The type of the next record; undefined after the last one. */
  peekType(): string | undefined {
    return this.#lines[this.#next]?.text[0];
  }

  take(type: string, expected: string): AchRecord {
    const line = this.#lines[this.#next];
    if (line === undefined) throw new AchFormatError(`the file ends where ${expected} is expected`);
    if (line.text[0] !== type) {
      throw new AchFormatError(`line ${line.number} must be ${expected}`);
    }
    this.#next += 1;
    return line;
  }

  takeFillers(): void {
    for (const line of this.#lines.slice(this.#next)) {
      if (!/^9+$/.test(line.text)) {
        throw new AchFormatError(`line ${line.number} comes after the file control`);
      }
    }
  }
}

/** Files are ASCII; some senders use UTF-8 or Latin-1 in names, which are not used here. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('latin1').decode(bytes);
  }
}

/** The records of a file: one per line, or all without line ends. */
export function splitRecords(bytes: Uint8Array): string[] {
  const parts = decode(bytes).split(/\r?\n/);
  while (parts.at(-1)?.trim() === '') parts.pop();
  const single = parts.length === 1 ? Array.from(parts[0] ?? '') : [];
  if (single.length <= recordLength || single.length % recordLength !== 0) return parts;
  return Array.from({ length: single.length / recordLength }, (_, index) =>
    single.slice(index * recordLength, (index + 1) * recordLength).join(''),
  );
}

/** @throws AchFormatError where the record is too long or has a control character. */
export function readText(record: string, number: number): AchRecord {
  if (/[\u0000-\u001f\u007f]/.test(record)) {
    throw new AchFormatError(`line ${number} has a control character`);
  }
  const length = Array.from(record).length;
  // Trailing blanks are lost or added in transmission and have no meaning.
  const text = record.trimEnd().padEnd(recordLength, ' ');
  if (Array.from(text).length > recordLength) {
    throw new AchFormatError(
      `line ${number} must have ${recordLength} characters and has ${length}`,
    );
  }
  return { text, number };
}

export function readLine<Name extends string>(layout: Layout<Name>, line: AchRecord): Values<Name> {
  return readRecord(layout, line.text, line.number);
}

function readFileHeader(reader: RecordReader, strictness: Strictness): FileHeader {
  const header = readLine(fileHeaderLayout, reader.take('1', 'a file header'));
  checkFileHeader(header, strictness);
  return header;
}

/** The records of a batch, from its header to its control; not checked yet. */
export function readBatch(reader: RecordReader): Batch {
  const line = reader.take('5', 'a batch header');
  const entryClass = line.text.slice(50, 53);
  // A notification of change of an IAT entry is a COR with IATCOR in place of the company.
  if (entryClass === 'IAT' || line.text.startsWith('IATCOR', 4)) {
    const header = readLine(iatBatchHeaderLayout, line);
    const entries = readEntries<IatEntryDetail>(reader, iatEntryLayout);
    const control = readLine(batchControlLayout, reader.take('8', 'an entry or a batch control'));
    return { kind: 'international', header, entries, control };
  }
  const header = readLine(batchHeaderLayout, line);
  if (entryClass === 'ADV') {
    const entries = readEntries<AdviceEntryDetail>(reader, adviceEntryLayout);
    const end = reader.take('8', 'an entry or a batch control');
    return { kind: 'advice', header, entries, control: readLine(adviceBatchControlLayout, end) };
  }
  const entries = readEntries<EntryDetail>(reader, entryLayout);
  const control = readLine(batchControlLayout, reader.take('8', 'an entry or a batch control'));
  return { kind: 'domestic', header, entries, control };
}

function readEntries<Detail extends Values<string>>(
  reader: RecordReader,
  layout: Layout<keyof Detail & string>,
): Entry<Detail>[] {
  const entries: Entry<Detail>[] = [];
  while (reader.peekType() === '6') {
    const detail = readLine(layout, reader.take('6', 'an entry')) as Detail;
    const addenda: Addenda[] = [];
    while (reader.peekType() === '7') addenda.push(readAddenda(reader.take('7', 'an addenda')));
    entries.push({ detail, addenda });
  }
  return entries;
}

export function readAddenda(line: AchRecord): Addenda {
  const typeCode = line.text.slice(1, 3);
  const layout = findAddendaLayout(typeCode, line.text.slice(3, 6));
  if (layout === undefined) {
    throw new AchFormatError(`line ${line.number} is an addenda record of no known type`);
  }
  return { typeCode, values: readLine(layout, line) };
}
