import { z } from 'zod';
import { describeClient } from '../audit/audit.ts';
import type { Principal } from '../core/access.ts';
import { formatSeconds } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { formatToken } from '../core/ids.ts';
import { type BaseServices, defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { readUserToken } from '../users/users.routes.ts';
import { auditErasure, eraseUser } from './erasure.ts';
import type { TombstonePlace } from './tombstones.ts';

export type ErasureRouteServices = BaseServices & { readonly tombstones: TombstonePlace };

const erasureAnswer = z
  .object({
    user_token: z.string(),
    status: z.enum(['DEACTIVE']),
    erased_at: z.string().describe('UTC, without offset'),
  })
  .meta({ id: 'Erasure' });

/** @throws AppError role_not_permitted: for operators it can need two people. */
function refuseOperator({ operator }: Principal): void {
  if (operator === undefined) return;
  throw new AppError(
    'role_not_permitted',
    'Operators erase recipients by POST /operator/recipients/{user}/erasure',
  );
}

export function erasureRoutes(): Route<ErasureRouteServices>[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/user/{user_token}/erasure',
      isVersioned: true,
      operationId: 'eraseUser',
      tag: 'Users',
      summary: 'Erase the personal data of a recipient',
      description:
        'Destroys the key of the recipient, and with it every copy of the personal data. This cannot ' +
        'be undone. Payouts, balances and statements stay. Repeating it answers the same.',
      access: 'users:write',
      params: z.object({ user_token: z.string() }),
      response: erasureAnswer,
      refusals: [404, 409],
      handle: async (context: RouteContext<ErasureRouteServices>, { params }) => {
        const { env, accountId, principal } = context;
        refuseOperator(principal);
        const userId = readUserToken(params.user_token);
        const client = describeClient(context);
        const actor = `credential ${principal.credentialId}`;
        const reason = 'requested by the client';
        const erasure = { accountId, userId, actor, reason, client };
        const erasedAt = await eraseUser(env, erasure).catch(async (error: unknown) => {
          if (error instanceof AppError && error.code !== 'not_found') {
            const refused = { userId, refusedBecause: error.code };
            await auditErasure({ session: env.db.system, keys: env.keys }, client, refused);
          }
          throw error;
        });
        return {
          user_token: formatToken('user', userId),
          status: 'DEACTIVE' as const,
          erased_at: formatSeconds(erasedAt),
        };
      },
    }),
  ];
}
