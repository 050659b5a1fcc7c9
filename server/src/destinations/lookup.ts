import { findCountry } from '../core/country.ts';
import { type Currency, findCurrency } from '../core/currency.ts';
import { assert } from '../core/errors.ts';
import { convert, divideRounded, type Rate, rateOfOne } from '../core/rate.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { DeliveryType } from '../rails/contract/declarations.ts';
import { findAvailability } from './availability.ts';
import type { Catalog, Company, Payer } from './catalog.ts';
import { findLargestSource, fitsLimits, getFeeMinor, type Terms, usd } from './pricing.ts';
import { getCostMinor, pricePair, type QuoteRefusal } from './quote.ts';

export type LookUpQuery = {
  catalog: Catalog;
  rates: MidRates;
  /** ISO 3166-1 alpha-3. */
  countryCode: string;
  sourceCurrency: string;
  /** Minor units of the source, positive. Without it and a limit, `getDefaultAmountMinor`. */
  amountMinor?: bigint;
  /** The maximum of amount and fee together, minor units of the source. */
  limitMinor?: bigint;
  destinationCurrency?: string;
  /** Case is ignored. */
  payerName?: string;
  deliveryType?: DeliveryType;
  nowMs: number;
  /** False: every payer, whether the amount is within its limits or not. */
  cheapestOnly: boolean;
};

/** `destinationMinor`: what would arrive, in minor units of the currency. */
export type OfferedCurrency = {
  readonly code: string;
  readonly rate: Rate;
  readonly midRate: Rate;
  readonly destinationMinor: bigint;
};

/** An offer of a payer for an amount; all amounts in minor units of the source currency. */
export type PayerOffer = {
  readonly payer: Payer;
  /** The default first; with `cheapestOnly` only those in which it is the cheapest. */
  readonly currencies: readonly OfferedCurrency[];
  /** The requested amount, or the most within the limit (0n if the fee alone exceeds it). */
  readonly sourceMinor: bigint;
  readonly feeMinor: bigint;
  /** Inclusive; 0n means no limit. */
  readonly minLimitMinor: bigint;
  readonly maxLimitMinor: bigint;
  /** With its cheapest currency. */
  readonly costMinor: bigint;
  /** Whether a payout of this amount would be accepted. */
  readonly fits: boolean;
  readonly availableAtMs: number;
};

export type ServiceOffer = {
  readonly countryCode: string;
  readonly deliveryType: DeliveryType;
  readonly payers: readonly PayerOffer[];
};

export type CompanyOffer = {
  readonly company: Company;
  readonly services: readonly ServiceOffer[];
};

export type LookUp = {
  ok: true;
  source: Currency;
  companies: readonly CompanyOffer[];
  /** The result holds until then (exclusive) unless the rates change. */
  untilMs: number;
};

/** `country_unknown`: not an ISO 3166-1 code. A country that is not served has no companies. */
export type LookUpRefusal = {
  ok: false;
  reason: 'country_unknown' | 'currency_unknown' | 'rate_unknown' | 'rate_stale' | 'price_stale';
  detail: string;
};

/**
 * The offers for a country. Companies, services and payers are each ordered by the cost of their
 * cheapest payer.
 *
 * With `cheapestOnly`, of the payers with the same delivery type, destination currency, network and
 * payer name only the cheapest is returned, and none whose limits the amount exceeds. Currencies without
 * a usable rate, or without a fresh price of the payer's provider, are left out; if no offer remains for that reason, the look-up is refused.
 */
export function lookUpCountry(query: LookUpQuery): LookUp | LookUpRefusal {
  const { catalog, rates, countryCode, sourceCurrency } = query;
  if (findCountry(countryCode) === undefined) {
    return { ok: false, reason: 'country_unknown', detail: `Unknown country ${countryCode}` };
  }
  const source = findCurrency(sourceCurrency);
  if (source === undefined) {
    return { ok: false, reason: 'currency_unknown', detail: `Unknown currency ${sourceCurrency}` };
  }
  const sizing = findSizing(query, source, rates);
  if (!sizing.ok) return sizing;
  const payers = filterPayers(catalog.payersIn(countryCode), query);
  const priced = pricePayers(payers, sizing, query);
  if (priced.candidates.length === 0 && priced.refusal !== undefined) return priced.refusal;
  const kept = query.cheapestOnly ? keepCheapest(priced.candidates) : priced.candidates;
  kept.sort(compareCandidates);
  const untilMs = payers.reduce(
    (earliest, payer) => Math.min(earliest, findAvailability(payer.arrival, query.nowMs).untilMs),
    Math.min(query.nowMs + lookUpHoldsMsMax, catalog.untilMs),
  );
  return { ok: true, source, companies: groupByCompany(kept, query.nowMs), untilMs };
}

