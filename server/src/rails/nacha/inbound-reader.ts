import { checkBatch, checkEntry, checkFile, checkFileHeader } from './ach-checks.ts';
import {
  type AnyEntry,
  type Batch,
  type EntryDetail,
  type IatEntryDetail,
  isAdviceFile,
  isDebit,
  sumEntries,
} from './ach-file.ts';
import {
  type AchRecord,
  RecordReader,
  readAddenda,
  readBatch,
  readLine,
  readText,
  splitRecords,
} from './ach-parser.ts';
import { type Addenda, readAddendaField } from './addenda-layout.ts';
import {
  AchFormatError,
  adviceFileControlLayout,
  entryLayout,
  fileControlLayout,
  fileHeaderLayout,
  iatEntryLayout,
} from './record-layout.ts';

/**
 * Reads a bank's returns and notifications of change. A fault in one batch does not affect the others,
 * and one physical file may hold several logical ones. A batch whose control record agrees with its
 * entries is sound, whatever is wrong around it. From any other batch the reader takes the entries
 * whose own records are well-formed, marked as not sound.
 */

/** An entry that reports a return (addenda 99) or a notification of change (addenda 98). */
export type InboundEntry = {
  readonly record: Addenda;
  readonly isInternational: boolean;
  readonly isDebit: boolean;
  readonly amountMinor: bigint;
  /** The individual id of the original entry; "" where the bank left it out. */
  readonly identification: string;
  /** The effective date in the batch header, YYMMDD as it stands there. */
  readonly effectiveDate: string;
  readonly line: number;
  /** Whether counts, hash and totals of the batch agree with its entries. */
  readonly isBatchSound: boolean;
};

/** A part that could not be read as entries; names no contents. */
export type InboundFault = {
  readonly kind: 'unreadable' | 'not_understood';
  readonly line: number;
  readonly detail: string;
  readonly amountMinor?: bigint;
};

export type InboundReading = {
  readonly entries: readonly InboundEntry[];
  readonly faults: readonly InboundFault[];
};

/** One logical file, as far as it was read. */
type LogicalFile = { readonly line: number; readonly batches: Batch[]; isWhole: boolean };

type Section = {
  readonly kind: 'header' | 'batch' | 'control' | 'outside';
  readonly lines: readonly AchRecord[];
};

/** Never throws because of the contents. */
export function readInboundFile(bytes: Uint8Array): InboundReading {
  const records = splitRecords(bytes);
  if (records.length === 0) {
    return { entries: [], faults: [{ kind: 'unreadable', line: 1, detail: 'the file is empty' }] };
  }
  const state: State = { entries: [], faults: [], file: undefined };
  for (const section of splitSections(records)) readSection(section, state);
  if (state.file !== undefined) {
    addFault(state, records.length, 'the file ends without a file control');
  }
  return { entries: state.entries, faults: state.faults };
}

type State = {
  readonly entries: InboundEntry[];
  readonly faults: InboundFault[];
  file: LogicalFile | undefined;
};

function addFault(state: State, line: number, detail: string): void {
  state.faults.push({ kind: 'unreadable', line, detail });
}

function splitSections(records: readonly string[]): Section[] {
  const sections: { kind: Section['kind']; lines: AchRecord[] }[] = [];
  let isBatchOpen = false;
  for (const [index, text] of records.entries()) {
    if (/^9{94} *$/.test(text) || text.trim() === '') continue;
    const line = { text, number: index + 1 };
    const current = sections.at(-1);
    const kind = sectionKinds[text[0] ?? ''];
    if (kind !== undefined) {
      sections.push({ kind, lines: [line] });
      isBatchOpen = kind === 'batch';
    } else if (isBatchOpen || current?.kind === 'outside') {
      current?.lines.push(line);
      if (text.startsWith('8')) isBatchOpen = false;
    } else {
      sections.push({ kind: 'outside', lines: [line] });
    }
  }
  return sections;
}

const sectionKinds: Readonly<Record<string, 'header' | 'batch' | 'control'>> = {
  '1': 'header',
  '5': 'batch',
  '9': 'control',
};

function readSection({ kind, lines }: Section, state: State): void {
  const [first] = lines;
  if (first === undefined) return;
  switch (kind) {
    case 'header':
      readHeader(first, state);
      return;
    case 'batch':
      readBatchSection(lines, state);
      return;
    case 'control':
      readControl(first, state);
      return;
    case 'outside':
      addFault(
        state,
        first.number,
        `${lines.length} records from line ${first.number} are outside of a batch`,
      );
  }
}

/** The message of the format error that the step throws, if it does. */
function findFault(step: () => void): string | undefined {
  try {
    step();
    return undefined;
  } catch (error) {
    if (error instanceof AchFormatError) return error.message;
    throw error;
  }
}

function readHeader(line: AchRecord, state: State): void {
  if (state.file !== undefined) {
    addFault(state, line.number, `the file before line ${line.number} has no file control`);
  }
  state.file = { line: line.number, batches: [], isWhole: true };
  const fault = findFault(() => {
    const { text, number } = readText(line.text, line.number);
    checkFileHeader(readLine(fileHeaderLayout, { text, number }), 'lenient');
  });
  if (fault !== undefined) addFault(state, line.number, fault);
}

