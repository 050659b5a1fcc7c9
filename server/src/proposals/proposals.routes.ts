import { z } from 'zod';
import { appendClientAudit, describeClient } from '../audit/audit.ts';
import { formatSeconds } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { findTokenId } from '../core/ids.ts';
import { cursorOf, pageQuery, readCursor, toPage } from '../http/paging.ts';
import { type BaseServices, defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { textField } from '../http/schema.ts';
import { payoutParams, readPayoutTokens } from '../payouts/payouts.routes.ts';
import { formatLink } from './confirmation-link.ts';
import { listProposals, noteLink, type ProposalId, proposalStatuses } from './proposals.sql.ts';
import {
  decide,
  formatProposalToken,
  getProposal,
  type ProposalServices,
  propose,
} from './proposals.ts';
import { proposalAnswer, writeProposal } from './proposals-view.ts';

/** Proposals of payouts. The page behind their links: confirmation.routes.ts. */

export type ProposalRouteServices = BaseServices & ProposalServices;
type Context = RouteContext<ProposalRouteServices>;

const tag = 'Proposals';
const proposalParams = z.object({ proposal_token: z.string() });

export function proposalRoutes(): Route<ProposalRouteServices>[] {
  return [proposeRoute(), listRoute(), readRoute(), linkRoute(), decisionRoute()];
}

/** @throws AppError not_found, also for a malformed token. */
function readId({ accountId }: Context, token: string): ProposalId {
  const proposalId = findTokenId('proposal', token);
  if (proposalId === undefined) throw new AppError('not_found', 'Proposal not found');
  return { accountId, proposalId };
}

const proposalRequest = z
  .object({
    reason: textField(500)
      .min(1)
      .refine((text) => text.trim() === text, { error: 'must not have spaces around it' })
      .describe('Why it should be paid, for the person who decides'),
  })
  .meta({ id: 'ProposalRequest' });

function proposeRoute(): Route<ProposalRouteServices> {
  return defineRoute({
    method: 'POST',
    path: '/payout/{user_token}/{payout_token}/proposal',
    isVersioned: true,
    operationId: 'proposePayout',
    tag,
    summary: 'Propose a payout',
    description:
      'For software that must not commit: a person confirms the quoted payout, which commits it, or declines. It is judged as a commit would be, and moves nothing. A payout has one proposal: proposing it again answers that one.',
    access: 'payouts:propose',
    params: payoutParams,
    body: proposalRequest,
    response: proposalAnswer,
    refusals: [404, 409],
    handle: ({ env, accountId, principal, write }: Context, { params, body }) => {
      const { credentialId } = principal;
      const { userId, payoutId } = readPayoutTokens(params);
      const proposal = { accountId, userId, payoutId, credentialId, reason: body.reason };
      return write(
        async (session) => writeProposal(env, accountId, await propose(env, session, proposal)),
        { aboutUser: userId },
      );
    },
  });
}

const listQuery = z.object({
  ...pageQuery,
  status: z.enum(proposalStatuses).optional().describe('Only those with this status'),
});

function listRoute(): Route<ProposalRouteServices> {
  return defineRoute({
    method: 'GET',
    path: '/proposal',
    isVersioned: true,
    operationId: 'listProposals',
    tag,
    summary: 'List proposals',
    description: 'Of all credentials of the account, newest first.',
    access: 'payouts:read',
    query: listQuery,
    response: z.array(proposalAnswer),
    handle: async ({ env, accountId }: Context, { query }) => {
      const count = query.number_of_records;
      const [beforeId] = readCursor(query.cursor, ['uuid']) ?? [];
      const filter = { beforeId, status: query.status, count: count + 1 };
      const rows = await listProposals(env.db.tenant(accountId), accountId, filter);
      return toPage(rows, count, {
        cursor: (row) => cursorOf([row.id]),
        write: (row) => writeProposal(env, accountId, row),
      });
    },
  });
}

function readRoute(): Route<ProposalRouteServices> {
  return defineRoute({
    method: 'GET',
    path: '/proposal/{proposal_token}',
    isVersioned: true,
    operationId: 'getProposal',
    tag,
    summary: 'Read a proposal',
    description: 'With its state, when it was decided and through what.',
    access: 'payouts:read',
    params: proposalParams,
    query: z.object({}),
    response: proposalAnswer,
    refusals: [404],
    handle: async (context: Context, { params }) => {
      const { env, accountId } = context;
      const id = readId(context, params.proposal_token);
      return writeProposal(env, accountId, await getProposal(env.db.tenant(accountId), id));
    },
  });
}

const linkAnswer = z
  .object({
    proposal_token: z.string(),
    url: z.string().describe('Anyone who has it can confirm and decline: give it to a person only'),
    expiration: z.string().describe('UTC, without offset'),
  })
  .meta({ id: 'ConfirmationLink' });

function linkRoute(): Route<ProposalRouteServices> {
  return defineRoute({
    method: 'POST',
    path: '/proposal/{proposal_token}/confirmation',
    isVersioned: true,
    operationId: 'createConfirmationLink',
    tag,
    summary: 'Get the link of a proposal',
    description:
      'The signed link of an open proposal, for one decision. Its page shows what would be paid, and a person confirms or declines there.',
    access: 'payouts:confirm',
    params: proposalParams,
    response: linkAnswer,
    refusals: [404, 409],
    handle: (context: Context, { params }) => {
      const { env, accountId, principal, request } = context;
      const id = readId(context, params.proposal_token);
      return context.write(async (session) => {
        const row = await getProposal(session, id);
        if (!(await noteLink(session, { ...id, credentialId: principal.credentialId }))) {
          throw new AppError('proposal_ended', `The proposal is ${row.status}`);
        }
        await appendClientAudit({ session, keys: env.keys }, describeClient(context), {
          action: 'proposal link',
          object: { proposal: formatProposalToken(row.id) },
        });
        return {
          proposal_token: formatProposalToken(row.id),
          url: `${request.baseUrl}${formatLink(env.keys, accountId, row)}`,
          expiration: formatSeconds(row.expires_at),
        };
      });
    },
  });
}

const decisionRequest = z
  .object({ decision: z.enum(['CONFIRMED', 'DECLINED']).describe('CONFIRMED commits the payout') })
  .meta({ id: 'ProposalDecision' });

function decisionRoute(): Route<ProposalRouteServices> {
  return defineRoute({
    method: 'POST',
    path: '/proposal/{proposal_token}/decision',
    isVersioned: true,
    operationId: 'decideProposal',
    tag,
    summary: 'Confirm or decline a proposal',
    description:
      'For software that a person uses to decide. A confirmation commits the payout with the same checks as its own operation; if it is refused, the proposal stays open. Deciding the same again answers the same.',
    access: 'payouts:confirm',
    params: proposalParams,
    body: decisionRequest,
    response: proposalAnswer,
    refusals: [404, 409],
    handle: async (context: Context, { params, body }) => {
      const { env, accountId, principal } = context;
      const id = readId(context, params.proposal_token);
      const { credentialId } = principal;
      const client = describeClient(context);
      const by = { through: 'api', credentialId, client } as const;
      const decision = { ...id, status: body.decision, ...by };
      const { user_id: userId } = await getProposal(env.db.tenant(accountId), id);
      const answer = await context.write(
        async (session) => writeProposal(env, accountId, await decide(env, session, decision)),
        { aboutUser: userId },
      );
      env.wakeDispatch();
      return answer;
    },
  });
}
