import { JsonNumber } from './exact-json.ts';

/** How a formula begins in a spreadsheet; some accept the wide forms too. */
const formulaStart = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const plainNumber = /^-?\d+(?:\.\d+)?$/;
/** In some languages a spreadsheet separates cells by semicolons or tabs. */
const needsQuotes = /[",;\t\r\n']|^\s|\s$/;

/**
 * One cell (RFC 4180). An apostrophe precedes text that a spreadsheet would run as a formula (OWASP,
 * CSV Injection); a plain number stays a number.
 */
export function writeCell(value: string | number | JsonNumber | undefined): string {
  const text = value instanceof JsonNumber ? value.text : String(value ?? '');
  const isFormula = formulaStart.test(text) && !plainNumber.test(text);
  const safe = isFormula ? `'${text}` : text;
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One record with its line end. */
export function writeRecord(cells: readonly (string | number | JsonNumber | undefined)[]): string {
  return `${cells.map(writeCell).join(',')}\r\n`;
}
