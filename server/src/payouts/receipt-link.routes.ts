import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { makeReceipt } from './payout-reads.routes.ts';
import type { PayoutServices } from './payouts.routes.ts';
import { findPayoutRow } from './payouts.sql.ts';
import { findLinkedPayout } from './receipt-link.ts';

/** The receipt of one payout behind the link of a notice. The link is the credential. */

const linkParams = z.object({
  token: z.string().max(500).describe('The secret part of a receipt link'),
});

export function receiptLinkRoutes(): Route<PayoutServices>[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/receipt/{token}',
      isVersioned: false,
      operationId: 'getLinkedReceipt',
      tag: 'Payouts',
      summary: 'The receipt behind the link of a notice',
      description:
        'The PDF of one payout for its recipient, without a credential. The link is valid for 30 days.',
      access: 'public',
      params: linkParams,
      unknownParameters: 'ignored',
      response: null,
      produces: ['application/pdf'],
      refusals: [404, 410],
      handle: async ({ env }, { params }) => {
        const linked = findLinkedPayout(env.keys, params.token, env.clock.nowMs());
        // An expired link gets the same answer as one that never existed.
        if (linked === undefined) throw new AppError('not_found', 'Receipt not found');
        const { accountId } = linked;
        const row = await findPayoutRow(env.db.tenant(accountId), linked);
        if (row === undefined) throw new AppError('not_found', 'Receipt not found');
        return {
          status: 200,
          contentType: 'application/pdf',
          body: Buffer.from(await makeReceipt({ env, accountId }, row)),
          headers: {
            'cache-control': 'no-store',
            'content-disposition': 'inline; filename="receipt.pdf"',
            // The address is the secret, so it must not be sent as a referrer.
            'referrer-policy': 'no-referrer',
            'x-content-type-options': 'nosniff',
            'x-robots-tag': 'noindex, nofollow',
          },
        };
      },
    }),
  ];
}
