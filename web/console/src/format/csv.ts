/**
 * A line of CSV (RFC 4180). A value that a spreadsheet would run as a formula gets an apostrophe: names
 * and identifiers come from others.
 */
export function writeCsvLine(values: readonly string[]): string {
  return `${values.map(writeCsvValue).join(',')}\r\n`;
}

function writeCsvValue(value: string): string {
  const isNumber = /^-?\d+(?:\.\d+)?$/.test(value);
  const inert = !isNumber && /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
