import { z } from 'zod';
import type { AttributeServices } from '../attributes/attributes.routes.ts';
import { getMaker } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import { findTokenId, formatToken } from '../core/ids.ts';
import { openPickupCode } from '../core/pickup-code.ts';
import type { Session } from '../db/postgres/pool.ts';
import { defineRoute, type Route, type RouteContext } from '../http/route.ts';
import type { CheckpointServices } from '../ledger/checkpoints.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { storeTraceContext } from '../tracing/trace-contexts.ts';
import { findRecorded } from '../tracing/tracing.ts';
import { readUserToken } from '../users/users.routes.ts';
import { waitsForApproval } from './approval-hold.ts';
import { findCommitFacts, type PayoutId } from './commit-refusal.sql.ts';
import { describeRefusal } from './commit-refusal.ts';
import { dryRun, type SendingPreview, viewPostings, writePreview } from './dry-run-view.ts';
import { type GroupCommit, type GroupQuote, KeyKnown, openGroupStore } from './group-commit.ts';
import { obstacleFields, writeObstacle } from './obstacle-view.ts';
import type { Obstacle } from './obstacles.ts';
import type { PayoutName } from './payout-name.ts';
import {
  findBothTokens,
  findExclusionFaults,
  payoutRequest,
  readPayoutRequest,
} from './payout-request.routes.ts';
import { findNetwork, payoutAnswer, writePayout } from './payout-view.ts';
import type { PayoutRow } from './payouts.sql.ts';
import {
  type CommitAnswer,
  commitPayout,
  createPayout,
  openQuoteStore,
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
  /** Holds a payout that was committed in the session's transaction where rules ask for approval. */
  readonly approvals: { apply(session: Session, payout: PayoutName): Promise<boolean> };
  /** What signs the chains of hashes. */
  readonly chain: CheckpointServices;
  /** How a payout would be sent, for a transaction that is rolled back. */
  previewSending(session: Session, payout: PayoutName): Promise<SendingPreview>;
  /** Makes the dispatcher claim due payouts now. */
  wakeDispatch(): void;
};

export type Context = RouteContext<PayoutServices>;

const commitFields = {
  payout_token: z.string(),
  payout_status: z
    .enum(['HOLD'])
    .optional()
    .describe('With `success`, where it waits until persons have approved it; else absent'),
  status_reason: z.string().optional().describe('With payout_status: why'),
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
  answer: Pick<CommitAnswer, 'status' | 'pickupCode' | 'errors'> & { isHeld?: boolean },
  obstacle?: Obstacle,
): z.infer<typeof commitAnswer> {
  return {
    payout_token: payoutToken,
    status: answer.status,
    pickup_code: answer.pickupCode,
    errors: answer.errors,
    ...(answer.isHeld === true && { payout_status: 'HOLD', status_reason: waitsForApproval }),
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
    findAccountFaults: findBothTokens,
    hasDryRun: true,
    response: createAnswer,
    refusals: [404, 409, 410],
    handle: (context: Context, { params, body }) => {
      const { env, accountId, write } = context;
      const userId = readUserToken(params.user_token);
      const request = readPayoutRequest(body);
      const maker = getMaker(context.principal);
      const create = (store: QuoteStore) =>
        createPayout(env, { store, accountId, userId, maker }, request);
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

function commitRoute(): Route<PayoutServices> {
  return defineRoute({
    method: 'PUT',
    path: '/payout/{user_token}/{payout_token}',
    isVersioned: true,
    operationId: 'commitPayout',
    tag: 'Payouts',
    summary: 'Commit a payout',
    description:
      'Starts the transfer, which cannot be undone; that of a payout with `scheduled_for` starts at its time. Answers 200 with the outcome in `status`. Committing a committed payout answers the same success again and moves nothing. Where rules ask for the approval of persons, the payout is HOLD until they have given it, and `payout_status` says so. An answer other than `success` has `code`, `actor`, `retryable`, `missing` and, where the balance is too low, `shortfall`.',
    access: 'payouts:commit',
    params: payoutParams,
    hasDryRun: true,
    response: commitAnswer,
    refusals: [404],
    handle: async (context: Context, { params }) => {
      const { env, accountId } = context;
      const { userId, payoutId } = readPayoutTokens(params);
      const maker = getMaker(context.principal);
      const payout = { accountId, userId, payoutId };
      env.recovery.refuse();
      let identityLink = '';
      const answer = await context.write(
        async (session) => {
          const committed = await commitOrRefuse(context, session, {
            payout,
            maker,
            identityLink,
          });
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
            // Judged alone, in the transaction of the commit.
            if (context.principal.hasApprovalRules === true) return undefined;
            const session = env.db.tenant(accountId);
            if ((await listPayoutFaults(env, session, payout)) !== undefined) return undefined;
            const text = await env.groupCommit.submit({
              ...payout,
              maker,
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

export type CommitRequest = {
  payout: PayoutId;
  /** See `getMaker`; undefined where a link alone admitted a person. */
  maker: string | undefined;
  /** Where the recipient can be verified; "" where the client may not know. */
  identityLink: string;
};

/**
 * Commits a payout in the caller's transaction, and answers as the operation does.
 *
 * @throws AppError not_found.
 */
export async function commitOrRefuse(
  { env }: { env: Pick<PayoutServices, 'db' | 'keys' | 'rails' | 'clock' | 'approvals'> },
  session: Session,
  { payout, maker, identityLink }: CommitRequest,
): Promise<z.infer<typeof dryCommitAnswer>> {
  const { accountId, userId, payoutId } = payout;
  const payoutToken = formatToken('payout', payoutId);
  const refused = await listPayoutFaults(env, session, payout);
  if (refused !== undefined) return refuseRecipient(payoutToken, refused);
  const result = await commitPayout({ session, accountId, userId, maker }, payoutId);
  if (result.status === 'success') {
    const isHeld = await env.approvals.apply(session, payout);
    const { pickup_code: stored, data_key: dataKey } = result.row;
    const pickupCode = openPickupCode(env.keys, { ...payout, stored, dataKey });
    await storeTraceContext(session, env.db.tracing, { accountId, subjectId: payoutId });
    return writeCommit(payoutToken, { ...result, pickupCode, isHeld });
  }
  const today = new Date(env.clock.nowMs()).toISOString().slice(0, 10);
  const describing = { keys: env.keys, rails: env.rails, today, identityLink };
  const obstacle = await describeRefusal(describing, session, { ...result, payout });
  return writeCommit(payoutToken, result, obstacle);
}

/** Commits a new quote in its own transaction, which a dry run rolls back. */
async function tryCommit(context: Context, session: Session, row: PayoutRow) {
  context.env.recovery.refuse();
  const payout = { accountId: context.accountId, userId: row.user_id, payoutId: row.id };
  const committed = await commitOrRefuse(context, session, {
    payout,
    maker: getMaker(context.principal),
    identityLink: '',
  });
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

/** @throws AppError not_found: the same answer, whichever token is malformed, and for an unknown payout. */
export function readPayoutTokens(tokens: z.infer<typeof payoutParams>): {
  userId: string;
  payoutId: string;
} {
  const userId = findTokenId('user', tokens.user_token);
  if (userId === undefined) throw new AppError('not_found', 'Payout not found');
  return { userId, payoutId: readPayoutToken(tokens.payout_token) };
}

/** @throws AppError not_found, also for a malformed token. */
export function readPayoutToken(token: string): string {
  const id = findTokenId('payout', token);
  if (id === undefined) throw new AppError('not_found', 'Payout not found');
  return id;
}
