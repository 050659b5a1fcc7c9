import { z } from 'zod';
import { amountFaults } from '../core/amount-faults.ts';
import { formatSecondsZ } from '../core/clock.ts';
import { type Currency, findCurrency, getCurrency } from '../core/currency.ts';
import { AppError, type Fault, throwFaults } from '../core/errors.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { finishReading } from '../core/finish-reading.ts';
import { findTokenId, isUuid } from '../core/ids.ts';
import { formatAmount, parseAmount } from '../core/money.ts';
import { formatRate } from '../core/rate.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { type Answer, jsonType } from '../http/problem.ts';
import { type BaseServices, defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { amountAnswer, createWriter } from '../http/schema.ts';
import { findWallet } from '../ledger/ledger.ts';
import { accountForms, deliveryTypes } from '../rails/contract/declarations.ts';
import { findUser } from '../users/users.ts';
import type { Catalog, Company, Payer } from './catalog.ts';
import type { LookUp, PayerOffer } from './lookup.ts';
import type { CachedLookUp } from './lookup-cache.ts';

export type DestinationServices = BaseServices & {
  readonly catalog: Catalog;
  readonly lookUp: CachedLookUp;
  /** 0 to 50 tenths; undefined after too few payouts. */
  rateCompany(company: Pick<Company, 'railName' | 'key'>): number | undefined;
  /** The present mid rates; the same object until they change. */
  rates(): MidRates;
  readonly recovery: { isRecovering(): boolean };
  /** What operators have stopped for an account; undefined: nothing. */
  readonly stops: { list(accountId: string): Stops | undefined };
};

/** Why nothing can be paid to a destination now; each is a code of the obstacles too. */
const unavailableReasons = [
  'account_frozen',
  'commits_stopped',
  'sending_stopped',
  'corridor_frozen',
  'rail_frozen',
  'recovering',
] as const;
type UnavailableReason = (typeof unavailableReasons)[number];

type Stops = {
  find(payout: {
    country: string;
    deliveryType: string;
    currency: string;
    rails: readonly string[];
  }): UnavailableReason | undefined;
};

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

const lookupAnswer = z
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

const countryAnswer = z
  .object({
    country_code: z.string().describe('ISO 3166-1 alpha-3'),
    country_name: z.string(),
    code: z.string().describe('ISO 3166-1 alpha-2'),
    three_letter_code: z.string().describe('Equal to country_code'),
    name: z.string().describe('Equal to country_name'),
    currencies: z.array(z.string()),
    delivery_types: z.array(z.enum(deliveryTypes)),
  })
  .meta({ id: 'ServedCountry' });

const textQuery = z.string().max(200).optional();
const decimalQuery = textQuery.meta({ jsonSchema: { type: 'number', exclusiveMinimum: 0 } });

const lookupQuery = z.object({
  source_currency: textQuery.describe('Default USD'),
  amount: decimalQuery.describe('In the source currency; default 200'),
  limit: decimalQuery.describe('The maximum of amount and fee together, in the source currency'),
  wallet_token: textQuery.describe('The token of a balance, whose currency is the source'),
  user_token: textQuery.describe('Must exist; the answer does not depend on it'),
  destination_currency: textQuery.describe('Only payers that pay out in it'),
  delivery_type: z.enum(deliveryTypes).optional().describe('Only payers that deliver so'),
  payer_name: textQuery.describe('Only the payer of this name; case is ignored'),
  include_payer_logos: z
    .enum(['true', 'false'])
    .optional()
    .meta({ jsonSchema: { type: 'boolean', default: false } }),
});

type LookupInput = {
  params: { country_code: string };
  query: z.infer<typeof lookupQuery>;
};

export function destinationRoutes(): Route<DestinationServices>[] {
  const lookupRoute = (path: `/${string}`, cheapestOnly: boolean) =>
    defineRoute<DestinationServices, LookupInput['params'], LookupInput['query']>({
      method: 'GET',
      path,
      isVersioned: true,
      operationId: cheapestOnly ? 'findCheapestDestinations' : 'listDestinations',
      tag: 'Destinations',
      summary: cheapestOnly ? 'Find the cheapest destinations' : 'List all destinations',
      description:
        'Ordered by the cost to the sender. Rates are indicative: only a payout locks one.',
      access: 'destinations:read',
      params: z.object({
        country_code: z.string().meta({ jsonSchema: { type: 'string', pattern: '^[A-Z]{3}$' } }),
      }),
      query: lookupQuery,
      ...(cheapestOnly ? { unknownParameters: 'ignored' } : {}),
      response: lookupAnswer,
      refusals: [404],
      handle: (context, input) => answerLookup(context, input, cheapestOnly),
    });
  return [
    defineRoute({
      method: 'GET',
      path: '/country/list',
      isVersioned: true,
      operationId: 'listCountries',
      tag: 'Destinations',
      summary: 'List the served countries',
      description:
        'The countries that at least one payer serves, with currencies and delivery types.',
      access: 'destinations:read',
      response: z.array(countryAnswer),
      handle: async ({ env }) =>
        env.catalog.servedCountries().map((served) => ({
          country_code: served.country.code,
          country_name: served.country.name,
          code: served.country.alpha2,
          three_letter_code: served.country.code,
          name: served.country.name,
          currencies: served.currencies,
          delivery_types: served.deliveryTypes,
        })),
    }),
    lookupRoute('/country/{country_code}/cheapest', true),
    lookupRoute('/country/{country_code}', false),
  ];
}

async function answerLookup(
  context: RouteContext<DestinationServices>,
  { params, query }: LookupInput,
  cheapestOnly: boolean,
): Promise<Answer> {
  const { env } = context;
  if (query.user_token !== undefined) await checkUser(context, query.user_token);
  const source = await findSource(context, query);
  const faults: Fault[] = [];
  const amountMinor = readAmount('amount', query, { source, faults });
  const limitMinor = readAmount('limit', query, { source, faults });
  const { destination_currency: destinationCurrency, payer_name: payerName } = query;
  const { delivery_type: deliveryType } = query;
  if (destinationCurrency !== undefined && findCurrency(destinationCurrency) === undefined) {
    const detail = 'destination_currency must be the code of a supported currency';
    faults.push({ parameter: 'destination_currency', code: 'unknown_currency', detail });
  }
  throwFaults(faults);
  const result = env.lookUp({
    rates: env.rates(),
    countryCode: params.country_code,
    sourceCurrency: source.code,
    ...(amountMinor === undefined ? {} : { amountMinor }),
    ...(limitMinor === undefined ? {} : { limitMinor }),
    ...(destinationCurrency === undefined ? {} : { destinationCurrency }),
    ...(payerName === undefined ? {} : { payerName }),
    ...(deliveryType === undefined ? {} : { deliveryType }),
    nowMs: env.clock.nowMs(),
    cheapestOnly,
  });
  if (!result.ok) {
    if (result.reason === 'country_unknown') {
      const detail = 'country_code must be an ISO 3166-1 alpha-3 code';
      throw new AppError('invalid_request', detail, {
        faults: [{ parameter: 'country_code', code: 'unknown_country', detail }],
      });
    }
    throw new AppError('rates_unavailable', result.detail, { retryAfterSeconds: 60 });
  }
  const includesLogos = query.include_payer_logos === 'true';
  const findReason = createReasonFinder(context);
  const body = writeLookup(result, { env, includesLogos, findReason });
  await finishReading();
  return { status: 200, contentType: jsonType, body };
}

/** @throws AppError not_found if the account has no such user. */
async function checkUser(
  { env, accountId }: RouteContext<DestinationServices>,
  token: string,
): Promise<void> {
  const userId = findTokenId('user', token);
  const context = { session: env.db.tenant(accountId), keys: env.keys, accountId };
  if (userId !== undefined && (await findUser(context, userId)) !== undefined) return;
  throw new AppError('not_found', 'User not found');
}

/** The source currency: of the given balance, else as given, else USD. */
async function findSource(
  { env, accountId }: RouteContext<DestinationServices>,
  query: LookupInput['query'],
): Promise<Currency> {
  const { wallet_token: token, source_currency: code } = query;
  if (token !== undefined) {
    const session = env.db.tenant(accountId);
    const wallet = isUuid(token) ? await findWallet(session, { accountId, token }) : undefined;
    if (wallet === undefined) throw new AppError('not_found', 'Balance not found');
    if (code !== undefined && code !== wallet.currency) {
      const detail = 'source_currency must be the currency of the balance';
      throw new AppError('invalid_request', detail, {
        faults: [{ parameter: 'source_currency', code: 'currency_mismatch', detail }],
      });
    }
    return findCurrency(wallet.currency) as Currency;
  }
  const currency = findCurrency(code ?? 'USD');
  if (currency !== undefined) return currency;
  const detail = 'source_currency must be the code of a supported currency';
  throw new AppError('invalid_request', detail, {
    faults: [{ parameter: 'source_currency', code: 'unknown_currency', detail }],
  });
}

function readAmount(
  parameter: 'amount' | 'limit',
  query: LookupInput['query'],
  { source, faults }: { source: Currency; faults: Fault[] },
): bigint | undefined {
  const text = query[parameter];
  if (text === undefined) return undefined;
  const result = parseAmount(text, source);
  if (result.ok) return result.minor;
  faults.push({ parameter, ...amountFaults(parameter, result.fault, source) });
  return undefined;
}

type FindReason = (payer: Payer, currencies: readonly string[]) => UnavailableReason | undefined;

/** Undefined where nothing is stopped, so that the text of the look-up can be shared. */
function createReasonFinder({
  env,
  accountId,
}: RouteContext<DestinationServices>): FindReason | undefined {
  if (env.recovery.isRecovering()) return () => 'recovering';
  const stops = env.stops.list(accountId);
  if (stops === undefined) return undefined;
  return (payer, currencies) => {
    const reasons = currencies.map((currency) => {
      const others = payer.isDynamicToken ? env.catalog.findEquivalents(payer, currency) : [];
      const rails = [payer, ...others].map(({ railName }) => railName);
      const { country, deliveryType } = payer;
      return stops.find({ country: country.code, deliveryType, currency, rails });
    });
    // One that delivers another currency still is available.
    return reasons.includes(undefined) ? undefined : reasons[0];
  };
}

/** Ratings follow from our own payouts; the description says if there are too few. */
const notRated = 'Not rated yet: too few payouts have been measured.';

/** A plain decimal, like all numbers of the interface: 5 and not 5.0. */
export function describeRating(
  company: Pick<Company, 'description' | 'railName' | 'key'>,
  rateCompany: DestinationServices['rateCompany'],
) {
  const tenths = rateCompany(company);
  return tenths === undefined
    ? { rating: new JsonNumber('0'), description: `${company.description} ${notRated}` }
    : { rating: new JsonNumber(String(tenths / 10)), description: company.description };
}

const write = createWriter(lookupAnswer);

/** Texts by look-up, which is cached until rates or availabilities change. */
const textsWithLogos = new WeakMap<LookUp, Buffer>();
const texts = new WeakMap<LookUp, Buffer>();

function writeLookup(
  result: LookUp,
  options: {
    env: Pick<DestinationServices, 'rateCompany'>;
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
