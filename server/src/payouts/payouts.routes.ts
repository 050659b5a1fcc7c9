import { z } from 'zod';
import type { AttributeServices } from '../attributes/attributes.routes.ts';
import { currencyPattern, findCurrency } from '../core/currency.ts';
import { AppError, type Fault } from '../core/errors.ts';
import type { ExactJson } from '../core/exact-json.ts';
import { findTokenId } from '../core/ids.ts';
import { hashMetadata, metadataField } from '../http/metadata.ts';
import { defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { decimalField, requireField, textField } from '../http/schema.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { readUserToken } from '../users/users.routes.ts';
import { findCommitFacts, type PayoutId } from './commit-refusal.sql.ts';
import { describeRefusal } from './commit-refusal.ts';
import { type GroupCommit, type GroupQuote, KeyKnown, openGroupStore } from './group-commit.ts';
import { obstacleFields, writeObstacle } from './obstacle-view.ts';
import type { Obstacle } from './obstacles.ts';
import { findNetwork, payoutAnswer, writePayout } from './payout-view.ts';
import type { PayoutRow } from './payouts.sql.ts';
import {
  type CommitAnswer,
  commitPayout,
  createPayout,
  openQuoteStore,
  type PayoutRequest,
  type QuoteStore,
} from './payouts.ts';
import {
  describeRefusedRecipient,
  listPayoutFaults,
  type RefusedRecipient,
} from './recipient-check.ts';

export type PayoutServices = AttributeServices & {
  readonly rails: readonly Rail[];
  readonly lockSeconds: { national: number; crypto: number };
  readonly dispatcher: {
    runOne(accountId: string, payoutId: string): Promise<unknown>;
    healthOf(railName: string): 'up' | 'degraded' | 'down';
  };
  readonly groupCommit: GroupCommit;
  readonly groupQuote: GroupQuote;
  /** Refuses commits while a recovery is open. */
  readonly recovery: { refuse(): void; isRecovering(): boolean };
  /** Makes the dispatcher claim due payouts now. */
  wakeDispatch(): void;
};

export type Context = RouteContext<PayoutServices>;

const tokenText = z.string().max(100).optional();

const currencyField = z
  .string()
  .regex(currencyPattern, { error: 'must be an ISO 4217 code or a ticker' })
  .refine((code) => findCurrency(code) !== undefined, {
    error: 'is not a currency that is known here',
    params: { code: 'unknown_currency' },
  });

/** The fields of a request; a row of a batch has the same. */
export const payoutFields = {
  client_transfer_id: textField(50)
    .min(1)
    .refine((id) => id.trim() === id, { error: 'must not begin or end with a space' })
    .optional()
    .describe('Your own identifier; committed once, for ever. Made up when absent'),
  source_currency_code: currencyField.optional().describe('Default USD'),
  destination_currency_code: currencyField,
  source_token: tokenText.describe('A balance; excludes destination_token'),
  destination_token: tokenText.describe('From the country look-up; excludes source_token'),
  source_amount: decimalField.optional().describe('What leaves the balance, before the fee'),
  destination_amount: decimalField.optional().describe('What the recipient gets'),
  attr_set_token: tokenText.describe('The attribute values to use; the latest ones without it'),
  metadata: metadataField.optional().describe('Yours; lists can be searched by it'),
  notify_user: z.boolean().optional().describe('Whether the user gets a message'),
};

const payoutRequest = z.object(payoutFields).meta({
  id: 'PayoutRequest',
  allOf: [
    {
      oneOf: [
        requireField('source_amount', 'number'),
        requireField('destination_amount', 'number'),
      ],
    },
    {
      anyOf: [requireField('source_token', 'string'), requireField('destination_token', 'string')],
    },
  ],
});

/** Faults of fields that exclude or require each other. */
function findExclusionFaults(_env: PayoutServices, json: ExactJson): Fault[] {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return [];
  const fields = json as { [key: string]: ExactJson };
  const faults = findAmountFaults(fields);
  if (!isGiven(fields['source_token']) && !isGiven(fields['destination_token'])) {
    const detail = 'destination_token or source_token is required';
    faults.push({ pointer: '/destination_token', code: 'required', detail });
  }
  return faults;
}

export function isGiven(value: ExactJson | undefined): boolean {
  return value !== undefined && value !== '';
}

/** Exactly one of the two amounts must be given. */
export function findAmountFaults(fields: { readonly [name: string]: ExactJson }): Fault[] {
  const [hasSource, hasDestination] = [fields['source_amount'], fields['destination_amount']].map(
    isGiven,
  );
  if (hasSource !== hasDestination) return [];
  if (hasSource) {
    const detail = 'destination_amount excludes source_amount: give exactly one';
    return [{ pointer: '/destination_amount', code: 'amounts_exclusive', detail }];
  }
  const detail = 'source_amount or destination_amount is required';
  return [{ pointer: '/source_amount', code: 'required', detail }];
}

const commitAnswer = z
  .object({
    payout_token: z.string(),
    status: z.enum(['success', 'failure', 'addtl_attr_req', 'ex_rate_expired']),
    pickup_code: z.string(),
    errors: z.string(),
    ...z.object(obstacleFields).partial().shape,
  })
  .meta({ id: 'CommitResult' });

function writeCommit(
  payoutToken: string,
  answer: Pick<CommitAnswer, 'status' | 'pickupCode' | 'errors'>,
  obstacle?: Obstacle,
): z.infer<typeof commitAnswer> {
  return {
    payout_token: payoutToken,
    status: answer.status,
    pickup_code: answer.pickupCode,
    errors: answer.errors,
    ...(obstacle !== undefined && writeObstacle(obstacle)),
  };
}

export const userParams = z.object({ user_token: z.string() });
export const payoutParams = z.object({ user_token: z.string(), payout_token: z.string() });
export function payoutRoutes(): Route<PayoutServices>[] {
  return [createRoute(), commitRoute()];
}

function createRoute(): Route<PayoutServices> {
  return defineRoute({
    method: 'POST',
    path: '/payout/{user_token}',
    isVersioned: true,
    operationId: 'createPayout',
    tag: 'Payouts',
    summary: 'Create a payout',
    description:
      'Locks a rate until `expiration` and reserves nothing: the payout is PENDING until it is committed.',
    access: 'payouts:create',
    params: userParams,
    body: payoutRequest,
    findFaults: findExclusionFaults,
    response: payoutAnswer,
    refusals: [404, 409],
    handle: ({ env, accountId, write }: Context, { params, body }) => {
      const userId = readUserToken(params.user_token);
      const request = readPayoutRequest(body);
      const services = { ...env, rates: env.rates, nowMs: env.clock.nowMs() };
      const create = (store: QuoteStore) =>
        createPayout(services, { store, accountId, userId }, request);
      const view = (row: PayoutRow) =>
        writePayout(row, { keys: env.keys, payerLogo: '', network: findNetwork(env.rails, row) });
      return write(async (session) => view(await create(openQuoteStore(session))), {
        aboutUser: userId,
        tryGrouped: async (answering) => {
          const answer = answering.prepare(view, (row) => ({ userId, dataKey: row.data_key }));
          try {
            return answer.toContent(await create(openGroupStore(env.groupQuote, answer.keyed)));
          } catch (error) {
            if (error instanceof KeyKnown) return undefined;
            throw error;
          }
        },
      });
    },
  });
}

function readPayoutRequest(body: z.infer<typeof payoutRequest>): PayoutRequest {
  const token = (text: string | undefined): string | undefined => (text === '' ? undefined : text);
  return {
    clientTransferId: body.client_transfer_id,
    sourceToken: token(body.source_token),
    sourceCurrency: body.source_currency_code,
    destinationToken: token(body.destination_token),
    destinationCurrency: body.destination_currency_code,
    sourceAmount: body.source_amount?.text,
    destinationAmount: body.destination_amount?.text,
    attrSetToken: token(body.attr_set_token),
    notifyUser: body.notify_user ?? false,
    metadata: JSON.stringify(body.metadata ?? {}),
    metadataHashes: hashMetadata(body.metadata ?? {}),
  };
}

function commitRoute(): Route<PayoutServices> {
  return defineRoute({
    method: 'PUT',
    path: '/payout/{user_token}/{payout_token}',
    isVersioned: true,
    operationId: 'commitPayout',
    tag: 'Payouts',
    summary: 'Commit a payout',
    description:
      'Starts the transfer, which cannot be undone. Answers 200 with the outcome in `status`. Committing a committed payout answers the same success again and moves nothing. An answer other than `success` has `code`, `actor`, `retryable`, `missing` and, where the balance is too low, `shortfall`.',
    access: 'payouts:commit',
    params: payoutParams,
    response: commitAnswer,
    refusals: [404],
    handle: async (context: Context, { params }) => {
      const { env, accountId } = context;
      const userId = readUserToken(params.user_token);
      const payoutId = readPayoutToken(params.payout_token);
      const payout = { accountId, userId, payoutId };
      env.recovery.refuse();
      const today = new Date(env.clock.nowMs()).toISOString().slice(0, 10);
      let identityLink = '';
      const answer = await context.write(
        async (session) => {
          const refused = await listPayoutFaults(env, session, payout);
          if (refused !== undefined) return refuseRecipient(params.payout_token, refused);
          const result = await commitPayout({ session, accountId, userId }, payoutId);
          if (result.status === 'success') return writeCommit(params.payout_token, result);
          const describing = { keys: env.keys, today, identityLink };
          const refusal = { ...result, payout };
          const obstacle = await describeRefusal(describing, session, refusal);
          return writeCommit(params.payout_token, result, obstacle);
        },
        {
          isOneEffect: true,
          aboutUser: userId,
          tryGrouped: async ({ requestKey }) => {
            const session = env.db.tenant(accountId);
            if ((await listPayoutFaults(env, session, payout)) !== undefined) return undefined;
            const text = await env.groupCommit.submit({ ...payout, requestKey });
            if (text !== undefined) return { text };
            // Before the transaction of the refusal, because it may start a verification session.
            identityLink = await createIdentityLink(context, payout);
            return undefined;
          },
        },
      );
      env.wakeDispatch();
      return answer;
    },
  });
}

/** The client can complete the recipient's data and commit again. */
function refuseRecipient(payoutToken: string, refused: RefusedRecipient) {
  const errors = refused.faults.map(({ field, detail }) => `${field}: ${detail}`).join('; ');
  const [obstacle] = describeRefusedRecipient(refused);
  return writeCommit(payoutToken, { status: 'addtl_attr_req', pickupCode: '', errors }, obstacle);
}

/** Where the recipient can be verified, if the commit needs that and the client may know; else "". */
async function createIdentityLink(context: Context, payout: PayoutId): Promise<string> {
  const { env, accountId, principal, request } = context;
  if (!principal.scopes.has('kyc:write')) return '';
  const facts = await findCommitFacts(env.db.tenant(accountId), payout);
  if (facts?.lacks_verification !== true) return '';
  return env.createVerificationLink({ ...payout, baseUrl: request.baseUrl });
}

/** @throws AppError not_found, also for a malformed token. */
export function readPayoutToken(token: string): string {
  const id = findTokenId('payout', token);
  if (id === undefined) throw new AppError('not_found', 'payout not found');
  return id;
}
