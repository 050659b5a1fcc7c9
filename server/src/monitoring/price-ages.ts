import { getCurrency } from '../core/currency.ts';
import type { Catalog, Payer } from '../destinations/catalog.ts';
import { findFreshPrice } from '../destinations/provider-pricing.ts';

/** How current the prices of a rail's provider are. */
export type PriceAge = {
  readonly rail: string;
  /** Of the newest price; undefined: none was ever read. */
  readonly ageMs: number | undefined;
  /** Pairs of payer and currency that are not offered, because their price is too old or missing. */
  readonly unpriced: number;
};

/** One for each rail that quotes prices. */
export function measurePrices(catalog: Catalog, nowMs: number): PriceAge[] {
  const payers = catalog.servedCountries().flatMap(({ country }) => catalog.payersIn(country.code));
  const quoting = payers.filter(({ offer }) => offer !== undefined);
  const byRail = Map.groupBy(quoting, ({ railName }) => railName);
  return [...byRail].map(([rail, own]) => {
    const times = own.flatMap(({ offer }) => offer?.prices.map(({ asOfMs }) => asOfMs) ?? []);
    return {
      rail,
      ageMs: times.length === 0 ? undefined : nowMs - Math.max(...times),
      unpriced: own.reduce((count, payer) => count + countUnpriced(payer), 0),
    };
  });
}

function countUnpriced({ name, offer, currencies }: Payer): number {
  if (offer === undefined) return 0;
  return currencies.filter((code) => {
    const destination = getCurrency(code);
    return !findFreshPrice(name, offer, { source: destination, destination }).ok;
  }).length;
}
