/** Filters by type of event: a type, or `payout.*` for all types that begin with `payout.`. */

export const typePattern = /^[a-z_]{1,40}\.(?:\*|[a-z_]{1,60})$/;

/** An empty list allows every type. */
export function matchesType(type: string, filter: readonly string[]): boolean {
  if (filter.length === 0 || filter.includes(type)) return true;
  return filter.includes(`${type.slice(0, type.indexOf('.'))}.*`);
}
