import { eventTypes } from '../events/event-types-view.ts';

/** Filters by type of event: a type, or `payout.*` for all types that begin with `payout.`. */
export const typeFilters: readonly string[] = [
  ...eventTypes,
  ...new Set(eventTypes.map((type) => `${familyOf(type)}.*`)),
];

function familyOf(type: string): string {
  return type.slice(0, type.indexOf('.'));
}

/** An empty list allows every type. */
export function matchesType(type: string, filter: readonly string[]): boolean {
  if (filter.length === 0 || filter.includes(type)) return true;
  return filter.includes(`${familyOf(type)}.*`);
}
