import { z } from 'zod';
import { readDestination } from '../attributes/attributes.routes.ts';
import type { Destination } from '../attributes/attributes.ts';
import { amountFaults } from '../core/amount-faults.ts';
import { currencyPattern, findCurrencyFault, getCurrency } from '../core/currency.ts';
import { throwFaults } from '../core/errors.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { formatAmount, parseAmount, readDecimal } from '../core/money.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { amountAnswer } from '../http/schema.ts';
import { readUserToken } from '../users/users.routes.ts';
import { obstacleFields, writeObstacle } from './obstacle-view.ts';
import { type Context, type PayoutServices, userParams } from './payouts.routes.ts';
import { findReadiness, type Readiness } from './readiness.ts';

/** Whether a recipient can be paid now: the question before a quote. */

const currencyText = z.string().regex(currencyPattern, {
  error: 'must be an ISO 4217 code or a ticker, in capitals',
  abort: true,
});

const readinessQuery = z.object({
  destination_token: z.string().min(1).max(100),
  currency: currencyText.describe('What the destination pays out'),
  amount: z
    .string()
    .max(40)
    .refine((text) => readDecimal(text) !== undefined, {
      error: 'must be a decimal number',
      params: { code: 'amount_not_a_number' },
    })
    .optional()
    .meta({ jsonSchema: { type: 'number', exclusiveMinimum: 0 } })
    .describe(
      'What the recipient gets, in `currency`. Without it limits, balance and a verification above an amount are not judged',
    ),
  source_currency: currencyText
    .refine((code) => findCurrencyFault(code) === undefined, {
      error: ({ input }) => findCurrencyFault(String(input)),
    })
    .default('USD')
    .describe('The balance that pays. Default USD'),
});

const warningCodes = ['payee_no_match', 'payee_close_match'] as const;

const readinessAnswer = z
  .object({
    payable: z.boolean().describe('Whether nothing stands in the way now; it reserves nothing'),
    obstacles: z.array(
      z.object({ ...obstacleFields, detail: z.string() }).meta({ id: 'Obstacle' }),
    ),
    warnings: z
      .array(
        z
          .object({ code: z.enum(warningCodes), detail: z.string() })
          .meta({ id: 'ReadinessWarning' }),
      )
      .describe('What does not stand in the way, and a person should look at before the commit'),
    source_currency_code: z.string(),
    source_amount: amountAnswer
      .optional()
      .describe('Indicative, like fee: absent without an amount, or where there is no price'),
    fee: amountAnswer.optional(),
  })
  .meta({ id: 'Readiness' });

export function readinessRoutes(): Route<PayoutServices>[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/user/{user_token}/readiness',
      isVersioned: true,
      operationId: 'getReadiness',
      tag: 'Payouts',
      summary: 'Ask whether a recipient can be paid now',
      description:
        'Judges as a quote and a commit would, and lists every obstacle: state of the recipient, attributes, identity, limits, balance, rail. The link of a verification is given to credentials with `kyc:write` only.',
      access: 'payouts:read',
      params: userParams,
      query: readinessQuery,
      response: readinessAnswer,
      refusals: [404],
      handle: async (context: Context, { params, query }) => {
        const { env, accountId, principal, request } = context;
        const userId = readUserToken(params.user_token);
        const destination = readDestination(env, query);
        const mayUpload = principal.scopes.has('kyc:write');
        const { baseUrl } = request;
        const readiness = await findReadiness(
          {
            keys: env.keys,
            rails: env.rails,
            rates: env.rates,
            today: new Date(env.clock.nowMs()).toISOString().slice(0, 10),
            isRecovering: env.recovery.isRecovering(),
            isRailDown: (to) => isRailDown(env, to),
            railsOf: (to) => listRails(env, to),
            createIdentityLink: async () =>
              mayUpload ? env.createVerificationLink({ accountId, userId, baseUrl }) : '',
          },
          { session: env.db.tenant(accountId), accountId },
          {
            userId,
            destination,
            sourceCurrency: query.source_currency,
            amountMinor: readAmount(query),
          },
        );
        return writeReadiness(readiness, query.source_currency);
      },
    }),
  ];
}

/** @throws AppError invalid_request. */
function readAmount(query: z.infer<typeof readinessQuery>): bigint | undefined {
  if (query.amount === undefined) return undefined;
  const currency = getCurrency(query.currency);
  const amount = parseAmount(query.amount, currency);
  if (amount.ok) return amount.minor;
  throwFaults([{ parameter: 'amount', ...amountFaults('amount', amount.fault, currency) }]);
  return undefined;
}

/** A dynamic destination fails over to another payer, whose rail may be up. */
function listRails(env: PayoutServices, { payer, currency }: Destination): string[] {
  const others = payer.isDynamicToken ? env.catalog.findEquivalents(payer, currency) : [];
  return [payer, ...others].map(({ railName }) => railName);
}

function isRailDown(env: PayoutServices, destination: Destination): boolean {
  return listRails(env, destination).every((rail) => env.dispatcher.healthOf(rail) === 'down');
}

function writeReadiness({ obstacles, warnings, quote }: Readiness, sourceCurrency: string) {
  const source = getCurrency(sourceCurrency);
  const amount = (minor: bigint | undefined) =>
    minor === undefined ? undefined : new JsonNumber(formatAmount(minor, source));
  return {
    payable: obstacles.length === 0,
    obstacles: obstacles.map((obstacle) => ({
      ...writeObstacle(obstacle),
      detail: obstacle.detail,
    })),
    warnings,
    source_currency_code: sourceCurrency,
    source_amount: amount(quote?.sourceMinor),
    fee: amount(quote?.feeMinor),
  };
}
