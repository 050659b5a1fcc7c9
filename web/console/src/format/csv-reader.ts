/**
 * The text of a file: UTF-8, or UTF-16 where its first bytes say so, as spreadsheets write them.
 * @throws SyntaxError for another encoding, in which letters would be lost.
 */
export function decodeCsv(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const isLittle = first === 0xff && second === 0xfe;
  const isBig = first === 0xfe && second === 0xff;
  try {
    const encoding = isLittle ? 'utf-16le' : isBig ? 'utf-16be' : 'utf-8';
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new SyntaxError('The file is not UTF-8. Save it as CSV UTF-8 and drop it again', {
      cause,
    });
  }
}

/**
 * The rows of a CSV text (RFC 4180), with a comma, semicolon or tab as the header has it, all as long as
 * the header. Lines without any value are left out. @throws SyntaxError for a text that could only be
 * read by guessing: a quote that does not end, text behind one, a line that is longer than the header.
 */
export function readCsv(text: string): string[][] {
  const content = text.replace(/^\uFEFF/, '');
  const separator = findSeparator(content);
  const rows: string[][] = [];
  let row: string[] = [];
  let place = 0;
  let line = 1;
  while (place <= content.length) {
    const cell = readCell(content, place, separator);
    row.push(cell.value);
    place = cell.end + 1;
    if (content[cell.end] === separator) continue;
    if (content[cell.end] === '\r' && content[place] === '\n') place += 1;
    if (row.some((value) => value !== '')) rows.push(fitRow(row, { line, width: rows[0]?.length }));
    row = [];
    line += 1;
  }
  return rows;
}

type Place = { line: number; width: number | undefined };

function fitRow(row: string[], { line, width = row.length }: Place): string[] {
  const further = row.slice(width);
  if (further.some((value) => value !== '')) {
    throw new SyntaxError(
      `Line ${line} has ${row.length} cells, and the header has ${width}. Put values that contain the separator in quotes`,
    );
  }
  return Array.from({ length: width }, (_, index) => row[index] ?? '');
}

/** The mark that the header has most often outside of quotes. */
function findSeparator(content: string): string {
  const plain = content.replace(/"(?:[^"]|"")*"/g, '""');
  const header = plain.slice(0, plain.search(/[\r\n]|$/));
  const counts = [',', ';', '\t'].map((mark) => ({ mark, count: header.split(mark).length }));
  return counts.toSorted((one, other) => other.count - one.count)[0]?.mark ?? ',';
}

type Cell = { value: string; end: number };

/** `end` is where the separator, the line's end or the text's end is. */
function readCell(content: string, start: number, separator: string): Cell {
  const opening = skipSpaces(content, start, separator);
  if (content[opening] !== '"') {
    const end = findEnd(content, start, separator);
    return { value: content.slice(start, end).trim(), end };
  }
  let quote = content.indexOf('"', opening + 1);
  while (quote !== -1 && content[quote + 1] === '"') quote = content.indexOf('"', quote + 2);
  if (quote === -1) throw new SyntaxError('A quote in the file does not end');
  const end = findEnd(content, quote + 1, separator);
  const behind = content.slice(quote + 1, end).trim();
  if (behind !== '') {
    throw new SyntaxError(
      `"${behind.slice(0, 40)}" is behind a closing quote. Double the quotes within a value`,
    );
  }
  return { value: content.slice(opening + 1, quote).replaceAll('""', '"'), end };
}

function skipSpaces(content: string, start: number, separator: string): number {
  let place = start;
  while (content[place] === ' ' || (content[place] === '\t' && separator !== '\t')) place += 1;
  return place;
}

function findEnd(content: string, start: number, separator: string): number {
  let end = start;
  while (end < content.length && !isEnd(content[end], separator)) end += 1;
  return end;
}

function isEnd(character: string | undefined, separator: string): boolean {
  return character === separator || character === '\n' || character === '\r';
}
