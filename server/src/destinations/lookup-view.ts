import { z } from 'zod';
import { formatSecondsZ } from '../core/clock.ts';
import { getCurrency } from '../core/currency.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { formatAmount } from '../core/money.ts';
import { formatRate } from '../core/rate.ts';
import { amountAnswer, createWriter } from '../http/schema.ts';
import { accountForms, deliveryTypes } from '../rails/contract/declarations.ts';
import type { Company, Payer } from './catalog.ts';
import type { LookUp, PayerOffer } from './lookup.ts';

/** A look-up as an answer of the API. */

/** 0 to 50 tenths; undefined after too few payouts. */
export type RateCompany = (company: Pick<Company, 'railName' | 'key'>) => number | undefined;

/** Why nothing can be paid to a destination now; each is a code of the obstacles too. */
const unavailableReasons = [
  'account_frozen',
  'commits_stopped',
  'sending_stopped',
  'corridor_frozen',
  'rail_frozen',
  'recovering',
] as const;
export type UnavailableReason = (typeof unavailableReasons)[number];

export type FindReason = (
  payer: Payer,
  currencies: readonly string[],
) => UnavailableReason | undefined;

const payerAnswer = z.object({
  destination_token: z.string(),
  payer_name: z.string(),
  payer_logo: z.string().describe('Base64 PNG; "" unless include_payer_logos is true'),
  exchange_rate: z.array(
    z.object({
      currency_symbol: z.string(),
      network: z
        .string()
        .describe(
          'The chain on which this payer pays a cryptocurrency, such as ethereum or polygon: what is ' +
            'sent on another chain is lost. "" for other currencies, and where the payer decides',
        ),
      exchange_rate: amountAnswer.describe(
        'Units of this currency for one unit of the source currency, margin included',
      ),
      mid_rate: amountAnswer.describe('The market rate from which exchange_rate is taken'),
      destination_amount: amountAnswer.describe(
        'What would arrive in this currency for source_amount at this rate, rounded down',
      ),
    }),
  ),
  fee: amountAnswer.describe('In the source currency, in addition to the amount'),
  min_limit: amountAnswer.describe('In the source currency, inclusive; 0 means no limit'),
  max_limit: amountAnswer.describe('In the source currency, inclusive; 0 means no limit'),
  source_amount: amountAnswer.describe('The amount that is asked about, before the fee'),
  total_debit: amountAnswer.describe(
    'What a payout of this amount would take from the balance: source_amount and fee',
  ),
  number_of_locations: z.int(),
  estimated_availability: z.string().describe('RFC 3339, UTC'),
  additional_description: z.string(),
  is_dynamic_token: z.boolean(),
  account_form: z
    .enum(['', ...accountForms])
    .describe(
      'What identifies the recipient: `stored_card`, the token of a card at the payment provider; `provider_account`, ' +
        'the ID of an account there; "", what the delivery type usually asks for',
    ),
  available: z
    .boolean()
    .describe('False while the operator has stopped payouts to it; rates and fees hold anyway'),
  unavailable_reason: z
    .enum(['', ...unavailableReasons])
    .describe(
      'With `account_frozen`, `commits_stopped` and `recovering` commits are refused; with the others payouts wait',
    ),
});

export const lookupAnswer = z
  .object({
    companies: z.array(
      z.object({
        company_name: z.string(),
        company_logo: z.string(),
        rating: amountAnswer.describe('0 to 5'),
        description: z.string(),
        services: z.array(
          z.object({
            country_code: z.string(),
            delivery_type: z.enum(deliveryTypes),
            payers: z.array(payerAnswer),
          }),
        ),
      }),
    ),
  })
  .meta({ id: 'CountryLookup' });

/** Ratings follow from our own payouts; the description says if there are too few. */
const notRated = 'Not rated yet: too few payouts have been measured.';

/** A plain decimal, like all numbers of the interface: 5 and not 5.0. */
export function describeRating(
  company: Pick<Company, 'description' | 'railName' | 'key'>,
  rateCompany: RateCompany,
) {
  const tenths = rateCompany(company);
  return tenths === undefined
    ? { rating: new JsonNumber('0'), description: `${company.description} ${notRated}`.trimStart() }
    : { rating: new JsonNumber(String(tenths / 10)), description: company.description };
}

const write = createWriter(lookupAnswer);

/** Texts by look-up, which is cached until rates or availabilities change. */
const textsWithLogos = new WeakMap<LookUp, Buffer>();
const texts = new WeakMap<LookUp, Buffer>();

export function writeLookup(
  result: LookUp,
  options: {
    env: { rateCompany: RateCompany };
    includesLogos: boolean;
    findReason: FindReason | undefined;
  },
): Buffer {
  const { env, includesLogos, findReason } = options;
  const kept = includesLogos ? textsWithLogos : texts;
  const known = findReason === undefined ? kept.get(result) : undefined;
  if (known !== undefined) return known;
  const { source } = result;
  const amount = (minor: bigint): JsonNumber => new JsonNumber(formatAmount(minor, source));
  const text = write({
    companies: result.companies.map(({ company, services }) => ({
      company_name: company.name,
      company_logo: includesLogos ? company.logo : '',
      ...describeRating(company, env.rateCompany),
      services: services.map((service) => ({
        country_code: service.countryCode,
        delivery_type: service.deliveryType,
        payers: service.payers.map((offer) => ({
          destination_token: offer.payer.destinationToken,
          payer_name: offer.payer.name,
          payer_logo: includesLogos ? offer.payer.logo : '',
          exchange_rate: offer.currencies.map(({ code, rate, midRate, destinationMinor }) => ({
            currency_symbol: code,
            network: offer.payer.networks[code] ?? '',
            exchange_rate: new JsonNumber(formatRate(rate)),
            mid_rate: new JsonNumber(formatRate(midRate)),
            destination_amount: new JsonNumber(formatAmount(destinationMinor, getCurrency(code))),
          })),
          fee: amount(offer.feeMinor),
          min_limit: amount(offer.minLimitMinor),
          max_limit: amount(offer.maxLimitMinor),
          source_amount: amount(offer.sourceMinor),
          total_debit: amount(offer.sourceMinor + offer.feeMinor),
          number_of_locations: offer.payer.numberOfLocations,
          estimated_availability: formatSecondsZ(new Date(offer.availableAtMs)),
          additional_description: offer.payer.additionalDescription,
          is_dynamic_token: offer.payer.isDynamicToken,
          account_form: offer.payer.accountForm ?? '',
          ...describeAvailability(offer, findReason),
        })),
      })),
    })),
  });
  // As bytes, so that the text is not encoded again for every answer.
  const bytes = Buffer.from(text);
  if (findReason === undefined) kept.set(result, bytes);
  return bytes;
}

function describeAvailability(
  { payer, currencies }: PayerOffer,
  findReason: FindReason | undefined,
): { available: boolean; unavailable_reason: '' | UnavailableReason } {
  const codes = currencies.map(({ code }) => code);
  const reason = findReason?.(payer, codes) ?? '';
  return { available: reason === '', unavailable_reason: reason };
}
