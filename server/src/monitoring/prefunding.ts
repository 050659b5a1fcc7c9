import { type Currency, findCurrency } from '../core/currency.ts';
import { readDecimal } from '../core/money.ts';
import { convertBack, divideRounded } from '../core/rate.ts';
import { type Catalog, getDestinationToken } from '../destinations/catalog.ts';
import { findLatestPrice, getProviderCost } from '../destinations/provider-pricing.ts';
import type { RailFunds } from '../rails/contract/contract.ts';
import type { RailNeedRow } from './rail-states.sql.ts';

/** What a rail has to pay from, and what it will need, in minor units of a currency. */
export type Prefunding = {
  readonly currency: Currency;
  /** As last read; undefined: the counterparty does not say it. */
  readonly fundsMinor: bigint | undefined;
  /** Of payouts that are committed and not handed over. */
  readonly committedMinor: bigint;
  /** Of payouts that are scheduled for the next 24 hours. */
  readonly scheduledMinor: bigint;
};

type Sources = {
  readonly needs: readonly RailNeedRow[];
  readonly funds: ReadonlyMap<string, readonly RailFunds[]>;
  readonly catalog: Catalog;
};

/**
 * The prefunding of each rail by currency. A payout through a provider that converts needs money of the
 * balance from which the provider pays, at its latest price, with the fee of an average payout.
 */
export function listPrefunding({
  needs,
  funds,
  catalog,
}: Sources): ReadonlyMap<string, readonly Prefunding[]> {
  const rails = new Map<string, Map<Currency, Prefunding>>();
  const change = (
    rail: string,
    currency: Currency,
    update: (before: Prefunding) => Prefunding,
  ): void => {
    const known = rails.get(rail) ?? new Map<Currency, Prefunding>();
    rails.set(rail, known);
    const none = { currency, fundsMinor: undefined, committedMinor: 0n, scheduledMinor: 0n };
    known.set(currency, update(known.get(currency) ?? none));
  };
  for (const [rail, readings] of funds) {
    for (const { currency: code, amount } of readings) {
      const currency = findCurrency(code);
      if (currency === undefined) continue;
      const minor = toMinor(amount, currency);
      change(rail, currency, (before) => ({
        ...before,
        fundsMinor: minor === undefined ? undefined : (before.fundsMinor ?? 0n) + minor,
      }));
    }
  }
  for (const need of needs) {
    const found = findNeed(catalog, need);
    if (found === undefined) continue;
    const { currency, minor } = found;
    const member = need.is_scheduled ? 'scheduledMinor' : 'committedMinor';
    change(need.rail, currency, (before) => ({ ...before, [member]: before[member] + minor }));
  }
  return new Map([...rails].map(([rail, byCurrency]) => [rail, [...byCurrency.values()]]));
}

/** What is left after everything that is committed and scheduled; undefined where funds are unknown. */
export function getLeftMinor(prefunding: Prefunding): bigint | undefined {
  const { fundsMinor, committedMinor, scheduledMinor } = prefunding;
  return fundsMinor === undefined ? undefined : fundsMinor - committedMinor - scheduledMinor;
}

/** Units of a currency, rounded down: it may be negative. */
function toMinor(amount: string, { scale }: Currency): bigint | undefined {
  const decimal = readDecimal(amount);
  if (decimal === undefined) return undefined;
  const isNegative = decimal.digits < 0n;
  const digits = (isNegative ? -decimal.digits : decimal.digits) * 10n ** BigInt(scale);
  const minor = divideRounded(digits, 10n ** BigInt(decimal.scale), isNegative ? 'ceil' : 'floor');
  return isNegative ? -minor : minor;
}

function findNeed(
  catalog: Catalog,
  { rail, payer_key: payerKey, currency: code, count, amount }: RailNeedRow,
): { currency: Currency; minor: bigint } | undefined {
  const destination = findCurrency(code);
  if (destination === undefined) return undefined;
  const minor = BigInt(amount);
  const offer = catalog.findPayer(getDestinationToken(rail, payerKey))?.offer;
  const price = offer && findLatestPrice(offer, { source: destination, destination });
  if (price === undefined) return { currency: destination, minor };
  const { source: from, rate } = price;
  const amountMinor = convertBack(minor, { from, to: destination, rate }, 'ceil');
  const average = getProviderCost(price, divideRounded(minor, BigInt(count), 'ceil'));
  return { currency: from, minor: amountMinor + (average?.feeMinor ?? 0n) * BigInt(count) };
}
