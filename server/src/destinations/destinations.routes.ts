import { z } from 'zod';
import { amountFaults } from '../core/amount-faults.ts';
import { findCountry } from '../core/country.ts';
import { type Currency, findCurrencyFault, getCurrency } from '../core/currency.ts';
import { AppError, assert, type Fault, throwFaults } from '../core/errors.ts';
import { finishReading } from '../core/finish-reading.ts';
import { findTokenId, isUuid } from '../core/ids.ts';
import { type AmountFault, parseAmount } from '../core/money.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { type Answer, jsonType } from '../http/problem.ts';
import { type BaseServices, defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { findWallet } from '../ledger/ledger.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';
import { findUser } from '../users/users.ts';
import type { Catalog } from './catalog.ts';
import type { CachedLookUp } from './lookup-cache.ts';
import {
  type FindReason,
  lookupAnswer,
  type RateCompany,
  type UnavailableReason,
  writeLookup,
} from './lookup-view.ts';

export type DestinationServices = BaseServices & {
  readonly catalog: Catalog;
  readonly lookUp: CachedLookUp;
  readonly rateCompany: RateCompany;
  /** The present mid rates; the same object until they change. */
  rates(): MidRates;
  readonly recovery: { isRecovering(): boolean };
  /** What operators have stopped for an account; undefined: nothing. */
  readonly stops: { list(accountId: string): Stops | undefined };
};

type Stops = {
  find(payout: {
    country: string;
    deliveryType: string;
    currency: string;
    rails: readonly string[];
  }): UnavailableReason | undefined;
};

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
  const faults: Fault[] = [];
  if (findCountry(params.country_code) === undefined) {
    const detail = 'country_code must be an ISO 3166-1 alpha-3 code';
    faults.push({ parameter: 'country_code', code: 'unknown_country', detail });
  }
  const source = await findSource(context, query, faults);
  const amountMinor = readAmount('amount', query, { source, faults });
  const limitMinor = readAmount('limit', query, { source, faults });
  const { destination_currency: destinationCurrency, payer_name: payerName } = query;
  const { delivery_type: deliveryType } = query;
  const currencyFault = destinationCurrency && findCurrencyFault(destinationCurrency);
  if (currencyFault !== undefined) {
    const detail = `destination_currency ${currencyFault}`;
    faults.push({ parameter: 'destination_currency', code: 'unknown_currency', detail });
  }
  throwFaults(faults);
  assert(source !== undefined, 'a look-up without faults has a source currency');
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

/** The source currency: of the given balance, else as given, else USD; undefined with a fault. */
async function findSource(
  { env, accountId }: RouteContext<DestinationServices>,
  query: LookupInput['query'],
  faults: Fault[],
): Promise<Currency | undefined> {
  const { wallet_token: token, source_currency: code } = query;
  if (token !== undefined) {
    const session = env.db.tenant(accountId);
    const wallet = isUuid(token) ? await findWallet(session, { accountId, token }) : undefined;
    if (wallet === undefined) throw new AppError('not_found', 'Balance not found');
    if (code !== undefined && code !== wallet.currency) {
      const detail = 'source_currency must be the currency of the balance';
      faults.push({ parameter: 'source_currency', code: 'currency_mismatch', detail });
    }
    return getCurrency(wallet.currency);
  }
  const fault = code === undefined ? undefined : findCurrencyFault(code);
  if (fault === undefined) return code === undefined ? defaultCurrency : getCurrency(code);
  const detail = `source_currency ${fault}`;
  faults.push({ parameter: 'source_currency', code: 'unknown_currency', detail });
  return undefined;
}

function readAmount(
  parameter: 'amount' | 'limit',
  query: LookupInput['query'],
  { source, faults }: { source: Currency | undefined; faults: Fault[] },
): bigint | undefined {
  const text = query[parameter];
  if (text === undefined) return undefined;
  const currency = source ?? defaultCurrency;
  const result = parseAmount(text, currency);
  if (result.ok) return result.minor;
  // How precise and how large it may be depends on the currency.
  if (source === undefined && !currencyFreeFaults.includes(result.fault)) return undefined;
  faults.push({ parameter, ...amountFaults(parameter, result.fault, currency) });
  return undefined;
}

const defaultCurrency = getCurrency('USD');
const currencyFreeFaults: readonly AmountFault[] = ['amount_not_a_number', 'amount_not_positive'];

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