const lookUpHoldsMsMax = 60_000;

const defaultUnits = 200n;

/**
 * The default amount: 200 units of a national currency, or the worth of 200 USD in a cryptocurrency
 * to two significant digits, because 200 bitcoins would exceed every limit.
 */
function getDefaultAmountMinor(source: Currency, usdToSource: Rate): bigint {
  if (!source.isCrypto) return defaultUnits * 10n ** BigInt(source.scale);
  const usdMinor = defaultUnits * 10n ** BigInt(usd.scale);
  const minor = convert(usdMinor, { from: usd, to: source, rate: usdToSource }, 'floor');
  const unit = 10n ** BigInt(Math.max(0, minor.toString().length - 2));
  const nearest = divideRounded(minor + unit / 2n, unit, 'floor') * unit;
  return nearest > 0n ? nearest : 1n;
}

/** The amount for a payer: as requested, and at most what is within the limit. */
type Sizing = { ok: true; amountMinor: bigint | undefined; limitMinor: bigint | undefined };

function findSizing(query: LookUpQuery, source: Currency, rates: MidRates): Sizing | LookUpRefusal {
  const { amountMinor, limitMinor } = query;
  assert(amountMinor === undefined || amountMinor > 0n, 'the amount is positive');
  if (amountMinor !== undefined || limitMinor !== undefined) {
    return { ok: true, amountMinor, limitMinor };
  }
  if (source === usd) {
    return { ok: true, amountMinor: getDefaultAmountMinor(source, rateOfOne), limitMinor };
  }
  const found = rates.find(usd.code, source.code);
  if (found.ok) {
    return { ok: true, amountMinor: getDefaultAmountMinor(source, found.rate), limitMinor };
  }
  const reason = found.reason === 'stale' ? 'rate_stale' : 'rate_unknown';
  return { ok: false, reason, detail: found.detail };
}

function sizeFor(terms: Terms, { amountMinor, limitMinor }: Sizing): bigint {
  if (limitMinor === undefined) return amountMinor ?? 0n;
  if (amountMinor !== undefined && amountMinor + getFeeMinor(terms, amountMinor) <= limitMinor) {
    return amountMinor;
  }
  const largest = findLargestSource(terms, limitMinor);
  return amountMinor !== undefined && amountMinor < largest ? amountMinor : largest;
}

function filterPayers(payers: readonly Payer[], query: LookUpQuery): readonly Payer[] {
  const { destinationCurrency, deliveryType } = query;
  const name = query.payerName?.trim().toLowerCase();
  return payers.filter(
    (payer) =>
      (deliveryType === undefined || payer.deliveryType === deliveryType) &&
      (destinationCurrency === undefined || payer.currencies.includes(destinationCurrency)) &&
      (name === undefined || payer.name.toLowerCase() === name),
  );
}

/** A payer in one of its currencies. */
type Candidate = {
  readonly payer: Payer;
  readonly currency: OfferedCurrency;
  readonly terms: Terms;
  readonly sourceMinor: bigint;
  readonly feeMinor: bigint;
  readonly costMinor: bigint;
  readonly fits: boolean;
};

type Priced = { candidates: Candidate[]; refusal: LookUpRefusal | undefined };

