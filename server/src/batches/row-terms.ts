import { z } from 'zod';
import { needsAttributes } from '../attributes/attributes.ts';
import { findCurrency } from '../core/currency.ts';
import { formatRate } from '../core/rate.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { estimateAvailability } from '../destinations/availability.ts';
import type { Catalog, Payer } from '../destinations/catalog.ts';
import { describeTerms, findFreshPrice } from '../destinations/provider-pricing.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { listWallets } from './row-context.sql.ts';

/** The terms that all rows to one destination from one balance share. */

export type RowTerms = {
  readonly payer: Payer;
  readonly sourceToken: string;
  readonly sourceCurrency: string;
  readonly destinationCurrency: string;
  readonly needsAttributes: boolean;
  readonly lockSeconds: number;
  readonly estimatedAvailability: Date;
};

/**
 * The mid rates by pair that rows are priced with, and the prices of providers by destination token and
 * pair, as text: equal texts mean equal prices.
 */
export const ratesUsed = z.record(z.string(), z.string());
export type RatesUsed = z.infer<typeof ratesUsed>;

export type TermsBook = {
  find(row: { payer: Payer; source: Wallet; destinationCurrency: string }): RowTerms;
  readonly rates: MidRates;
  /** The rates of all terms found so far. */
  readonly ratesUsed: RatesUsed;
};

export type Wallet = { readonly currency: string; readonly token: string };

export type PricingServices = {
  db: Database;
  catalog: Catalog;
  rates(): MidRates;
  clock: { nowMs(): number };
  /** How long a quote holds unless the payer states it, in seconds. */
  lockSeconds: { national: number; crypto: number };
};

/** What rows are priced with: one set of rates and one instant for all. */
export type RowPricing = {
  readonly catalog: Catalog;
  readonly book: TermsBook;
  readonly wallets: ReadonlyMap<string, Wallet>;
};

export async function openPricing(
  services: PricingServices,
  { session, accountId }: { session: Session; accountId: string },
  nowMs: number,
): Promise<RowPricing> {
  const wallets = await listWallets(session, accountId);
  return {
    catalog: services.catalog,
    book: createTermsBook(services.rates(), services.lockSeconds, nowMs),
    wallets: new Map(wallets.map((wallet) => [wallet.currency, wallet])),
  };
}

function createTermsBook(
  rates: MidRates,
  lockSeconds: PricingServices['lockSeconds'],
  nowMs: number,
): TermsBook {
  const known = new Map<string, RowTerms>();
  const used: RatesUsed = {};
  return {
    rates,
    ratesUsed: used,
    find: ({ payer, source, destinationCurrency }) => {
      const name = `${payer.destinationToken} ${source.currency} ${destinationCurrency}`;
      let terms = known.get(name);
      if (terms !== undefined) return terms;
      for (const pair of listPairs(source.currency, destinationCurrency)) {
        const mid = findMid(rates, pair);
        if (mid !== undefined) used[pair] = mid;
      }
      const price = findPrice(payer, [source.currency, destinationCurrency]);
      if (price !== undefined) {
        used[`${payer.destinationToken} ${source.currency}>${destinationCurrency}`] = price;
      }
      const codes = [source.currency, destinationCurrency];
      const isCrypto = codes.some((code) => findCurrency(code)?.isCrypto === true);
      terms = {
        payer,
        sourceToken: source.token,
        sourceCurrency: source.currency,
        destinationCurrency,
        needsAttributes: needsAttributes({ payer, currency: destinationCurrency }),
        lockSeconds: payer.rateLockSeconds ?? lockSeconds[isCrypto ? 'crypto' : 'national'],
        estimatedAvailability: new Date(estimateAvailability(payer.arrival, nowMs)),
      };
      known.set(name, terms);
      return terms;
    },
  };
}

/** The rate of the pair, and the one that converts fees and limits given in dollars. */
function listPairs(source: string, destination: string): string[] {
  return [`${source}>${destination}`, `USD>${source}`];
}

function findMid(rates: MidRates, pair: string): string | undefined {
  const [from = '', to = ''] = pair.split('>');
  const found = rates.find(from, to);
  return found.ok ? formatRate(found.rate) : undefined;
}

/** What the provider asks now; undefined where it quotes none, or none that is fresh. */
function findPrice({ name, offer }: Payer, [from = '', to = '']: readonly string[]) {
  const [source, destination] = [findCurrency(from), findCurrency(to)];
  if (offer === undefined || source === undefined || destination === undefined) return undefined;
  const found = findFreshPrice(name, offer, { source, destination });
  return found.ok ? describeTerms(found.price) : undefined;
}

/**
 * Whether the pairs have the same rates and prices now; undefined where one has no fresh rate or its
 * payer no fresh price.
 */
export function compareRates(
  { rates, catalog }: Pick<PricingServices, 'rates' | 'catalog'>,
  used: RatesUsed,
): boolean | undefined {
  const present = rates();
  let areSame = true;
  for (const [name, text] of Object.entries(used)) {
    const [pair = '', token] = name.split(' ').toReversed();
    const payer = token === undefined ? undefined : catalog.findPayer(token);
    // A payer that is no longer offered is found when its rows are priced again.
    if (token !== undefined && payer?.offer === undefined) areSame = false;
    else {
      const now = payer === undefined ? findMid(present, pair) : findPrice(payer, pair.split('>'));
      if (now === undefined) return undefined;
      if (now !== text) areSame = false;
    }
  }
  return areSame;
}

/** The rates of stored rows and of those that follow, as JSON; '' where they differ. */
export function mergeRates(stored: RatesUsed | undefined, used: RatesUsed): string {
  if (stored === undefined) return '';
  const isSame = Object.entries(used).every(
    ([pair, text]) => stored[pair] === undefined || stored[pair] === text,
  );
  return isSame ? JSON.stringify({ ...stored, ...used }) : '';
}