function readControl(line: AchRecord, state: State): void {
  const { file } = state;
  state.file = undefined;
  if (file === undefined) {
    addFault(state, line.number, `the file control in line ${line.number} has no file header`);
    return;
  }
  // With a batch that could not be read the sums cannot agree, and its fault is reported already.
  if (!file.isWhole) return;
  const fault = findFault(() => {
    const checked = readText(line.text, line.number);
    const control = isAdviceFile(file.batches)
      ? { ...readLine(adviceFileControlLayout, checked) }
      : { ...readLine(fileControlLayout, checked) };
    // Lenient reading counts no blocks, and so no lines.
    checkFile({ batches: file.batches, control }, { lineCount: 0, strictness: 'lenient' });
  });
  if (fault !== undefined) addFault(state, line.number, fault);
}

function readBatchSection(lines: readonly AchRecord[], state: State): void {
  const [first] = lines;
  if (first === undefined) return;
  if (state.file === undefined) {
    addFault(state, first.number, `the batch in line ${first.number} has no file header`);
    state.file = { line: first.number, batches: [], isWhole: false };
  }
  const { file } = state;
  let batch: Batch | undefined;
  const fault = findFault(() => {
    if (!lines.at(-1)?.text.startsWith('8')) throw new AchFormatError('it has no batch control');
    const read = readBatch(
      new RecordReader(lines.map(({ text, number }) => readText(text, number))),
    );
    checkBatch(read, 'lenient');
    batch = read;
  });
  if (batch === undefined) {
    file.isWhole = false;
    const entries = salvageEntries(lines);
    const detail = `the batch in line ${first.number} is not sound: ${fault ?? ''}`;
    addFault(state, first.number, detail);
    state.entries.push(...entries);
    return;
  }
  file.batches.push(batch);
  state.entries.push(...listSoundEntries(batch, lines, state));
}

function listSoundEntries(batch: Batch, lines: readonly AchRecord[], state: State): InboundEntry[] {
  const entryLines = lines.filter(({ text }) => text.startsWith('6'));
  const forward: AnyEntry[] = [];
  const found: InboundEntry[] = [];
  for (const [index, entry] of batch.entries.entries()) {
    const line = entryLines[index]?.number ?? 0;
    const described = describeEntry(entry, {
      line,
      isInternational: batch.kind === 'international',
      effectiveDate: batch.header.effectiveDate,
      isBatchSound: true,
    });
    if (described === undefined) forward.push(entry);
    else found.push(described);
  }
  // An accounting advice repeats totals and moves no money.
  if (forward.length > 0 && batch.kind !== 'advice') {
    state.faults.push(describeForward(batch, forward, lines[0]?.number ?? 0));
  }
  return found;
}

/** Entries that are payments, such as reversals, in a folder for returns. */
function describeForward(
  { header }: Batch,
  forward: readonly AnyEntry[],
  line: number,
): InboundFault {
  const { creditMinor, debitMinor } = sumEntries(forward);
  const amountMinor = creditMinor + debitMinor;
  return {
    kind: 'not_understood',
    line,
    detail:
      `the batch in line ${line} (class ${header.entryClass}) has ${forward.length} entries that ` +
      'are neither returns nor notifications of change',
    ...(amountMinor > 0n ? { amountMinor } : {}),
  };
}

type EntryPlace = Pick<InboundEntry, 'line' | 'isInternational' | 'effectiveDate' | 'isBatchSound'>;

function describeEntry({ detail, addenda }: AnyEntry, place: EntryPlace): InboundEntry | undefined {
  const receiver = addenda.find(({ typeCode }) => typeCode === '15');
  const receiverId = receiver === undefined ? '' : readAddendaField(receiver, 'receiverId');
  const reports = addenda.filter(({ typeCode }) => typeCode === '98' || typeCode === '99');
  const [record] = reports;
  // The rules define no meaning of two reports about one entry.
  if (record === undefined || reports.length > 1) return undefined;
  return {
    ...place,
    record,
    isDebit: isDebit(detail.transactionCode),
    amountMinor: BigInt(detail.amount),
    identification: ('individualId' in detail ? detail.individualId : receiverId).trim(),
  };
}

/** The entries of a faulty batch whose own records are well-formed and agree with each other. */
function salvageEntries(lines: readonly AchRecord[]): InboundEntry[] {
  const header = lines[0]?.text ?? '';
  const isInternational = header.slice(50, 53) === 'IAT' || header.startsWith('IATCOR', 4);
  if (header.slice(50, 53) === 'ADV') return [];
  const effectiveDate = header.slice(69, 75);
  const found: InboundEntry[] = [];
  for (const [index, line] of lines.entries()) {
    if (!line.text.startsWith('6')) continue;
    const rest = lines.slice(index + 1);
    const end = rest.findIndex(({ text }) => !text.startsWith('7'));
    const own = end === -1 ? rest : rest.slice(0, end);
    findFault(() => {
      const checked = readText(line.text, line.number);
      const detail: EntryDetail | IatEntryDetail = isInternational
        ? readLine(iatEntryLayout, checked)
        : readLine(entryLayout, checked);
      const addenda = own.map(({ text, number }) => readAddenda(readText(text, number)));
      const entry: AnyEntry = { detail, addenda };
      checkEntry(isInternational ? 'international' : 'domestic', entry, `line ${line.number}`);
      const place = { line: line.number, isInternational, effectiveDate, isBatchSound: false };
      const described = describeEntry(entry, place);
      if (described !== undefined) found.push(described);
    });
  }
  return found;
}
