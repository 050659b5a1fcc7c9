import { z } from 'zod';
import { formatSecondsZ } from '../core/clock.ts';
import { type Currency, findCurrency, getCurrency } from '../core/currency.ts';
import { formatAmount, readDecimal } from '../core/money.ts';
import {
  type Conversion,
  convertBack,
  divideRounded,
  formatRate,
  getRate,
  multiplyRates,
  type Rate,
  takeMargin,
} from '../core/rate.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { defaultPriceRules, type PriceRules } from '../rails/contract/price-rules.ts';
import type { StoredPrice } from '../rails/host/prices.ts';
import { type FeeTerm, findFeeTerm, type Pricing, type Terms } from './pricing.ts';

/**
 * The prices that providers quote for payments through their payers. A payer with such prices costs what
 * the provider asks, with the operator's tariff as mark-up on top.
 */

/** In minor units of `source`, the currency of our balance at the provider. */
export type ProviderPrice = {
  readonly source: Currency;
  readonly destination: Currency;
  /** Units of the destination for one of the source, all-in. */
  readonly rate: Rate;
  /** Ascending; without an unbounded last step larger amounts have no price. */
  readonly steps: readonly FeeTerm[];
  readonly asOfMs: number;
  readonly holdsUntilMs: number | undefined;
  /** As it is stored with a payout. */
  readonly text: string;
};

/** The prices of one payer, in the order of its rail's preference. */
export type ProviderOffer = {
  readonly rules: PriceRules;
  readonly prices: readonly ProviderPrice[];
  /** The longest estimate of the prices, from commit to arrival; undefined: the provider gives none. */
  readonly deliverySeconds: number | undefined;
  /** When the catalog was compiled; older prices than this less `rules.ageMsMax` are not used. */
  readonly compiledAtMs: number;
};

const storedSchema = z.object({
  source: z.string(),
  destination: z.string(),
  rate: z.string(),
  steps: z.array(
    z.object({ upTo: z.string().nullable(), fixed: z.string(), basisPoints: z.int() }),
  ),
  asOf: z.number(),
  holdsUntil: z.number().optional(),
});

/** A price as it was stored with a payout. @throws Error where the text is no such price. */
export function readProviderPrice(text: string): ProviderPrice {
  const { source, destination, ...stored } = storedSchema.parse(JSON.parse(text));
  const currency = getCurrency(source);
  return {
    source: currency,
    destination: getCurrency(destination),
    rate: getRate(stored.rate),
    steps: stored.steps.map((step) => compileStep(step, currency)),
    asOfMs: stored.asOf,
    holdsUntilMs: stored.holdsUntil,
    text,
  };
}

/** The price without its times, as text: equal texts mean equal prices. */
export function describeTerms({ source, rate, steps }: ProviderPrice): string {
  const fee = steps.map(({ upToMinor, fixedMinor, basisPoints }) =>
    [upToMinor ?? '', fixedMinor, basisPoints].join(' '),
  );
  return [source.code, formatRate(rate), ...fee].join(', ');
}

/** Undefined where a currency is no longer known. */
function compilePrice(row: StoredPrice): ProviderPrice | undefined {
  const source = findCurrency(row.source_currency);
  const destination = findCurrency(row.destination_currency);
  if (source === undefined || destination === undefined) return undefined;
  return readProviderPrice(
    JSON.stringify({
      source: source.code,
      destination: destination.code,
      rate: row.rate,
      steps: row.fee,
      asOf: row.read_at.getTime(),
      ...(row.holds_until !== null && { holdsUntil: row.holds_until.getTime() }),
    } satisfies z.infer<typeof storedSchema>),
  );
}

/** A fixed fee is rounded up to the minor unit, a bound down. */
function compileStep(
  { upTo, fixed, basisPoints }: StoredPrice['fee'][number],
  currency: Currency,
): FeeTerm {
  return {
    upToMinor: upTo === null ? null : toMinor(upTo, currency, 'floor'),
    fixedMinor: toMinor(fixed, currency, 'ceil'),
    basisPoints: BigInt(basisPoints),
  };
}

function toMinor(text: string, { scale }: Currency, rounding: 'floor' | 'ceil'): bigint {
  const decimal = readDecimal(text);
  if (decimal === undefined) throw new Error(`not a decimal: ${text}`);
  return divideRounded(
    decimal.digits * 10n ** BigInt(scale),
    10n ** BigInt(decimal.scale),
    rounding,
  );
}

