import { AppError } from '../core/errors.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { viewPayout } from './payout-reads.routes.ts';
import { payoutAnswer } from './payout-view.ts';
import {
  type Context,
  type PayoutServices,
  payoutParams,
  readPayoutTokens,
} from './payouts.routes.ts';
import { findPayoutRow } from './payouts.sql.ts';
import { cancelledByClient } from './schedule-reasons.ts';
import { cancelScheduleRow } from './schedules.sql.ts';

/** The cancellation of a payout that has not run. */

export function cancellationRoutes(): Route<PayoutServices>[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/payout/{user_token}/{payout_token}/cancellation',
      isVersioned: true,
      operationId: 'cancelPayout',
      tag: 'Payouts',
      summary: 'Cancel a scheduled payout',
      description:
        'Only while it is SCHEDULED: no money has moved. Canceling it again answers the same. Once it runs, 409 with its status: either the cancellation happens or the payout, never both.',
      access: 'payouts:commit',
      params: payoutParams,
      response: payoutAnswer,
      refusals: [404, 409],
      handle: async (context: Context, { params }) => {
        const { env, accountId } = context;
        const payout = { accountId, ...readPayoutTokens(params) };
        const { userId } = payout;
        env.recovery.refuse();
        return context.write(
          async (session) => {
            const cancelled = { ...payout, reason: cancelledByClient };
            const { result, status } = await cancelScheduleRow(session, cancelled);
            const row = result === 'done' ? await findPayoutRow(session, payout) : undefined;
            if (row !== undefined) return viewPayout(context, row, false);
            if (result === 'not_found') throw new AppError('not_found', 'Payout not found');
            throw new AppError('illegal_move', describeRefusal(result, status));
          },
          { aboutUser: userId },
        );
      },
    }),
  ];
}

function describeRefusal(result: string, status: string | null): string {
  if (result === 'disputed') {
    return 'the payout may have been paid before a restore: the operator decides';
  }
  return `only a SCHEDULED payout can be canceled, and this one is ${status}`;
}
