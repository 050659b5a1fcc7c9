/**
 * The rows of a CSV text (RFC 4180), with a comma, semicolon or tab as the header has it. Lines without
 * any value are left out. @throws SyntaxError for a quote that does not end.
 */
export function readCsv(text: string): string[][] {
  const content = text.replace(/^\uFEFF/, '');
  const separator = findSeparator(content);
  const rows: string[][] = [];
  let row: string[] = [];
  let place = 0;
  while (place <= content.length) {
    const cell = readCell(content, place, separator);
    row.push(cell.value);
    place = cell.end + 1;
    if (content[cell.end] === separator) continue;
    if (content[cell.end] === '\r' && content[place] === '\n') place += 1;
    if (row.some((value) => value !== '')) rows.push(row);
    row = [];
  }
  return rows;
}

function findSeparator(content: string): string {
  const header = content.slice(0, content.search(/[\r\n]|$/));
  const counts = [',', ';', '\t'].map((mark) => ({ mark, count: header.split(mark).length }));
  return counts.toSorted((one, other) => other.count - one.count)[0]?.mark ?? ',';
}

type Cell = { value: string; end: number };

/** `end` is where the separator, the line's end or the text's end is. */
function readCell(content: string, start: number, separator: string): Cell {
  if (content[start] !== '"') {
    let end = start;
    while (end < content.length && !isEnd(content[end], separator)) end += 1;
    return { value: content.slice(start, end).trim(), end };
  }
  let quote = content.indexOf('"', start + 1);
  while (quote !== -1 && content[quote + 1] === '"') quote = content.indexOf('"', quote + 2);
  if (quote === -1) throw new SyntaxError('A quote in the file does not end');
  let end = quote + 1;
  while (end < content.length && !isEnd(content[end], separator)) end += 1;
  return { value: content.slice(start + 1, quote).replaceAll('""', '"'), end };
}

function isEnd(character: string | undefined, separator: string): boolean {
  return character === separator || character === '\n' || character === '\r';
}
