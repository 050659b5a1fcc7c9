/**
 * Array parameters in the text form that PostgreSQL reads. The driver writes them too, but looks at
 * each character of each element as if it could be anything, which is most of what a batch would
 * cost this process. Null and undefined are null.
 */

type Plain = string | number | bigint | boolean | null | undefined;

/** Of elements that never need quotes: UUIDs, numbers, truth values, codes. */
export function plainArray(elements: readonly Plain[]): string {
  return `{${elements.map((element) => element ?? 'NULL').join()}}`;
}

/** Of any texts. */
export function textArray(elements: readonly (string | null | undefined)[]): string {
  return `{${elements.map(quote).join()}}`;
}

function quote(text: string | null | undefined): string {
  if (text === null || text === undefined) return 'NULL';
  return /["\\]/.test(text) ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : `"${text}"`;
}
