import {
  type ExactJson,
  isExactObject,
  JsonFault,
  JsonNumber,
  parseExactBytes,
} from '../../core/exact-json.ts';
import {
  createSpelling,
  describeMeant,
  type FileReading,
  type FileRow,
  ignoreColumn,
  portionRows,
  type RowColumns,
  type RowFault,
  type RowFields,
  refuseFile,
  refuseLongRow,
  type Spelling,
} from './file-row.ts';

/** Reads rows that are JSON objects: one per line (NDJSON), or the elements of one array. */

/** Turns pieces of the file into rows; `end` is called once, after the last piece. */
type Splitter = { push(chunk: Buffer): void; end(): void };

type EmitRow = (bytes: Buffer, line: number) => void;

/** @throws AppError invalid_request. */
export function readLineRows(
  bytes: AsyncIterable<Buffer>,
  reading: FileReading,
): AsyncGenerator<FileRow[]> {
  return readRows(bytes, reading, splitLines);
}

/** @throws AppError invalid_request. */
export function readArrayRows(
  bytes: AsyncIterable<Buffer>,
  reading: FileReading,
): AsyncGenerator<FileRow[]> {
  return readRows(bytes, reading, splitArray);
}

async function* readRows(
  bytes: AsyncIterable<Buffer>,
  reading: FileReading,
  split: (emit: EmitRow, rowBytesMax: number) => Splitter,
): AsyncGenerator<FileRow[]> {
  let rows: FileRow[] = [];
  const known = { ...reading, spelling: createSpelling(reading.columns.names) };
  const splitter = split((row, line) => {
    rows.push(readRow(row, line, known));
  }, reading.limits.rowBytesMax);
  for await (const chunk of skipMark(bytes)) {
    splitter.push(chunk);
    if (rows.length < portionRows) continue;
    yield rows;
    rows = [];
  }
  splitter.end();
  yield rows;
}

const byteOrderMark = Buffer.from('\ufeff');

/** Removes a UTF-8 byte order mark, however the bytes are divided into pieces. */
async function* skipMark(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < byteOrderMark.length) continue;
    const hasMark = head.subarray(0, byteOrderMark.length).equals(byteOrderMark);
    yield hasMark ? head.subarray(byteOrderMark.length) : head;
    head = undefined;
  }
  if (head !== undefined) yield head;
}

function readRow(
  bytes: Buffer,
  line: number,
  { columns, ignored, spelling }: FileReading & { spelling: Spelling },
): FileRow {
  const refuse = (fault: RowFault): FileRow => ({
    line,
    fields: {},
    input: {},
    fault,
    source: bytes,
  });
  let value: ExactJson;
  try {
    value = parseExactBytes(bytes);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const column = error.pointer.split('/')[1] ?? '';
    return refuse({ column: column.slice(0, 100), code: 'malformed_json', detail: error.message });
  }
  if (!isExactObject(value)) {
    return refuse({ column: '', code: 'invalid_type', detail: 'a row must be a JSON object' });
  }
  const fields = findResultInput(value, columns) ?? value;
  const given = new Set(Object.keys(fields));
  for (const name of given) {
    if (name === 'metadata' || columns.names.has(name)) continue;
    const meant = spelling.findMeant(name, given);
    if (meant !== undefined) {
      const column = name.slice(0, 100).toWellFormed();
      const fault = { column, code: 'unknown_member', detail: describeMeant(name, meant) } as const;
      return { line, fields: {}, input: fields, fault, source: bytes };
    }
    ignoreColumn(ignored, name);
  }
  return { line, fields, input: fields, fault: undefined, source: bytes };
}

/** The input in a row of a result. The names of a CSV file's columns have any case there. */
function findResultInput(
  { row, status, input }: RowFields,
  { names }: RowColumns,
): RowFields | undefined {
  const isResult = row instanceof JsonNumber && typeof status === 'string';
  if (!isResult || input === undefined || !isExactObject(input)) return undefined;
  const fields: [string, ExactJson][] = [];
  const metadata: [string, ExactJson][] = [];
  for (const [name, value] of Object.entries(input)) {
    const key = /^metadata\.(.+)$/i.exec(name)?.[1];
    const known = name.toLowerCase();
    if (key !== undefined) metadata.push([key, value]);
    else fields.push([names.has(known) ? known : name, value]);
  }
  if (metadata.length > 0) fields.push(['metadata', Object.fromEntries(metadata)]);
  return Object.fromEntries(fields);
}

