import type { Catalog, Payer } from '../destinations/catalog.ts';
import { type QuoteRefusal, quotePayer } from '../destinations/quote.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { DeliveryType } from '../rails/contract/declarations.ts';

export type Wanted = {
  /** ISO 3166-1 alpha-3. */
  country: string;
  deliveryType: DeliveryType;
  sourceCurrency: string;
  destinationCurrency: string;
  amount: { side: 'source' | 'destination'; minor: bigint };
};

/**
 * The payers that take the amount, the cheapest for the sender first; equal ones in the order of their
 * tokens. `refusal`: why the first of the others does not take it.
 */
export function rankPayers(
  { catalog, rates }: { catalog: Catalog; rates: MidRates },
  { country, deliveryType, ...wanted }: Wanted,
): { payers: Payer[]; refusal: QuoteRefusal | undefined } {
  const found: { payer: Payer; costMinor: bigint }[] = [];
  let refusal: QuoteRefusal | undefined;
  for (const payer of catalog.payersIn(country)) {
    const isWanted =
      payer.deliveryType === deliveryType && payer.currencies.includes(wanted.destinationCurrency);
    if (!isWanted) continue;
    const quote = quotePayer({ payer, rates, ...wanted });
    if (quote.ok) found.push({ payer, costMinor: quote.costMinor });
    else refusal ??= quote;
  }
  found.sort(
    (a, b) =>
      Number(a.costMinor - b.costMinor) ||
      (a.payer.destinationToken < b.payer.destinationToken ? -1 : 1),
  );
  return { payers: found.map(({ payer }) => payer), refusal };
}
