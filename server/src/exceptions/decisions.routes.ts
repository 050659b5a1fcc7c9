import { z } from 'zod';
import {
  candidateSchema,
  hideProviderPrice,
  otherWaySchema,
} from '../destinations/route-candidate.ts';
import { explainPayout } from '../dispatch/explain.ts';
import type { RouterServices } from '../dispatch/routing.ts';
import { defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { payoutStatuses } from '../payouts/payout-states.ts';
import { type PayoutServices, readPayoutTokens } from '../payouts/payouts.routes.ts';
import { exceptionKinds } from './exceptions.ts';

export type DecisionRouteServices = PayoutServices & { readonly router: RouterServices };

/** Reasons of a review could warn a suspect. */
const reviewKinds = ['screening', 'velocity', 'parked'] as const;
type ReviewKind = (typeof reviewKinds)[number];
const isReview = (kind: string): kind is ReviewKind => reviewKinds.some((one) => one === kind);
export const shownKinds = exceptionKinds.filter((kind) => !isReview(kind));

const decisionAnswer = z
  .object({
    payout_token: z.string(),
    status: z.enum(payoutStatuses),
    decisions: z.array(
      z.object({
        decided_at: z.string().describe('UTC, without offset; "" where nothing was sent yet'),
        refused_because: z.string().describe('What made another decision necessary; "" at first'),
        candidates: z.array(candidateSchema),
      }),
    ),
    compared_at: z.string().describe('UTC, without offset: the moment of the prices in other_ways'),
    other_ways: z
      .array(otherWaySchema)
      .describe(
        'The other payers of the country, with each currency they deliver, the cheapest first. The payout never changes to one of them: its recipient gave no details for it.',
      ),
    attempts: z.array(
      z.object({
        number: z.int(),
        rail: z.string(),
        payer_key: z.string(),
        state: z.string(),
        reason: z.string(),
        provider_reference: z.string(),
        started_at: z.string(),
        answered_at: z.string(),
      }),
    ),
    exceptions: z.array(
      z.object({
        kind: z.enum([...shownKinds, 'review']),
        opened_at: z.string(),
        closed_at: z.string(),
        resolution: z.string(),
      }),
    ),
  })
  .meta({ id: 'PayoutDecision' });

type Context = RouteContext<DecisionRouteServices>;

export function decisionRoutes(): Route<DecisionRouteServices>[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/payout/{user_token}/{payout_token}/decision',
      isVersioned: true,
      operationId: 'explainPayout',
      tag: 'Payouts',
      summary: 'Explain the routing of a payout',
      description:
        'Which payers were candidates, at what price and in what state, and which rule excluded ' +
        'each; what other ways of paying the recipient would cost now; every attempt at a rail; and the exceptions.',
      access: 'payouts:read',
      params: z.object({ user_token: z.string(), payout_token: z.string() }),
      response: decisionAnswer,
      refusals: [404],
      handle: async ({ env, accountId, principal }: Context, { params }) => {
        const services = { session: env.db.tenant(accountId), router: env.router };
        const explained = await explainPayout(services, {
          accountId,
          ...readPayoutTokens(params),
        });
        const shown = hideReview(explained);
        return principal.operator === undefined ? hidePrices(shown) : shown;
      },
    }),
  ];
}

type Explained = Awaited<ReturnType<typeof explainPayout>>;

/** Beside what a client pays, a provider's price is the operator's margin. */
function hidePrices(explained: Explained): Explained {
  return {
    ...explained,
    decisions: explained.decisions.map((decision) => ({
      ...decision,
      candidates: decision.candidates.map(hideProviderPrice),
    })),
    other_ways: explained.other_ways.map(hideProviderPrice),
  };
}

/** Hides from clients why a payout is under review, which could warn a suspect, and who decided. */
function hideReview(explained: Explained): Explained {
  return {
    ...explained,
    exceptions: explained.exceptions.map((exception) => ({
      ...exception,
      kind: isReview(exception.kind) ? 'review' : exception.kind,
      resolution: exception.closed_at === '' ? '' : 'closed',
    })),
  };
}
