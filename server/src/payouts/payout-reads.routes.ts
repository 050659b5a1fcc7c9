import { z } from 'zod';
import { getBrand } from '../accounts/accounts.ts';
import { AppError, type Fault, throwFaults } from '../core/errors.ts';
import { isPreferredToJson } from '../http/accept.ts';
import { type Answer, defineRoute, type Route } from '../http/route.ts';
import { flag, momentQuery, readMoment, readMomentEnd } from '../http/schema.ts';
import { renderReceipt } from '../receipts/receipt.ts';
import { findUser } from '../users/users.ts';
import { getPayoutBefore } from './payout-history.ts';
import {
  describeReceipt,
  findNetwork,
  findPayerLogo,
  payoutAnswer,
  payoutPdfAnswer,
  writePayout,
} from './payout-view.ts';
import {
  type Context,
  type PayoutServices,
  payoutParams,
  readPayoutTokens,
} from './payouts.routes.ts';
import { findPayoutRow, type PayoutRow } from './payouts.sql.ts';

/** One payout, as it is or as it was, and its receipt. */

const statusQuery = z.object({
  include_payer_logo: flag,
  force_status_update: flag.describe('Queries the rail before answering'),
});
const payoutQuery = statusQuery.extend({
  as_of: momentQuery.describe(
    'Answers the payout as it was at the end of that second or day, UTC. Excludes ' +
      'force_status_update, and must not lie in the future',
  ),
});

export function payoutReadRoutes(): Route<PayoutServices>[] {
  return [statusRoute(), receiptRoute(), pdfRoute()];
}

function statusRoute(): Route<PayoutServices> {
  return defineRoute({
    method: 'GET',
    path: '/payout/{user_token}/{payout_token}',
    isVersioned: true,
    operationId: 'getPayout',
    tag: 'Payouts',
    summary: 'Read a payout',
    description: 'With `Accept: application/pdf` its receipt instead.',
    access: 'payouts:read',
    params: payoutParams,
    query: payoutQuery,
    unknownParameters: 'ignored',
    response: payoutAnswer,
    produces: ['application/pdf'],
    refusals: [404, 410],
    handle: async (context: Context, { params, query }) => {
      const isForced = query.force_status_update === 'true';
      const row =
        query.as_of === undefined
          ? await getPayout(context, params, isForced)
          : await getPastPayout(context, params, { asOf: query.as_of, isForced });
      if (prefersPdf(context)) return answerPdf(await makeReceipt(context, row));
      return viewPayout(context, row, query.include_payer_logo === 'true');
    },
  });
}

/** Generated clients take one media type per operation. */
function receiptRoute(): Route<PayoutServices> {
  return defineRoute({
    method: 'GET',
    path: '/payout/{user_token}/{payout_token}/receipt',
    isVersioned: true,
    operationId: 'getReceipt',
    tag: 'Payouts',
    summary: 'Read the receipt of a payout',
    description: 'The PDF that the two operations above answer with `Accept: application/pdf`.',
    access: 'payouts:read',
    params: payoutParams,
    response: null,
    produces: ['application/pdf'],
    refusals: [404],
    handle: async (context: Context, { params }) =>
      answerPdf(await makeReceipt(context, await getPayout(context, params, false))),
  });
}

function pdfRoute(): Route<PayoutServices> {
  return defineRoute({
    method: 'PATCH',
    path: '/payout/{user_token}/{payout_token}',
    isVersioned: true,
    operationId: 'exportPayout',
    tag: 'Payouts',
    summary: 'Read a payout with its receipt',
    description:
      'The receipt is a PDF: as Base64 in `content`, or by itself with `Accept: application/pdf`.',
    access: 'payouts:read',
    params: payoutParams,
    query: statusQuery,
    response: payoutPdfAnswer,
    produces: ['application/pdf'],
    refusals: [404],
    handle: async (context: Context, { params, query }) => {
      const row = await getPayout(context, params, query.force_status_update === 'true');
      const pdf = await makeReceipt(context, row);
      if (prefersPdf(context)) return answerPdf(pdf);
      // Nothing is written, but a repeated idempotency key must return the same bytes.
      return context.write(
        async () => ({
          ...viewPayout(context, row, query.include_payer_logo === 'true'),
          content: Buffer.from(pdf).toString('base64'),
        }),
        { aboutUser: row.user_id },
      );
    },
  });
}

async function getPayout(
  { env, accountId }: Context,
  params: z.infer<typeof payoutParams>,
  isForced: boolean,
): Promise<PayoutRow> {
  const { userId, payoutId } = readPayoutTokens(params);
  const find = () => findPayoutRow(env.db.tenant(accountId), { accountId, userId, payoutId });
  let row = await find();
  if (row !== undefined && isForced) {
    await env.dispatcher.runOne(accountId, payoutId);
    row = await find();
  }
  if (row === undefined) throw new AppError('not_found', 'Payout not found');
  return row;
}

/** @throws AppError invalid_request, and as `getPayoutBefore` does. */
async function getPastPayout(
  { env, accountId }: Context,
  params: z.infer<typeof payoutParams>,
  { asOf, isForced }: { asOf: string; isForced: boolean },
): Promise<PayoutRow> {
  const faults: Fault[] = [];
  if (isForced) {
    const detail = 'force_status_update excludes as_of';
    faults.push({ parameter: 'force_status_update', code: 'invalid_value', detail });
  }
  if (readMoment(asOf) > env.clock.nowMs()) {
    const detail = 'as_of must not lie in the future';
    faults.push({ parameter: 'as_of', code: 'invalid_value', detail });
  }
  throwFaults(faults);
  return getPayoutBefore(env.db.tenant(accountId), {
    accountId,
    ...readPayoutTokens(params),
    before: new Date(readMomentEnd(asOf)),
  });
}

export function viewPayout({ env }: Context, row: PayoutRow, isLogoWanted: boolean) {
  const payerLogo = findPayerLogo(env.catalog, {
    destinationToken: row.destination_token,
    isWanted: isLogoWanted,
  });
  const network = findNetwork(env.rails, row);
  return writePayout(row, { keys: env.keys, payerLogo, network });
}

function prefersPdf({ request }: Context): boolean {
  return isPreferredToJson(request.accept, 'application/pdf');
}

function answerPdf(pdf: Uint8Array): Answer {
  return { status: 200, contentType: 'application/pdf', body: Buffer.from(pdf) };
}

/** @throws AppError user_erased, unavailable where too many receipts are being made. */
export async function makeReceipt(
  { env, accountId }: Pick<Context, 'env' | 'accountId'>,
  row: PayoutRow,
): Promise<Uint8Array> {
  const session = env.db.tenant(accountId);
  const user = await findUser({ session, keys: env.keys, accountId }, row.user_id);
  if (user === undefined) throw new Error('a payout without its user');
  const { sender_name: senderName, ...brand } = await getBrand(session, accountId);
  const data = describeReceipt(row, {
    environment: env.name,
    senderName,
    brand: { color: brand.brand_color, logo: brand.brand_logo.toString('base64') },
    rails: env.rails,
    user,
    keys: env.keys,
    nowMs: env.clock.nowMs(),
  });
  return renderReceipt(data, env.keys.signing);
}
