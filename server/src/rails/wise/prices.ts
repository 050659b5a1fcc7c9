import { getCurrency } from '../../core/currency.ts';
import { formatAmount, formatScaled, getAmountMinor, readDecimal } from '../../core/money.ts';
import type { CallContext, PriceStep, RailHost, RailPrice } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import type { WiseQuote } from './protocol.ts';
import { type Cost, divideUp, type QuoteSetup, readCost, requestQuote } from './quotes.ts';

/** Prices by quotes of several source amounts. */

/**
 * What a quote of one amount says; minor units of the source currency. The amount is what is converted,
 * without the fee: a fee by the smaller amount is never too low.
 */
export type PricePoint = { readonly amountMinor: bigint; readonly feeMinor: bigint };

/**
 * A line between each two quoted amounts, never below one of them: the slope is rounded up to whole
 * hundredths of a percent, and the fixed part so that both ends are covered. Below the first amount
 * its fee holds; beyond the last one its line, or its share of the amount where that is more.
 */
export function fitFee(points: readonly PricePoint[], currency: string): readonly PriceStep[] {
  const scale = getCurrency(currency);
  const [first] = points;
  if (first === undefined) return [];
  const steps: PriceStep[] = [
    {
      upTo: formatAmount(first.amountMinor, scale),
      fixed: formatAmount(first.feeMinor, scale),
      basisPoints: 0,
    },
  ];
  for (const [index, point] of points.slice(1).entries()) {
    const before = points[index] ?? first;
    steps.push({ ...drawLine(before, point, scale), upTo: formatAmount(point.amountMinor, scale) });
  }
  const last = points.at(-1) ?? first;
  const before = points.at(-2) ?? { amountMinor: 0n, feeMinor: 0n };
  return [...steps, { ...drawLine(before, last, scale), upTo: null }];
}

type Line = Omit<PriceStep, 'upTo'>;

function drawLine(from: PricePoint, to: PricePoint, scale: ReturnType<typeof getCurrency>): Line {
  const width = to.amountMinor - from.amountMinor;
  const rise = to.feeMinor - from.feeMinor;
  const points = rise > 0n ? divideUp(rise * 10_000n, width) : 0n;
  const share = (minor: bigint): bigint => (minor * points) / 10_000n;
  const ends = [from, to].map((end) => end.feeMinor - share(end.amountMinor));
  const fixed = ends.reduce((most, end) => (end > most ? end : most), 0n);
  return { fixed: formatAmount(fixed, scale), basisPoints: Number(points) };
}

/** A payer for which Wise gives no price now is left out, so that it is not offered. */
export async function readPrices(
  setup: QuoteSetup & { readonly host: RailHost },
  context: CallContext,
): Promise<readonly RailPrice[]> {
  const prices: RailPrice[] = [];
  for (const payer of setup.host.payers) {
    for (const currency of payer.currencies) {
      const price = await readPrice(setup, { payer, currency }, context);
      if (price !== undefined) prices.push(price);
    }
  }
  return prices;
}

type Quoted = { readonly quote: WiseQuote; readonly cost: Cost };

async function readPrice(
  setup: QuoteSetup & { readonly host: RailHost },
  { payer, currency }: { payer: PayerDeclaration; currency: string },
  context: CallContext,
): Promise<RailPrice | undefined> {
  const { sourceCurrency, priceAmounts } = setup.config;
  const quotes: Quoted[] = [];
  for (const text of priceAmounts) {
    const sourceMinor = getAmountMinor(text, getCurrency(sourceCurrency));
    const answer = await requestQuote(setup, { payer, currency, amount: { sourceMinor } }, context);
    if (answer.kind !== 'answered') continue;
    const quote = answer.value;
    const reading = readCost(quote, { sourceCurrency, currency, targetMinor: undefined });
    // An amount beyond a limit of the route has no price; the others have.
    if (reading.ok && reading.cost.sourceMinor === sourceMinor) {
      quotes.push({ quote, cost: reading.cost });
    }
  }
  const [first] = quotes;
  if (first === undefined) {
    setup.host.log('warn', 'Wise quoted no price for a payer', { payer: payer.key, currency });
    return undefined;
  }
  return describePrice(setup, { payer, currency, first, quotes });
}

function describePrice(
  { config, host }: QuoteSetup & { readonly host: RailHost },
  found: {
    payer: PayerDeclaration;
    currency: string;
    first: Quoted;
    quotes: readonly Quoted[];
  },
): RailPrice {
  const { payer, currency, first, quotes } = found;
  const { sourceCurrency } = config;
  const nowMs = host.realNowMs();
  const arrivals = quotes.flatMap(({ cost }) => cost.arrivesAtMs ?? []);
  const heldUntilMs = Math.min(...quotes.map(({ quote }) => quote.expirationTime));
  return {
    payerKey: payer.key,
    sourceCurrency,
    destinationCurrency: currency,
    rate: sourceCurrency === currency ? '1' : formatRate(first.quote.rate),
    fee: fitFee(
      quotes.map(({ cost: { sourceMinor, feeMinor } }) => ({
        amountMinor: sourceMinor - feeMinor,
        feeMinor,
      })),
      sourceCurrency,
    ),
    // Wise's clock is real time, and the environment's may be ahead.
    holdsUntilMs: host.nowMs() + Math.max(heldUntilMs - nowMs, 0),
    ...(arrivals.length === 0
      ? {}
      : { deliverySeconds: Math.max(0, Math.ceil((Math.max(...arrivals) - nowMs) / 1000)) }),
  };
}

/** Without an exponent. */
function formatRate(text: string): string {
  const decimal = readDecimal(text);
  if (decimal === undefined) throw new Error('unreachable: the schema has checked the rate');
  return formatScaled(decimal.digits, decimal.scale);
}
