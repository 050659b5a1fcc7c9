import { getCurrency } from '../../../src/core/currency.ts';
import { getAmountMinor } from '../../../src/core/money.ts';
import { convertBack, divideRounded, getRate } from '../../../src/core/rate.ts';
import type { PaymentOrder } from '../../../src/rails/partner/protocol.ts';
import { selectFields } from '../../../src/rails/partner/required-fields.ts';
import type { SimulatorOptions } from './simulator-options.ts';

/** Why an order is booked as rejected, by the optional parts of the protocol; undefined: it is not. */
export function findOrderFault(order: PaymentOrder, options: SimulatorOptions): string | undefined {
  const { payer, country: countryCode, currency } = order;
  const required = selectFields(options.requiredFields, { payer, countryCode, currency });
  const isIncomplete = [...required].some((field) => readField(order, field) === '');
  const books = options.defects.includes('books_incomplete_orders');
  if (isIncomplete && !books) return 'invalid_details';
  return options.defects.includes('ignores_price_limits')
    ? undefined
    : findPriceFault(order, options.prices);
}

function findPriceFault(
  { payer, amount, currency, price_limit: limit }: PaymentOrder,
  prices: SimulatorOptions['prices'],
): string | undefined {
  if (limit === undefined) return undefined;
  const price = prices.find(
    (one) =>
      one.payer === payer &&
      one.source_currency === limit.currency &&
      one.destination_currency === currency,
  );
  if (price === undefined) return 'payer_unavailable';
  const [from, to] = [getCurrency(limit.currency), getCurrency(currency)];
  const rate = getRate(price.rate);
  const minor = convertBack(getAmountMinor(amount, to), { from, to, rate }, 'ceil');
  const readFee = (text: string): bigint =>
    /^[0.]*$/.test(text) ? 0n : getAmountMinor(text, from);
  const step = price.fee.find(
    ({ up_to: upTo }) => upTo === undefined || minor <= getAmountMinor(upTo, from),
  );
  if (step === undefined) return 'amount_refused';
  const share = divideRounded(minor * BigInt(step.basis_points), 10_000n, 'ceil');
  const cost = minor + readFee(step.fixed) + share;
  return cost > getAmountMinor(limit.amount, from) ? 'price_worse' : undefined;
}

/** "" where the order does not have it. */
function readField(order: object, field: string): string {
  const [name = '', ...rest] = field.split('.');
  const value: unknown = Object.hasOwn(order, name) ? order[name as keyof typeof order] : '';
  if (rest.length === 0) return typeof value === 'string' ? value : '';
  return typeof value === 'object' && value !== null ? readField(value, rest.join('.')) : '';
}