/** The offers of each payer of rails that quote prices, by rail and payer key. */
export function compileOffers(
  rails: readonly Pick<Rail, 'name' | 'payers' | 'readPrices' | 'priceRules'>[],
  stored: readonly StoredPrice[],
  nowMs: number,
): ReadonlyMap<string, ReadonlyMap<string, ProviderOffer>> {
  const byRail = Map.groupBy(stored, ({ rail }) => rail);
  const quoting = rails.filter(({ readPrices }) => readPrices !== undefined);
  return new Map(
    quoting.map(({ name, payers, priceRules: rules = defaultPriceRules }) => {
      const byPayer = Map.groupBy(byRail.get(name) ?? [], (row) => row.payer_key);
      const compile = (rows: readonly StoredPrice[]): ProviderOffer => {
        const estimates = rows.flatMap((row) => row.delivery_seconds ?? []);
        return {
          rules,
          prices: rows.flatMap((row) => compilePrice(row) ?? []),
          deliverySeconds: estimates.length === 0 ? undefined : Math.max(...estimates),
          compiledAtMs: nowMs,
        };
      };
      return [name, new Map(payers.map(({ key }) => [key, compile(byPayer.get(key) ?? [])]))];
    }),
  );
}

/** When the first price that is fresh now becomes too old, milliseconds; Infinity: none is. */
export function findNextExpiry({ rules, prices, compiledAtMs }: ProviderOffer): number {
  return prices.reduce((earliest, { asOfMs }) => {
    const expiresAtMs = asOfMs + rules.ageMsMax;
    return expiresAtMs < compiledAtMs ? earliest : Math.min(earliest, expiresAtMs + 1);
  }, Number.POSITIVE_INFINITY);
}

type Pair = { source: Currency; destination: Currency };
type FoundPrice =
  | { ok: true; price: ProviderPrice }
  | { ok: false; reason: 'price_stale'; detail: string };

/**
 * The newest price for the destination currency: from a balance in the client's source currency if there
 * is one, else from the rail's preferred balance.
 */
export function findLatestPrice(
  { prices }: ProviderOffer,
  { source, destination }: Pair,
): ProviderPrice | undefined {
  const delivered = prices.filter((price) => price.destination === destination);
  return delivered.find((price) => price.source === source) ?? delivered[0];
}

/** The price that a quote may use now. */
export function findFreshPrice(name: string, offer: ProviderOffer, pair: Pair): FoundPrice {
  const { prices, rules, compiledAtMs } = offer;
  const isFresh = ({ asOfMs }: ProviderPrice): boolean => compiledAtMs - asOfMs <= rules.ageMsMax;
  const price = findLatestPrice({ ...offer, prices: prices.filter(isFresh) }, pair);
  if (price !== undefined) return { ok: true, price };
  const last = findLatestPrice(offer, pair);
  const what = `the price of ${name} for ${pair.destination.code}`;
  const detail =
    last === undefined
      ? `${what} has not been read yet`
      : `${what} was last read at ${formatSecondsZ(new Date(last.asOfMs))}, ` +
        `more than ${rules.ageMsMax / 1000} s ago`;
  return { ok: false, reason: 'price_stale', detail };
}

/** What a payment of an amount costs at the provider, minor units of the price's source. */
export type ProviderCost = { amountMinor: bigint; feeMinor: bigint };

/** Undefined where the price does not cover the amount. `destinationMinor`: what is delivered. */
export function getProviderCost(
  price: ProviderPrice,
  destinationMinor: bigint,
): ProviderCost | undefined {
  const { source: from, destination: to, rate, steps } = price;
  const amountMinor = convertBack(destinationMinor, { from, to, rate }, 'ceil');
  const step = findFeeTerm(steps, amountMinor);
  if (step === undefined) return undefined;
  const share = divideRounded(amountMinor * step.basisPoints, 10_000n, 'ceil');
  return { amountMinor, feeMinor: step.fixedMinor + share };
}

/**
 * Why a payment must not be sent at the present price: it costs more than quoted by more than the rail
 * may bear. Undefined: it may be sent, or the two prices cannot be compared.
 */
export function describeWorsePrice(
  present: ProviderPrice,
  quoted: ProviderPrice,
  { destinationMinor, bearBasisPoints }: { destinationMinor: bigint; bearBasisPoints: number },
): string | undefined {
  if (present.source !== quoted.source || present.asOfMs <= quoted.asOfMs) return undefined;
  const promised = getProviderCost(quoted, destinationMinor);
  if (promised === undefined) return undefined;
  const now = getProviderCost(present, destinationMinor);
  const write = ({ amountMinor, feeMinor }: ProviderCost): string =>
    `${formatAmount(amountMinor + feeMinor, quoted.source)} ${quoted.source.code}`;
  if (now === undefined) return `quoted ${write(promised)}, now without a price for this amount`;
  const moreMinor = now.amountMinor + now.feeMinor - promised.amountMinor - promised.feeMinor;
  if (moreMinor * 10_000n <= promised.amountMinor * BigInt(bearBasisPoints)) return undefined;
  return `quoted ${write(promised)}, now ${write(now)}, more than ${bearBasisPoints} basis points above`;
}