function pricePayers(payers: readonly Payer[], sizing: Sizing, query: LookUpQuery): Priced {
  const candidates: Candidate[] = [];
  let refusal: LookUpRefusal | undefined;
  for (const payer of payers) {
    for (const code of payer.currencies) {
      if (query.destinationCurrency !== undefined && code !== query.destinationCurrency) continue;
      const destination = findCurrency(code);
      assert(destination !== undefined, 'the currencies of the catalog are checked');
      const pair = { sourceCurrency: query.sourceCurrency, destination };
      const priced = pricePair(payer, pair, query.rates);
      if (!priced.ok) {
        refusal ??= toLookUpRefusal(priced);
        continue;
      }
      const { terms, offered } = priced;
      const sourceMinor = sizeFor(terms, sizing);
      const feeMinor = getFeeMinor(terms, sourceMinor);
      const isInside = sourceMinor > 0n && fitsLimits(terms, sourceMinor);
      const destinationMinor = convert(sourceMinor, offered.allIn, 'floor');
      candidates.push({
        payer,
        currency: { code, rate: offered.allIn.rate, midRate: offered.mid.rate, destinationMinor },
        terms,
        sourceMinor,
        feeMinor,
        costMinor: getCostMinor({ sourceMinor, destinationMinor, feeMinor }, offered.mid),
        fits: isInside && destinationMinor > 0n,
      });
    }
  }
  return { candidates, refusal };
}

function toLookUpRefusal({ reason, detail }: QuoteRefusal): LookUpRefusal {
  const isStale = reason === 'rate_stale' || reason === 'price_stale';
  return { ok: false, reason: isStale ? reason : 'rate_unknown', detail };
}

function keepCheapest(candidates: readonly Candidate[]): Candidate[] {
  const cheapest = new Map<string, Candidate>();
  for (const candidate of candidates) {
    if (!candidate.fits) continue;
    const { payer, currency } = candidate;
    const network = payer.networks[currency.code] ?? '';
    const form = `${payer.deliveryType}/${payer.accountForm ?? ''}`;
    const service = `${form}/${currency.code}/${network}/${payer.name}`;
    const best = cheapest.get(service);
    if (best === undefined || compareCandidates(candidate, best) < 0) {
      cheapest.set(service, candidate);
    }
  }
  return [...cheapest.values()];
}

/** By cost, then by rate, then by token, so that the order is deterministic. */
function compareCandidates(a: Candidate, b: Candidate): number {
  if (a.costMinor !== b.costMinor) return a.costMinor < b.costMinor ? -1 : 1;
  if (a.currency.code === b.currency.code) {
    const order = compareRates(b.currency.rate, a.currency.rate);
    if (order !== 0) return order;
  }
  if (a.payer === b.payer) return 0;
  return a.payer.destinationToken < b.payer.destinationToken ? -1 : 1;
}

function compareRates(a: Rate, b: Rate): number {
  const left = a.digits * 10n ** BigInt(b.scale);
  const right = b.digits * 10n ** BigInt(a.scale);
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Groups ordered candidates; the first of each group is its cheapest. */
function groupByCompany(candidates: readonly Candidate[], nowMs: number): CompanyOffer[] {
  const byPayer = new Map<Payer, Candidate[]>();
  for (const candidate of candidates) addTo(byPayer, candidate.payer, candidate);
  const byCompany = new Map<Company, Map<DeliveryType, PayerOffer[]>>();
  for (const [payer, [first, ...more]] of byPayer) {
    assert(first !== undefined, 'a payer has a candidate');
    let services = byCompany.get(payer.company);
    if (services === undefined) {
      services = new Map();
      byCompany.set(payer.company, services);
    }
    addTo(services, payer.deliveryType, createOffer(first, more, nowMs));
  }
  return [...byCompany].map(([company, services]) => ({
    company,
    services: [...services].map(([deliveryType, payers]) => ({
      countryCode: payers[0]?.payer.country.code ?? '',
      deliveryType,
      payers,
    })),
  }));
}

function addTo<Key, Value>(groups: Map<Key, Value[]>, key: Key, value: Value): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [value]);
  else group.push(value);
}

function createOffer(first: Candidate, more: readonly Candidate[], nowMs: number): PayerOffer {
  const { payer, terms } = first;
  const currencies = [first, ...more].map(({ currency }) => currency);
  const order = (currency: OfferedCurrency): number => payer.currencies.indexOf(currency.code);
  return {
    payer,
    currencies: currencies.toSorted((a, b) => order(a) - order(b)),
    sourceMinor: first.sourceMinor,
    feeMinor: first.feeMinor,
    minLimitMinor: terms.minLimitMinor,
    maxLimitMinor: terms.maxLimitMinor,
    costMinor: first.costMinor,
    fits: first.fits,
    availableAtMs: findAvailability(payer.arrival, nowMs).availableAtMs,
  };
}
