/**
 * Arrays as PostgreSQL reads them in text form. The driver writes them too, but looks at every
 * element as if it could be anything: with thirty columns that was a quarter of all the time that a
 * file took in this process.
 */

type Plain = string | number | bigint | boolean | undefined;

/** Of elements that need no quotes: identifiers, numbers, truth values. Undefined is null. */
export function writePlainArray(elements: readonly Plain[]): string {
  return `{${elements.map((element) => element ?? 'NULL').join()}}`;
}

/** Of any texts. Undefined is null. */
export function writeTextArray(elements: readonly (string | undefined)[]): string {
  return `{${elements.map(writeText).join()}}`;
}

function writeText(text: string | undefined): string {
  if (text === undefined) return 'NULL';
  return /["\\]/.test(text) ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : `"${text}"`;
}