/** What a provider asked at the order, beside what the payout was quoted with, for operators. */
export function describeAskedPrice(
  asked: { currency: string; amountMinor: bigint },
  quoted: ProviderPrice | undefined,
  destinationMinor: bigint,
): string {
  const { currency: code, amountMinor } = asked;
  const order = `asked ${formatAmount(amountMinor, getCurrency(code))} ${code} at the order`;
  const promised = quoted === undefined ? undefined : getProviderCost(quoted, destinationMinor);
  if (quoted === undefined || promised === undefined) return order;
  const total = formatAmount(promised.amountMinor + promised.feeMinor, quoted.source);
  return `quoted ${total} ${quoted.source.code}, ${order}`;
}

/** What a payer with a provider's price asks of a client. */
export type ProviderTerms = { terms: Terms; rate: Rate };

type CachedTerms = ProviderTerms & { own: Terms; pricing: Pricing; mid: Rate };
const knownTerms = new WeakMap<ProviderPrice, Map<Currency, CachedTerms>>();

/**
 * The operator's terms with the provider's fee on top, and the all-in rate, in the client's source
 * currency; `toProvider` converts it to the currency of our balance at the provider. Cached by the
 * identity of all parts, which stay the same until a price or a rate changes.
 */
export function getProviderTerms(
  price: ProviderPrice,
  { own, pricing, toProvider }: { own: Terms; pricing: Pricing; toProvider: Conversion },
): ProviderTerms {
  let bySource = knownTerms.get(price);
  if (bySource === undefined) {
    bySource = new Map();
    knownTerms.set(price, bySource);
  }
  const known = bySource.get(own.source);
  const { rate: mid } = toProvider;
  if (known?.own === own && known.pricing === pricing && known.mid === mid) return known;
  const isExchanged = own.source !== price.destination;
  const margin = isExchanged ? pricing.marginBasisPoints : 0;
  // The provider converts what is left of the client's amount after the margin.
  const kept = { ...toProvider, rate: takeMargin(mid, margin) };
  const steps = price.steps.map(({ upToMinor, fixedMinor, basisPoints }) => ({
    upToMinor: upToMinor === null ? null : convertBack(upToMinor, kept, 'floor'),
    fixedMinor: convertBack(fixedMinor, toProvider, 'ceil'),
    basisPoints,
  }));
  const computed = {
    own,
    pricing,
    mid,
    terms: addSteps(own, steps),
    rate: takeMargin(multiplyRates(mid, price.rate), margin),
  };
  bySource.set(own.source, computed);
  return computed;
}

/**
 * Adds the steps of two fee schedules: between two bounds of either one, the fixed fees and the
 * percentages of both. Percentages apply to the client's amount, which is never less than what the
 * provider is asked to convert. An amount above the provider's last bound exceeds the maximum.
 */
function addSteps(own: Terms, others: readonly FeeTerm[]): Terms {
  const last = others.at(-1)?.upToMinor ?? null;
  const isBounded = (bound: bigint | null): bound is bigint =>
    bound !== null && bound > 0n && (last === null || bound < last);
  const bounds = [...own.steps, ...others].map(({ upToMinor }) => upToMinor).filter(isBounded);
  const ascending = [...new Set(bounds)].toSorted((a, b) => (a < b ? -1 : 1));
  const steps = [...ascending, null].map((bound, index, all) => {
    const over = all[index - 1] ?? 0n;
    const [left, right] = [own.steps, others].map((terms) => findFeeTerm(terms, over + 1n));
    return {
      upToMinor: index === all.length - 1 ? null : bound,
      fixedMinor: (left?.fixedMinor ?? 0n) + (right?.fixedMinor ?? 0n),
      basisPoints: (left?.basisPoints ?? 0n) + (right?.basisPoints ?? 0n),
    };
  });
  const { maxLimitMinor } = own;
  const lowest = last !== null && (maxLimitMinor === 0n || last < maxLimitMinor);
  return { ...own, steps, maxLimitMinor: lowest ? last : maxLimitMinor };
}

/** The price and its age in seconds at an instant, as a decision shows it. */
export function describeProviderPrice(
  price: ProviderPrice,
  { destinationMinor, nowMs }: { destinationMinor: bigint; nowMs: number },
) {
  const cost = getProviderCost(price, destinationMinor);
  return {
    source_currency: price.source.code,
    exchange_rate: formatRate(price.rate),
    fee: cost === undefined ? '' : formatAmount(cost.feeMinor, price.source),
    as_of: formatSecondsZ(new Date(price.asOfMs)),
    age_seconds: Math.max(0, Math.floor((nowMs - price.asOfMs) / 1000)),
  };
}
