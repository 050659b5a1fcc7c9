import { z } from 'zod';
import { attributeParams, readDestination } from '../attributes/attributes.routes.ts';
import { AppError } from '../core/errors.ts';
import { findTokenId } from '../core/ids.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { payeeOutcomes } from '../rails/contract/instruction.ts';
import { readUserToken } from '../users/users.routes.ts';
import { askPayee } from './payee-check.ts';
import type { Context, PayoutServices } from './payouts.routes.ts';

/** Whether a recipient's account belongs to the recipient: the question before a commit. */

const payeeQuery = z.object({
  attr_set_token: z
    .string()
    .max(100)
    .optional()
    .describe('The set to ask about. Without it, the one that a payout without it would use'),
});

const payeeAnswer = z
  .object({
    outcome: z
      .enum(payeeOutcomes)
      .describe(
        'What the bank of the account says; `not_possible` where it cannot be asked or did not answer, which blocks nothing',
      ),
    suggested_name: z
      .string()
      .describe('Of `close_match`: the holder of the account as the bank names it. Else ""'),
    checked_at: z.string().meta({ format: 'date-time' }).describe('When the bank was asked'),
  })
  .meta({ id: 'PayeeCheck' });

export function payeeCheckRoutes(): Route<PayoutServices>[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/attribute/{user_token}/{destination_token}/{currency}/payee-check',
      isVersioned: true,
      operationId: 'checkPayee',
      tag: 'Attributes',
      summary: 'Ask the bank whether the account belongs to the recipient',
      description:
        'Verification of Payee, about stored details alone. The answer is kept for a week, and asked for anew when the details or the user change, and after an hour unless it was `match`. It moves nothing. Where the operator refuses accounts of another name, quotes and commits answer `payee_no_match` after `no_match`.',
      access: 'users:write',
      params: attributeParams,
      query: payeeQuery,
      response: payeeAnswer,
      refusals: [404],
      handle: async (context: Context, { params, query }) => {
        const { env, accountId } = context;
        const userId = readUserToken(params.user_token);
        const destination = readDestination(env, params);
        const attrSetId = readSetToken(query.attr_set_token);
        const { result, store } = await askPayee(
          { keys: env.keys, rails: env.rails, nowMs: env.clock.nowMs() },
          { session: env.db.tenant(accountId), accountId },
          { userId, destination, attrSetId },
        );
        return context.write(
          async (session) => {
            await store(session);
            return {
              outcome: result.outcome,
              suggested_name: result.name ?? '',
              checked_at: new Date(result.checkedAtMs).toISOString(),
            };
          },
          { aboutUser: userId },
        );
      },
    }),
  ];
}

/** @throws AppError not_found, also for a malformed token. */
function readSetToken(token: string | undefined): string | undefined {
  if (token === undefined || token === '') return undefined;
  const id = findTokenId('attributeSet', token);
  if (id === undefined) throw new AppError('not_found', 'Attribute set not found');
  return id;
}
