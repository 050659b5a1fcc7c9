import { z } from 'zod';
import { formatSeconds } from '../core/clock.ts';
import { formatToken } from '../core/ids.ts';
import { type BaseServices, defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { readUserToken } from '../users/users.routes.ts';
import { eraseUser } from './erasure.ts';
import type { TombstonePlace } from './tombstones.ts';

export type ErasureRouteServices = BaseServices & { readonly tombstones: TombstonePlace };

const erasureAnswer = z
  .object({
    user_token: z.string(),
    status: z.enum(['DEACTIVE']),
    erased_at: z.string().describe('UTC, without offset'),
  })
  .meta({ id: 'Erasure' });

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
        const userId = readUserToken(params.user_token);
        const erasedAt = await eraseUser(env, {
          accountId,
          userId,
          actor: `credential ${principal.credentialId}`,
          reason: 'requested by the client',
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
