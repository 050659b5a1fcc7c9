import { type Currency, findCurrency } from '../core/currency.ts';
import { assert } from '../core/errors.ts';
import { amountMinorMax, formatAmount } from '../core/money.ts';
import {
  type Conversion,
  convert,
  convertBack,
  getRoundingNano,
  type Rate,
  rateOfOne,
  takeMargin,
} from '../core/rate.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { Payer } from './catalog.ts';
import { fitsLimits, getFeeMinor, getTerms, type Terms, usd } from './pricing.ts';
import { findFreshPrice, getProviderTerms, type ProviderPrice } from './provider-pricing.ts';

export type RefusalReason =
  | 'rate_unknown'
  | 'rate_stale'
  | 'price_stale'
  | 'below_minimum'
  | 'above_maximum'
  | 'currency_not_delivered'
  | 'amount_too_small'
  | 'amount_too_large';

/** Refusals that end when rates or prices are read again. */
type PriceRefusal = 'rate_unknown' | 'rate_stale' | 'price_stale';

export function lacksPrice(reason: RefusalReason): reason is PriceRefusal {
  return reason === 'rate_unknown' || reason === 'rate_stale' || reason === 'price_stale';
}

/** Why there is no quote; `detail` is for the client. */
export type QuoteRefusal = { ok: false; reason: RefusalReason; detail: string };

/** Amounts in minor units of the source currency, except `destinationMinor`. */
export type Quote = {
  ok: true;
  sourceMinor: bigint;
  destinationMinor: bigint;
  feeMinor: bigint;
  /** All-in: the mid rate less the payer's margin. */
  rate: Rate;
  /** The market rate of the pair at which this was priced; see `findOfferedRate`. */
  midRate: Rate;
  /** The excess of sourceMinor x rate over destinationMinor, in billionths of its minor unit. */
  roundingNano: bigint;
  /** Inclusive; 0n means no limit. */
  minLimitMinor: bigint;
  maxLimitMinor: bigint;
  /** The cost to the sender: the fee, and margin and rounding at the mid rate. */
  costMinor: bigint;
  /** Whether the recipient must be verified for this amount. */
  verificationRequired: boolean;
  /** What the payer's provider asked, where it quotes prices. */
  providerPrice: ProviderPrice | undefined;
};

export type QuoteResult = Quote | QuoteRefusal;

export type QuoteQuery = {
  payer: Payer;
  sourceCurrency: string;
  destinationCurrency: string;
  /** The destination is computed rounded down, the source rounded up. */
  amount: { side: 'source' | 'destination'; minor: bigint };
  rates: MidRates;
};

/**
 * What a payout through the payer costs and delivers at the given mid rates. The amount must be
 * positive.
 */
export function quotePayer(query: QuoteQuery): QuoteResult {
  const { payer, destinationCurrency, amount, rates } = query;
  assert(amount.minor > 0n, 'the amount is positive');
  const destination = findCurrency(destinationCurrency);
  if (destination === undefined || !payer.currencies.includes(destinationCurrency)) {
    const detail = `${payer.name} does not pay out ${destinationCurrency}`;
    return { ok: false, reason: 'currency_not_delivered', detail };
  }
  const priced = pricePair(payer, { sourceCurrency: query.sourceCurrency, destination }, rates);
  if (!priced.ok) return priced;
  const { offered } = priced;
  const sourceMinor =
    amount.side === 'source' ? amount.minor : convertBack(amount.minor, offered.allIn, 'ceil');
  const destinationMinor =
    amount.side === 'source' ? convert(amount.minor, offered.allIn, 'floor') : amount.minor;
  const { terms } = priced;
  const feeMinor = getFeeMinor(terms, sourceMinor);
  const refusal =
    findSizeRefusal({ sourceMinor, destinationMinor, feeMinor }, offered.allIn) ??
    findLimitRefusal(payer, terms, sourceMinor);
  if (refusal !== undefined) return refusal;
  return {
    ok: true,
    sourceMinor,
    destinationMinor,
    feeMinor,
    rate: offered.allIn.rate,
    midRate: offered.mid.rate,
    roundingNano: getRoundingNano(sourceMinor, destinationMinor, offered.allIn),
    minLimitMinor: terms.minLimitMinor,
    maxLimitMinor: terms.maxLimitMinor,
    costMinor: getCostMinor({ sourceMinor, destinationMinor, feeMinor }, offered.mid),
    verificationRequired: requiresVerification(payer, priced, sourceMinor),
    providerPrice: priced.providerPrice,
  };
}

export type PricedPair = PricedSource & {
  offered: OfferedRate;
  providerPrice: ProviderPrice | undefined;
};

/**
 * Fees, limits and rate of a payer for a pair of currencies: from its tariff and the mid rates, or, where
 * its provider quotes prices, from the provider's price with the tariff on top.
 */
export function pricePair(
  payer: Payer,
  { sourceCurrency, destination }: { sourceCurrency: string; destination: Currency },
  rates: MidRates,
): PricedPair | QuoteRefusal {
  const priced = findTerms(payer, sourceCurrency, rates);
  if (!priced.ok) return priced;
  const pair = { from: priced.source, to: destination };
  const { offer, pricing } = payer;
  if (offer === undefined) {
    const offered = findOfferedRate(payer, pair, rates);
    return offered.ok ? { ...priced, offered, providerPrice: undefined } : offered;
  }
  const found = findFreshPrice(payer.name, offer, { source: priced.source, destination });
  if (!found.ok) return found;
  const { price } = found;
  const mid = findMidRate({ from: priced.source, to: price.source }, rates);
  if (!mid.ok) return mid;
  const toProvider = { from: priced.source, to: price.source, rate: mid.rate };
  const { terms, rate } = getProviderTerms(price, { own: priced.terms, pricing, toProvider });
  const agreed = pricing.rates.get(`${pair.from.code}/${pair.to.code}`);
  const allIn = { ...pair, rate: agreed ?? rate };
  const market = findMidRate(pair, rates);
  const offered = {
    ok: true,
    mid: market.ok ? { ...pair, rate: market.rate } : allIn,
    allIn,
  } as const;
  return { ...priced, terms, offered, providerPrice: price };
}

