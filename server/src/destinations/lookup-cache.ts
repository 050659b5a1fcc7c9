import { writeJson } from '../core/json-text.ts';
import { type LookUp, type LookUpQuery, type LookUpRefusal, lookUpCountry } from './lookup.ts';

export type CachedLookUp = (query: Omit<LookUpQuery, 'catalog'>) => LookUp | LookUpRefusal;

type Entry = { readonly query: Omit<LookUpQuery, 'catalog'>; readonly result: LookUp };

/**
 * `lookUpCountry` with a cache: the same query returns the same object until an availability
 * changes (at most a minute), the caller passes another object of rates, or the catalog is another
 * object, which it is after each reading of providers' prices. A caller may cache the serialized text
 * by the object. Refusals are not cached.
 *
 * A stale rate is noticed at the end of the minute, which is acceptable because look-ups are
 * indicative: a payout has its own quote.
 */
export function createCachedLookUp(
  getCatalog: () => LookUpQuery['catalog'],
  entriesMax: number,
): CachedLookUp {
  const entries = new Map<string, Entry>();
  let catalog = getCatalog();
  return (query) => {
    const present = getCatalog();
    // No entry keeps a catalog that is no longer in use.
    if (present !== catalog) entries.clear();
    catalog = present;
    const key = describeQuery(query);
    const known = entries.get(key);
    if (known !== undefined) {
      const isOfNow = query.nowMs >= known.query.nowMs && query.nowMs < known.result.untilMs;
      if (isOfNow && known.query.rates === query.rates) return known.result;
      entries.delete(key);
    }
    const result = lookUpCountry({ ...query, catalog });
    if (!result.ok) return result;
    if (entries.size >= entriesMax) {
      // The first in insertion order is the oldest.
      const [oldest] = entries.keys();
      if (oldest !== undefined) entries.delete(oldest);
    }
    entries.set(key, { query, result });
    return result;
  };
}

/** As JSON, so that no text of a client can equal another query's key. */
function describeQuery(query: Omit<LookUpQuery, 'catalog'>): string {
  const { rates: _rates, nowMs: _nowMs, ...key } = query;
  const entries = Object.entries(key).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return writeJson(entries);
}
