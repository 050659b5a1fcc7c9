import { type Currency, findCurrency, getCurrency } from '../core/currency.ts';
import { formatAmount } from '../core/money.ts';
import { formatRate } from '../core/rate.ts';
import type { Payer } from '../destinations/catalog.ts';
import { type Quote, quotePayer } from '../destinations/quote.ts';
import type { OtherWay } from '../destinations/route-candidate.ts';
import { describePrice, describeStanding, type RouterServices, score } from './routing.ts';

/**
 * The other ways of paying the recipient: every payer of the country that could not take the payout
 * over, because it pays by another kind of delivery, in another currency, on another network, or under
 * another name. A recipient gave details for one way, so that a payout never changes it by itself; the
 * comparison shows whether another one would be worth asking for.
 */

/** The amount that was sent, in minor units. */
export type SentAmount = {
  destinationToken: string;
  destinationCurrency: string;
  sourceCurrency: string;
  sourceMinor: bigint;
};

/** A payer that pays out many coins is listed with each of them. */
const waysMax = 100;

/** At the prices of now, the cheapest first; those without a price come last. */
export function listOtherWays(services: RouterServices, sent: SentAmount): OtherWay[] {
  const catalog = services.catalog();
  const source = findCurrency(sent.sourceCurrency);
  const named = catalog.findPayer(sent.destinationToken);
  if (named === undefined || source === undefined) return [];
  const equivalents = named.isDynamicToken
    ? catalog.findEquivalents(named, sent.destinationCurrency)
    : [];
  const competing = new Set([named, ...equivalents]);
  return catalog
    .payersIn(named.country.code)
    .flatMap((payer) =>
      payer.currencies
        .filter((code) => !competing.has(payer) || code !== sent.destinationCurrency)
        .map((code) => describeWay(services, { payer, source, sent, code })),
    )
    .toSorted((a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity) || compareTokens(a, b))
    .slice(0, waysMax);
}

const compareTokens = (a: OtherWay, b: OtherWay): number =>
  a.destination_token < b.destination_token ? -1 : 1;

type Way = { payer: Payer; source: Currency; sent: SentAmount; code: string };

function describeWay(services: RouterServices, { payer, source, sent, code }: Way): OtherWay {
  const destination = getCurrency(code);
  const standing = describeStanding(services, payer);
  const quote = quotePayer({
    payer,
    sourceCurrency: source.code,
    destinationCurrency: code,
    amount: { side: 'source', minor: sent.sourceMinor },
    rates: services.rates(),
  });
  const priced = quote.ok
    ? {
        fee: formatAmount(quote.feeMinor, source),
        exchange_rate: formatRate(quote.rate),
        destination_amount: formatAmount(quote.destinationMinor, destination),
        score: score(standing, { ...quote, marginBasisPoints: getRateCost(quote) }),
        detail: '',
      }
    : {
        fee: '',
        exchange_rate: '',
        destination_amount: '',
        score: null,
        detail: quote.detail,
      };
  return {
    destination_token: payer.destinationToken,
    payer_name: payer.name,
    company_name: payer.company.name,
    delivery_type: payer.deliveryType,
    destination_currency_code: code,
    network: payer.networks[code] ?? '',
    health: standing.health,
    ...priced,
    provider_price: describePrice(services, payer, {
      sourceCurrency: source.code,
      destinationCurrency: code,
      destinationMinor: quote.ok ? quote.destinationMinor : 0n,
    }),
  };
}

/** What the rate leaves out of the mid rate, in basis points of the source amount. */
function getRateCost({ costMinor, feeMinor, sourceMinor }: Quote): number {
  return Number(((costMinor - feeMinor) * 10_000n) / (sourceMinor > 0n ? sourceMinor : 1n));
}
