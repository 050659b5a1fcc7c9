/**
 * Array parameters in PostgreSQL's text form. The driver's own conversion inspects every character of
 * every element, which would be most of the cost of a batch. Null and undefined are NULL.
 */

type Plain = string | number | bigint | boolean | null | undefined;

/** Of elements that never need quotes: UUIDs, numbers, booleans. */
export function plainArray(elements: readonly Plain[]): string {
  return `{${elements.map((element) => element ?? 'NULL').join()}}`;
}

/** Of any text. */
export function textArray(elements: readonly (string | null | undefined)[]): string {
  return `{${elements.map(quote).join()}}`;
}

function quote(text: string | null | undefined): string {
  if (text === null || text === undefined) return 'NULL';
  return /["\\]/.test(text) ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : `"${text}"`;
}