export type PricedSource = { ok: true; source: Currency; usdToSource: Rate; terms: Terms };

/** The payer's fees and limits in the source currency, at the mid rate to USD. */
export function findTerms(
  payer: Payer,
  sourceCurrency: string,
  rates: MidRates,
): PricedSource | QuoteRefusal {
  const source = findCurrency(sourceCurrency);
  if (source === undefined) {
    return { ok: false, reason: 'rate_unknown', detail: `Unknown currency ${sourceCurrency}` };
  }
  const usdToSource = findMidRate({ from: usd, to: source }, rates);
  if (!usdToSource.ok) return usdToSource;
  const terms = getTerms(payer.pricing, source, usdToSource.rate);
  return { ok: true, source, usdToSource: usdToSource.rate, terms };
}

export type OfferedRate = { ok: true; mid: Conversion; allIn: Conversion };

/**
 * The mid rate of a pair and the payer's all-in rate, which has no margin within one currency. A
 * rate agreed with the partner counts as mid rate too if there is none.
 */
function findOfferedRate(
  payer: Payer,
  pair: Pick<Conversion, 'from' | 'to'>,
  rates: MidRates,
): OfferedRate | QuoteRefusal {
  const agreed = payer.pricing.rates.get(`${pair.from.code}/${pair.to.code}`);
  const found = findMidRate(pair, rates);
  if (agreed !== undefined) {
    const allIn = { ...pair, rate: agreed };
    return { ok: true, mid: found.ok ? { ...pair, rate: found.rate } : allIn, allIn };
  }
  if (!found.ok) return found;
  const mid = { ...pair, rate: found.rate };
  if (pair.from === pair.to) return { ok: true, mid, allIn: mid };
  const rate = getAllInRate(found.rate, payer.pricing.marginBasisPoints);
  return { ok: true, mid, allIn: { ...pair, rate } };
}

function findMidRate(
  { from, to }: Pick<Conversion, 'from' | 'to'>,
  rates: MidRates,
): { ok: true; rate: Rate } | QuoteRefusal {
  if (from === to) return { ok: true, rate: rateOfOne };
  const found = rates.find(from.code, to.code);
  if (found.ok) return found;
  const reason = found.reason === 'stale' ? 'rate_stale' : 'rate_unknown';
  return { ok: false, reason, detail: found.detail };
}

const allInRates = new WeakMap<Rate, Map<number, Rate>>();

/** Cached per mid rate object. */
function getAllInRate(mid: Rate, marginBasisPoints: number): Rate {
  let byMargin = allInRates.get(mid);
  if (byMargin === undefined) {
    byMargin = new Map();
    allInRates.set(mid, byMargin);
  }
  const known = byMargin.get(marginBasisPoints);
  if (known !== undefined) return known;
  const rate = takeMargin(mid, marginBasisPoints);
  byMargin.set(marginBasisPoints, rate);
  return rate;
}

type Amounts = Pick<Quote, 'sourceMinor' | 'destinationMinor' | 'feeMinor'>;

/** Negative if a rate agreed with the partner is better than the mid rate. */
export function getCostMinor(amounts: Amounts, mid: Conversion): bigint {
  const worthMinor = convertBack(amounts.destinationMinor, mid, 'floor');
  return amounts.feeMinor + amounts.sourceMinor - worthMinor;
}

function requiresVerification(payer: Payer, priced: PricedSource, sourceMinor: bigint): boolean {
  const threshold = payer.verifiedAboveUsdMinor;
  if (threshold === null) return false;
  const conversion = { from: usd, to: priced.source, rate: priced.usdToSource };
  return sourceMinor > convert(threshold, conversion, 'floor');
}

function findSizeRefusal(amounts: Amounts, { from, to }: Conversion): QuoteRefusal | undefined {
  const { sourceMinor, destinationMinor, feeMinor } = amounts;
  if (sourceMinor + feeMinor > amountMinorMax || destinationMinor > amountMinorMax) {
    const most = `${formatAmount(amountMinorMax, from)} ${from.code} or ${formatAmount(amountMinorMax, to)} ${to.code}`;
    return { ok: false, reason: 'amount_too_large', detail: `The amount must be at most ${most}` };
  }
  if (destinationMinor > 0n) return undefined;
  const amount = `${formatAmount(sourceMinor, from)} ${from.code}`;
  const detail = `${amount} is less than the smallest unit of ${to.code}`;
  return { ok: false, reason: 'amount_too_small', detail };
}

function findLimitRefusal(
  payer: Payer,
  terms: Terms,
  sourceMinor: bigint,
): QuoteRefusal | undefined {
  if (fitsLimits(terms, sourceMinor)) return undefined;
  const isBelow = sourceMinor < terms.minLimitMinor;
  const bound = isBelow ? terms.minLimitMinor : terms.maxLimitMinor;
  const name = isBelow ? 'least' : 'most';
  const { source } = terms;
  const detail =
    `The source amount for ${payer.name} must be at ${name} ${formatAmount(bound, source)} ` +
    `${source.code}, and is ${formatAmount(sourceMinor, source)} ${source.code}`;
  return { ok: false, reason: isBelow ? 'below_minimum' : 'above_maximum', detail };
}
