import { type LookUp, type LookUpQuery, type LookUpRefusal, lookUpCountry } from './lookup.ts';

export type CachedLookUp = (query: Omit<LookUpQuery, 'catalogue'>) => LookUp | LookUpRefusal;

type Entry = { readonly query: Omit<LookUpQuery, 'catalogue'>; readonly result: LookUp };

/**
 * `lookUpCountry` with its last answers kept: the same question gets the same object until an
 * availability moves on (a minute at most) or the caller passes another object of rates. Whoever
 * serialises may keep the text beside the object. Refusals are not kept.
 *
 * A rate that becomes stale shows when the minute ends: an answer here is indicative, and a payout
 * asks for its own quote.
 */
export function createCachedLookUp(
  getCatalogue: () => LookUpQuery['catalogue'],
  entriesMax: number,
): CachedLookUp {
  const entries = new Map<string, Entry>();
  return (query) => {
    const key = describeQuery(query);
    const known = entries.get(key);
    if (known !== undefined) {
      const isOfNow = query.nowMs >= known.query.nowMs && query.nowMs < known.result.untilMs;
      if (isOfNow && known.query.rates === query.rates) return known.result;
      entries.delete(key);
    }
    const result = lookUpCountry({ ...query, catalogue: getCatalogue() });
    if (!result.ok) return result;
    if (entries.size >= entriesMax) {
      // The first in insertion order is the oldest answer.
      const [oldest] = entries.keys();
      if (oldest !== undefined) entries.delete(oldest);
    }
    entries.set(key, { query, result });
    return result;
  };
}

/** As JSON, so that no text of a client can imitate another question. */
function describeQuery(query: Omit<LookUpQuery, 'catalogue'>): string {
  const { countryCode, sourceCurrency, destinationCurrency, payerName, cheapestOnly } = query;
  const amount = query.amountMinor?.toString();
  const limit = query.limitMinor?.toString();
  return JSON.stringify([
    countryCode,
    sourceCurrency,
    amount,
    limit,
    destinationCurrency,
    payerName,
    cheapestOnly,
  ]);
}
