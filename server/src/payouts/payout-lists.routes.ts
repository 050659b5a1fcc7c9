import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { readMetadataQuery } from '../http/metadata.ts';
import { cursorOf, pageQuery, readCursor, toPage } from '../http/paging.ts';
import { defineRoute, type Page, type Route } from '../http/route.ts';
import { readUserToken } from '../users/users.routes.ts';
import { findUser } from '../users/users.ts';
import { historyAnswer, payoutAnswer, writeHistoryRow } from './payout-view.ts';
import { type Context, type PayoutServices, userParams, viewPayout } from './payouts.routes.ts';
import { listPayoutRows, type PayoutRow } from './payouts.sql.ts';

/** The lists in which payouts are found again: of a user, of the account, by metadata. */

const listQuery = z.looseObject({ ...pageQuery });

export function payoutListRoutes(): Route<PayoutServices>[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/payout/{user_token}',
      isVersioned: true,
      operationId: 'listUserPayouts',
      tag: 'Payouts',
      summary: "List a user's payouts",
      description: 'Search with `metadata[key]=value`; several must all hold.',
      access: 'payouts:read',
      params: userParams,
      query: listQuery,
      response: z.array(payoutAnswer),
      refusals: [404],
      handle: (context: Context, { params, query }) =>
        listPayouts(context, { userToken: params.user_token, query }, (row) =>
          viewPayout(context, row, false),
        ),
    }),
    defineRoute({
      method: 'GET',
      path: '/user/{user_token}/history',
      isVersioned: true,
      operationId: 'listUserHistory',
      tag: 'Users',
      summary: "List a user's transactions",
      description: 'Search with `metadata[key]=value`; several must all hold.',
      access: 'payouts:read',
      params: userParams,
      query: listQuery,
      response: z.array(historyAnswer),
      refusals: [404],
      handle: (context: Context, { params, query }) =>
        listPayouts(context, { userToken: params.user_token, query }, writeHistoryRow),
    }),
    defineRoute({
      method: 'GET',
      path: '/user/history',
      isVersioned: true,
      operationId: 'listHistory',
      tag: 'Users',
      summary: 'List all transactions',
      description: 'Search with `metadata[key]=value`; several must all hold.',
      access: 'payouts:read',
      query: listQuery,
      response: z.array(historyAnswer),
      handle: (context: Context, { query }) =>
        listPayouts(context, { userToken: undefined, query }, writeHistoryRow),
    }),
  ];
}

async function listPayouts<T>(
  { env, accountId, request }: Context,
  list: { userToken: string | undefined; query: z.infer<typeof listQuery> },
  write: (row: PayoutRow) => T,
): Promise<Page<T>> {
  const session = env.db.tenant(accountId);
  const userId = list.userToken === undefined ? undefined : readUserToken(list.userToken);
  if (userId !== undefined) {
    const user = await findUser({ session, keys: env.keys, accountId }, userId);
    if (user === undefined) throw new AppError('not_found', 'no such user');
  }
  const count = list.query.number_of_records;
  const [beforeId] = readCursor(list.query.cursor, ['uuid']) ?? [];
  const rows = await listPayoutRows(session, {
    accountId,
    userId,
    beforeId,
    count: count + 1,
    metadataHashes: readMetadataQuery(request.query),
  });
  return toPage(rows, count, { cursor: (row) => cursorOf([row.id]), write });
}
