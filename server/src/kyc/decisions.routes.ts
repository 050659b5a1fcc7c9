import { z } from 'zod';
import { appendClientAudit, describeClient } from '../audit/audit.ts';
import { formatSeconds } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { formatToken, isUuid } from '../core/ids.ts';
import type { Session } from '../db/postgres/pool.ts';
import { cursorOf, pageQuery, readCursor, toPage } from '../http/paging.ts';
import { type BaseServices, defineRoute, type Route } from '../http/route.ts';
import { integerField, textField } from '../http/schema.ts';
import { readUserToken } from '../users/users.routes.ts';
import { listFindings } from './checks.ts';
import { findingsAnswer, writeFindings } from './checks-view.ts';
import {
  decidedByLengthMax,
  decideIdentity,
  identityDecisions,
  listPending,
  reasonLengthMax,
  recipientReasons,
} from './decisions.ts';
import { sessionStatuses } from './kyc.sql.ts';

/** The API for reviewers of identities. */

const decisionFields = {
  decision: z.enum(identityDecisions),
  decided_by: z.string().describe('The name of the reviewer'),
};

const pendingAnswer = z
  .object({
    user_token: z.string(),
    session_id: z.string(),
    provider: z.string(),
    status: z.enum(sessionStatuses),
    submission: z.int().describe('The number of uploads so far'),
    session_time: z.string().describe('When it started, UTC: YYYY-MM-DDThh:mm:ss'),
    updated_on: z.string().describe('When it last changed, UTC: YYYY-MM-DDThh:mm:ss'),
    decisions: z
      .array(z.object(decisionFields))
      .describe('Decisions that wait for a second person'),
  })
  .meta({ id: 'PendingIdentity' });

const decisionRequest = z
  .object({
    session_id: z.string().max(100).describe('The session that was reviewed'),
    submission: integerField({ min: 1, max: 1_000_000 }).describe(
      'The upload that was reviewed; 409 if there is a newer one',
    ),
    decision: z.enum(identityDecisions),
    decided_by: textField(decidedByLengthMax).min(1).describe('The name of the reviewer'),
    reason: textField(reasonLengthMax)
      .min(1)
      .describe('The client sees it while the recipient is not approved'),
    recipient_reason: z
      .enum(recipientReasons)
      .optional()
      .describe(
        'What the page tells the recipient, in the language of the recipient. Without it, the decision alone',
      ),
  })
  .meta({ id: 'IdentityDecisionRequest' });

const decidedAnswer = z
  .object({
    result: z.enum(['done', 'waiting']).describe('`waiting`: another person must decide the same'),
    session_id: z.string(),
    status: z.enum(sessionStatuses),
  })
  .meta({ id: 'IdentityDecision' });

const userParams = z.object({ user_token: z.string().max(100) });
const listQuery = z.object(pageQuery);

export function identityDecisionRoutes(): Route<BaseServices>[] {
  return [pendingRoute(), findingsRoute(), decideRoute()];
}

function pendingRoute(): Route<BaseServices> {
  return defineRoute({
    method: 'GET',
    path: '/identity/pending',
    isVersioned: true,
    operationId: 'listPendingIdentities',
    tag: 'Verification',
    summary: 'List the verifications that wait for a decision',
    description: 'For reviewers: sessions whose images wait for a decision by a person.',
    access: 'kyc:decide',
    query: listQuery,
    response: z.array(pendingAnswer),
    handle: async ({ env, accountId }, { query }) => {
      const count = query.number_of_records;
      const [before] = readCursor(query.cursor, ['uuid']) ?? [];
      const page = { accountId, before, rowsMax: count + 1 };
      const rows = await listPending(env.db.tenant(accountId), page);
      return toPage(rows, count, {
        cursor: (row) => cursorOf([row.id]),
        write: (row) => ({
          user_token: formatToken('user', row.user_id),
          session_id: row.id,
          provider: row.provider,
          status: row.status,
          submission: row.submission,
          session_time: formatSeconds(row.created_at),
          updated_on: formatSeconds(row.updated_at),
          decisions: row.decisions,
        }),
      });
    },
  });
}

function findingsRoute(): Route<BaseServices> {
  return defineRoute({
    method: 'GET',
    path: '/user/{user_token}/kyc/id/findings',
    isVersioned: true,
    operationId: 'listIdentityFindings',
    tag: 'Verification',
    summary: 'What was read from the images of a user',
    description:
      'For reviewers: the machine-readable zone of each uploaded document, compared with the data of ' +
      'the user, and the opinion of the provider. Findings help a person to decide; they decide nothing.',
    access: 'kyc:decide',
    params: userParams,
    response: z.array(findingsAnswer),
    refusals: [404],
    handle: async ({ env, accountId }, { params }) => {
      const userId = readUserToken(params.user_token);
      const services = { sql: env.db.tenant(accountId), keys: env.keys };
      const now = new Date(env.clock.nowMs());
      return (await listFindings(services, { accountId, userId, now })).map(writeFindings);
    },
  });
}

function decideRoute(): Route<BaseServices> {
  return defineRoute({
    method: 'POST',
    path: '/user/{user_token}/kyc/id/decision',
    isVersioned: true,
    operationId: 'decideIdentity',
    tag: 'Verification',
    summary: 'Decide about an identity',
    description:
      'For reviewers of the operator. If the account requires two people, the first decision returns ' +
      '`waiting` and takes effect when another person decides the same.',
    access: 'kyc:decide',
    params: userParams,
    body: decisionRequest,
    response: decidedAnswer,
    refusals: [404, 409],
    handle: (context, { params, body }) => {
      const { env, accountId, principal, write } = context;
      const userId = readUserToken(params.user_token);
      if (!isUuid(body.session_id)) {
        const detail = 'session_id must be the id of a verification session';
        throw new AppError('invalid_request', detail, {
          faults: [{ pointer: '/session_id', code: 'invalid_value', detail }],
        });
      }
      const decide = async (sql: Session) => {
        const { result, session } = await decideIdentity(
          { sql, keys: env.keys },
          {
            accountId,
            userId,
            sessionId: body.session_id,
            submission: body.submission,
            decision: body.decision,
            decidedBy: body.decided_by,
            reason: body.reason,
            recipientReason: body.recipient_reason,
            credentialId: principal.credentialId,
          },
        );
        await appendClientAudit({ session: sql, keys: env.keys }, describeClient(context), {
          action: 'identity decide',
          object: { user: params.user_token, session: session.id, decision: body.decision },
          outcome: result,
          after: { status: session.status },
        });
        return { result, session_id: session.id, status: session.status };
      };
      // A client's connection cannot approve in live; every statement names the account.
      return write(decide, { isAcrossAccounts: true });
    },
  });
}
