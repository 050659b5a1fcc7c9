import { z } from 'zod';
import type { AttributeServices } from '../attributes/attributes.routes.ts';
import { currencyPattern, findCurrency } from '../core/currency.ts';
import { AppError, type Fault } from '../core/errors.ts';
import type { ExactJson } from '../core/exact-json.ts';
import { findTokenId, formatToken } from '../core/ids.ts';
import { hashMetadata } from '../core/metadata-hashes.ts';
import { openPickupCode } from '../core/pickup-code.ts';
import type { Session } from '../db/postgres/pool.ts';
import { metadataField } from '../http/metadata.ts';
import { defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { decimalField, isRealDate, requireField, textField } from '../http/schema.ts';
import type { CheckpointServices } from '../ledger/checkpoints.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { storeTraceContext } from '../tracing/trace-contexts.ts';
import { findRecorded } from '../tracing/tracing.ts';
import { readUserToken } from '../users/users.routes.ts';
import { findCommitFacts, type PayoutId } from './commit-refusal.sql.ts';
import { describeRefusal } from './commit-refusal.ts';
import { dryRun, type SendingPreview, viewPostings, writePreview } from './dry-run-view.ts';
import { type GroupCommit, type GroupQuote, KeyKnown, openGroupStore } from './group-commit.ts';
import { obstacleFields, writeObstacle } from './obstacle-view.ts';
import type { Obstacle } from './obstacles.ts';
import type { PayoutName } from './payout-name.ts';
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
  readonly scheduleDays: number;
  readonly dispatcher: {
    runOne(accountId: string, payoutId: string): Promise<unknown>;
    healthOf(railName: string): 'up' | 'degraded' | 'down';
  };
  readonly groupCommit: GroupCommit;
  readonly groupQuote: GroupQuote;
  /** Refuses commits while a recovery is open. */
  readonly recovery: { refuse(): void; isRecovering(): boolean };
  /** What signs the chains of hashes. */
  readonly chain: CheckpointServices;
  /** How a payout would be sent, for a transaction that is rolled back. */
  previewSending(session: Session, payout: PayoutName): Promise<SendingPreview>;
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

const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** A date, or a time in RFC 3339 with its offset. */
function isScheduleTime(text: string): boolean {
  if (!isRealDate(text.slice(0, 10))) return false;
  return text.length === 10 || (timePattern.test(text) && !Number.isNaN(Date.parse(text)));
}

/** The fields of a payout for a later time. */
export const scheduleFields = {
  scheduled_for: z
    .string()
    .refine(isScheduleTime, {
      error: 'must be a date, YYYY-MM-DD, or a time in RFC 3339 with its offset',
    })
    .optional()
    .describe(
      'When it is to run: RFC 3339 with an offset, or a date, which means the opening of that day ' +
        'at the destination. The answer shows in `runs_at` when it will. At most 365 days ahead',
    ),
  max_source_amount: decimalField
    .optional()
    .describe('With scheduled_for and destination_amount: it does not run at a price above'),
  min_destination_amount: decimalField
    .optional()
    .describe('With scheduled_for and source_amount: it does not run at a price below'),
};

const payoutRequest = z.object({ ...payoutFields, ...scheduleFields }).meta({
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
  const faults = [...findAmountFaults(fields), ...findBoundFaults(fields)];
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

/** A bound is for the amount that is not given, of a payout that is priced later. */
function findBoundFaults(fields: { readonly [name: string]: ExactJson }): Fault[] {
  const given = ['max_source_amount', 'min_destination_amount'].filter((name) =>
    isGiven(fields[name]),
  );
  const faults = given.flatMap((name): Fault[] => {
    const amount = name.slice(4);
    if (!isGiven(fields[amount])) return [];
    const detail = `${name} excludes ${amount}, which stays as given`;
    return [{ pointer: `/${name}`, code: 'amounts_exclusive', detail }];
  });
  if (given.length === 0 || isGiven(fields['scheduled_for'])) return faults;
  const detail = `scheduled_for is required with ${given.join(' and ')}`;
  return [...faults, { pointer: '/scheduled_for', code: 'required', detail }];
}

const commitFields = {
  payout_token: z.string(),
  status: z.enum(['success', 'failure', 'addtl_attr_req', 'ex_rate_expired']),
  pickup_code: z.string(),
  errors: z.string(),
  ...z.object(obstacleFields).partial().shape,
};
const dryCommitAnswer = z.object(commitFields).meta({ id: 'DryCommitResult' });
const commitAnswer = z
  .object({ ...commitFields, dry_run: dryRun.optional().describe('Of a dry run only') })
  .meta({ id: 'CommitResult' });

const createAnswer = z
  .object({
    ...payoutAnswer.shape,
    dry_run: dryRun
      .extend({ commit: dryCommitAnswer.describe('What its commit would answer now') })
      .meta({ id: 'QuoteDryRun' })
      .optional()
      .describe('Of a dry run only'),
  })
  .meta({ id: 'CreatedPayout' });

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
      'Locks a rate until `expiration` and reserves nothing: the payout is PENDING until it is committed. With `scheduled_for` the rate is indicative: it is priced when it runs.',
    access: 'payouts:create',
    params: userParams,
    body: payoutRequest,
    findFaults: findExclusionFaults,
    hasDryRun: true,
    response: createAnswer,
    refusals: [404, 409],
    handle: (context: Context, { params, body }) => {
      const { env, accountId, write } = context;
      const userId = readUserToken(params.user_token);
      const request = readPayoutRequest(body);
      const services = { ...env, rates: env.rates, nowMs: env.clock.nowMs() };
      const create = (store: QuoteStore) =>
        createPayout(services, { store, accountId, userId }, request);
      const view = (row: PayoutRow) =>
        writePayout(row, { keys: env.keys, payerLogo: '', network: findNetwork(env.rails, row) });
      const work = async (session: Session) => {
        const row = await create(openQuoteStore(session));
        return context.isDryRun
          ? { ...view(row), payout_token: '', dry_run: await tryCommit(context, session, row) }
          : view(row);
      };
      if (request.schedule !== undefined) return write(work, { aboutUser: userId });
      return write(work, {
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
    schedule:
      body.scheduled_for === undefined
        ? undefined
        : {
            scheduledFor: body.scheduled_for,
            maxSourceAmount: body.max_source_amount?.text,
            minDestinationAmount: body.min_destination_amount?.text,
          },
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
      'Starts the transfer, which cannot be undone; that of a payout with `scheduled_for` starts at its time. Answers 200 with the outcome in `status`. Committing a committed payout answers the same success again and moves nothing. An answer other than `success` has `code`, `actor`, `retryable`, `missing` and, where the balance is too low, `shortfall`.',
    access: 'payouts:commit',
    params: payoutParams,
    hasDryRun: true,
    response: commitAnswer,
    refusals: [404],
    handle: async (context: Context, { params }) => {
      const { env, accountId } = context;
      const userId = readUserToken(params.user_token);
      const payoutId = readPayoutToken(params.payout_token);
      const payout = { accountId, userId, payoutId };
      env.recovery.refuse();
      let identityLink = '';
      const answer = await context.write(
        async (session) => {
          const committed = await commitOrRefuse(context, session, { payout, identityLink });
          if (!context.isDryRun) return committed;
          return {
            ...committed,
            pickup_code: '',
            dry_run: await preview(context, session, payout),
          };
        },
        {
          isOneEffect: true,
          aboutUser: userId,
          tryGrouped: async ({ requestKey }) => {
            const session = env.db.tenant(accountId);
            if ((await listPayoutFaults(env, session, payout)) !== undefined) return undefined;
            const text = await env.groupCommit.submit({
              ...payout,
              requestKey,
              traceparent: findRecorded(env.db.tracing)?.traceparent,
            });
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

/**
 * Commits a payout in the caller's transaction, and answers as the operation does.
 *
 * @throws AppError not_found.
 */
export async function commitOrRefuse(
  { env }: { env: Pick<PayoutServices, 'db' | 'keys' | 'rails' | 'clock'> },
  session: Session,
  { payout, identityLink }: { payout: PayoutId; identityLink: string },
): Promise<z.infer<typeof dryCommitAnswer>> {
  const { accountId, userId, payoutId } = payout;
  const payoutToken = formatToken('payout', payoutId);
  const refused = await listPayoutFaults(env, session, payout);
  if (refused !== undefined) return refuseRecipient(payoutToken, refused);
  const result = await commitPayout({ session, accountId, userId }, payoutId);
  if (result.status === 'success') {
    const { pickup_code: stored, data_key: dataKey } = result.row;
    const pickupCode = openPickupCode(env.keys, { ...payout, stored, dataKey });
    await storeTraceContext(session, env.db.tracing, { accountId, subjectId: payoutId });
    return writeCommit(payoutToken, { ...result, pickupCode });
  }
  const today = new Date(env.clock.nowMs()).toISOString().slice(0, 10);
  const describing = { keys: env.keys, today, identityLink };
  const obstacle = await describeRefusal(describing, session, { ...result, payout });
  return writeCommit(payoutToken, result, obstacle);
}

/** Commits a new quote in its own transaction, which a dry run rolls back. */
async function tryCommit(context: Context, session: Session, row: PayoutRow) {
  context.env.recovery.refuse();
  const payout = { accountId: context.accountId, userId: row.user_id, payoutId: row.id };
  const committed = await commitOrRefuse(context, session, { payout, identityLink: '' });
  const commit = { ...committed, payout_token: '', pickup_code: '' };
  return { commit, ...(await preview(context, session, payout)) };
}

async function preview({ env, principal }: Context, session: Session, payout: PayoutName) {
  return {
    ...(await viewPostings(session, principal)),
    ...writePreview(await env.previewSending(session, payout)),
  };
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
