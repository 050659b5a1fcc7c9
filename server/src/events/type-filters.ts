import { eventTypes } from './event-types-view.ts';

const families = [...new Set(eventTypes.map((type) => `${familyOf(type)}.*`))];

/** Filters by type of event: a type, or `payout.*` for all types that begin with `payout.`. */
export const typeFilters: readonly string[] = [...eventTypes, ...families];

function familyOf(type: string): string {
  return type.slice(0, type.indexOf('.'));
}

/** An empty list allows every type. */
export function matchesType(type: string, filter: readonly string[]): boolean {
  if (filter.length === 0 || filter.includes(type)) return true;
  return filter.includes(`${familyOf(type)}.*`);
}

/** The types that a filter chooses. */
export function listTypes(filter: readonly string[]): string[] {
  return eventTypes.filter((type) => matchesType(type, filter));
}
