/**
 * An array parameter as PostgreSQL writes it, for elements that never need quotes: UUIDs, whole
 * numbers, booleans, and null. The driver looks at each character of each element instead, which is
 * most of what a batch costs this process.
 */
export function plainArray(
  elements: readonly (string | bigint | number | boolean | null)[],
): string {
  return `{${elements.map((element) => element ?? 'null').join(',')}}`;
}
