import {
  type AnswerOf,
  type ArgumentsOf,
  type Client,
  type Decimal,
  decimal,
} from '../../../sdk/src/index.ts';
import { defineCommand } from '../command.ts';
import type { Output } from '../output.ts';
import { formatTable } from '../table.ts';
import { formatArrival, formatCode, formatMoney, formatTime, readAmount } from '../values.ts';

/** A way to reach recipients of a country, with what it costs for an amount. */
export type Offer = {
  readonly delivery_type: string;
  readonly payer_name: string;
  readonly company_name: string;
  readonly rating: Decimal;
  readonly destination_token: string;
  readonly currency_code: string;
  /** The chain of a cryptocurrency; "" for other currencies. */
  readonly network: string;
  readonly source_amount: Decimal;
  readonly fee: Decimal;
  readonly total_debit: Decimal;
  readonly exchange_rate: Decimal;
  readonly destination_amount: Decimal;
  readonly min_limit: Decimal;
  readonly max_limit: Decimal;
  readonly estimated_availability: string;
  readonly available: boolean;
  readonly unavailable_reason: string;
  readonly additional_description: string;
};

export type OfferQuery = Partial<ArgumentsOf<'findCheapestDestinations'>> & {
  country_code: string;
};

type Lookup = AnswerOf<'findCheapestDestinations'>;

/** The cheapest payers, cheapest first within a delivery type; with `isWhole` all payers. */
export async function listOffers(
  client: Client,
  query: OfferQuery,
  { signal, isWhole = false }: { signal: AbortSignal; isWhole?: boolean },
): Promise<Offer[]> {
  const answer = isWhole
    ? await client.listDestinations(query, { signal })
    : await client.findCheapestDestinations(query, { signal });
  const offers = flatten(answer);
  // `toSorted` came with Node 20.
  // oxlint-disable-next-line unicorn/no-array-sort
  return offers.sort(
    (one, other) =>
      one.delivery_type.localeCompare(other.delivery_type) ||
      one.currency_code.localeCompare(other.currency_code) ||
      comparePrices(one, other),
  );
}

/**
 * What must be sent, without the fee, so that about `receive` arrives: look-ups take the amount that is sent,
 * and which payer is the cheapest depends on it. Undefined where no payer serves the query.
 */
export async function estimateAmount(
  client: Client,
  query: OfferQuery & { source_currency: string },
  { receive, type, signal }: { receive: Decimal; type: string | undefined; signal: AbortSignal },
): Promise<Decimal | undefined> {
  const offers = await listOffers(client, query, { signal });
  const [offer] = offers.filter(
    ({ delivery_type }) => type === undefined || delivery_type === type,
  );
  if (offer === undefined || scale(offer.exchange_rate) === 0n) return undefined;
  const digits = countFractionDigits(query.source_currency);
  const unit = 10n ** BigInt(fractionDigits - digits);
  const scaled = (scale(receive) * 10n ** BigInt(fractionDigits)) / scale(offer.exchange_rate);
  const minor = scaled / unit + (scaled % unit === 0n ? 0n : 1n);
  const text = minor.toString().padStart(digits + 1, '0');
  const whole = text.slice(0, text.length - digits);
  return decimal(digits === 0 ? whole : `${whole}.${text.slice(-digits)}`);
}

/** Of docs/interface.md, Money. */
const cryptoDigits: Readonly<Record<string, number>> = { BTC: 8, LTC: 8, ETH: 9, USDC: 6 };

function countFractionDigits(currency: string): number {
  const known = cryptoDigits[currency];
  // The service rejects a code that is not a currency.
  if (known !== undefined || !/^[A-Z]{3}$/.test(currency)) return known ?? 0;
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  return format.resolvedOptions().maximumFractionDigits ?? 0;
}

/** By what one unit that arrives costs with fee and margin: total_debit / destination_amount. */
function comparePrices(one: Offer, other: Offer): number {
  const left = scale(one.total_debit) * scale(other.destination_amount);
  const right = scale(other.total_debit) * scale(one.destination_amount);
  return left < right ? -1 : Number(left > right);
}

/** More than any currency or rate has. */
const fractionDigits = 24;

function scale({ text }: Decimal): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(fractionDigits, '0'));
}

function flatten({ companies }: Lookup): Offer[] {
  return companies.flatMap(({ company_name, rating, services }) =>
    services.flatMap(({ delivery_type, payers }) =>
      payers.flatMap(({ exchange_rate: rates, ...payer }) =>
        rates.map(({ currency_symbol: currency_code, network, ...rate }) => {
          const { exchange_rate, destination_amount } = rate;
          const { payer_logo: _logo, is_dynamic_token: _dynamic, ...terms } = payer;
          return {
            delivery_type,
            company_name,
            rating,
            currency_code,
            network,
            exchange_rate,
            destination_amount,
            ...terms,
          };
        }),
      ),
    ),
  );
}

/** Of the company; 0 means that too few of its payouts have been measured. */
export function formatRating({ rating }: Offer): string {
  return rating.text === '0' ? 'none yet' : rating.text;
}

/** When the money arrives, or what the operator has stopped. */
function formatAvailability(offer: Offer): string {
  if (offer.available) return formatTime(offer.estimated_availability);
  return `stopped: ${formatCode(offer.unavailable_reason)}`;
}

function formatOffers(output: Output, offers: readonly Offer[], source: string): string {
  return formatTable(output, offers, {
    columns: [
      { title: 'delivery', read: ({ delivery_type }) => formatCode(delivery_type) },
      { title: 'payer', read: ({ payer_name }) => payer_name },
      { title: 'fee', isRight: true, read: ({ fee }) => formatMoney(fee, source) },
      {
        title: 'costs',
        isRight: true,
        read: ({ total_debit }) => formatMoney(total_debit, source),
      },
      {
        title: 'arrives',
        isRight: true,
        read: ({ destination_amount, currency_code, network }) =>
          formatArrival(destination_amount, { currency: currency_code, network }),
      },
      { title: 'by', read: formatAvailability },
      { title: 'rating', read: formatRating },
      { title: 'token', read: ({ destination_token }) => destination_token },
    ],
    empty: 'No payer serves this country, currency and amount.',
  });
}

export const destinationCommands = [
  defineCommand({
    name: 'destinations',
    about: 'compare the ways to reach recipients of a country: cost, what arrives, when, rating',
    words: ['country'],
    options: {
      amount: { value: 'amount', about: 'to send (200)' },
      from: { value: 'code', about: 'currency of the balance that pays (USD)' },
      currency: { value: 'code', about: 'only what arrives in this currency' },
      by: {
        value: 'type',
        about: 'only this delivery type, such as BANK_DEPOSIT or MOBILE_WALLET',
      },
      all: { about: 'all payers, not only the cheapest for each delivery type' },
    },
    examples: [
      'destinations MEX',
      'destinations MEX --amount 500 --from EUR --currency MXN --by BANK_DEPOSIT',
    ],
    next: 'pay --to <recipient> --destination <token> --currency MXN --amount 200',
    run: async (
      { connect, output, signal },
      { country, amount, from = 'USD', currency, by, all },
    ) => {
      const query = {
        country_code: country.toUpperCase(),
        source_currency: from,
        amount: amount === undefined ? undefined : readAmount(amount, '--amount'),
        destination_currency: currency,
      };
      const offers = await listOffers(connect(), query, { signal, isWhole: all });
      const shown = offers.filter(
        ({ delivery_type }) => by === undefined || delivery_type === by.toUpperCase(),
      );
      output.result(shown, () => formatOffers(output, shown, from));
      output.next('outlay pay');
    },
  }),
];