/** Collects the bytes of one row from pieces of the file, up to the limit of a row. */
function createPiece(rowBytesMax: number) {
  let parts: Buffer[] = [];
  let size = 0;
  return {
    isEmpty: (): boolean => size === 0,
    add: (part: Buffer, line: number): void => {
      size += part.length;
      if (size > rowBytesMax) throw refuseLongRow(line, rowBytesMax);
      if (part.length > 0) parts.push(part);
    },
    take: (): Buffer => {
      const [first = Buffer.alloc(0)] = parts;
      const whole = parts.length > 1 ? Buffer.concat(parts) : first;
      parts = [];
      size = 0;
      return whole;
    },
  };
}

function splitLines(emit: EmitRow, rowBytesMax: number): Splitter {
  const piece = createPiece(rowBytesMax);
  let line = 1;
  const finish = (): void => {
    const row = piece.take();
    if (!isBlank(row)) emit(row, line);
  };
  return {
    push: (chunk) => {
      let start = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
        // A file of empty lines would otherwise take a thousand times as long as one of rows.
        if (end > start || !piece.isEmpty()) {
          piece.add(chunk.subarray(start, end), line);
          finish();
        }
        line += 1;
        start = end + 1;
      }
      piece.add(chunk.subarray(start), line);
    },
    end: finish,
  };
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every(isSpace);
}

function isSpace(byte: number): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}

const quote = 34;
const comma = 44;
const openBracket = 91;
const backslash = 92;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

/**
 * Finds the elements of the outermost array in one pass, by strings and the depth of brackets alone.
 * `readRow` checks that an element is JSON.
 */
function splitArray(emit: EmitRow, rowBytesMax: number): Splitter {
  const piece = createPiece(rowBytesMax);
  let place: 'before' | 'inside' | 'after' = 'before';
  let depth = 0;
  let isText = false;
  let isEscaped = false;
  let line = 1;
  let rowLine = 1;
  let count = 0;
  /** Where the current element begins in this piece of the file; -1 between elements. */
  let start = -1;
  let hasRow = false;

  const finish = (chunk: Buffer, end: number): void => {
    if (!hasRow)
      throw refuseFile('malformed_json', `the array has an empty element at line ${line}`);
    if (start >= 0) piece.add(chunk.subarray(start, end), rowLine);
    start = -1;
    hasRow = false;
    count += 1;
    emit(piece.take(), rowLine);
  };
  const beginAt = (index: number): void => {
    if (hasRow) return;
    hasRow = true;
    start = index;
    rowLine = line;
  };
  const readMark = (chunk: Buffer, index: number): void => {
    const byte = chunk[index] ?? 0;
    if (depth === 0 && byte === comma) finish(chunk, index);
    else if (depth === 0 && byte === closeBracket) {
      // An empty array has no row; after a comma there must be one.
      if (hasRow || count > 0) finish(chunk, index);
      place = 'after';
    } else {
      beginAt(index);
      if (byte === quote) isText = true;
      else if (byte === openBracket || byte === openBrace) depth += 1;
      else if (byte === closeBracket || byte === closeBrace) depth -= 1;
    }
  };
  const readOutside = (byte: number): void => {
    if (place === 'before' && byte === openBracket) place = 'inside';
    else {
      const what = place === 'before' ? 'the file must be a JSON array' : 'text follows the array';
      throw refuseFile('malformed_json', `${what}, at line ${line}`);
    }
  };

  return {
    push: (chunk) => {
      if (hasRow) start = 0;
      for (let index = 0; index < chunk.length; index += 1) {
        const byte = chunk[index] ?? 0;
        if (byte === 10) line += 1;
        if (isText) {
          if (isEscaped) isEscaped = false;
          else if (byte === backslash) isEscaped = true;
          else if (byte === quote) isText = false;
        } else if (!isSpace(byte)) {
          if (place === 'inside') readMark(chunk, index);
          else readOutside(byte);
        }
      }
      if (hasRow) piece.add(chunk.subarray(start), rowLine);
      start = -1;
    },
    end: () => {
      if (place !== 'after') throw refuseFile('malformed_json', 'the array is not closed');
    },
  };
}
