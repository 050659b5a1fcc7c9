import { z } from 'zod';
import { AppError, type Fault, readTogether, throwFaults } from '../core/errors.ts';
import { findTokenId, isUuid } from '../core/ids.ts';
import { keyHashes } from '../core/metadata-hashes.ts';
import { readMetadataQuery } from '../http/metadata.ts';
import {
  cursorOf,
  historyPageQuery,
  pageQuery,
  readCursor,
  readHistoryPage,
  readRange,
  type TimeRange,
  toPage,
} from '../http/paging.ts';
import { defineRoute, type Page, type Route } from '../http/route.ts';
import { dateQuery, momentQuery } from '../http/schema.ts';
import { findWallet } from '../ledger/ledger.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';
import { countryField } from '../users/user-request.routes.ts';
import { readUserToken } from '../users/users.routes.ts';
import { findUser } from '../users/users.ts';
import { listPayoutRows, type PayoutFilter } from './payout-lists.sql.ts';
import { viewPayout } from './payout-reads.routes.ts';
import { payoutStatuses } from './payout-states.ts';
import { historyAnswer, payoutAnswer, writeHistoryRow } from './payout-view.ts';
import { type Context, type PayoutServices, userParams } from './payouts.routes.ts';
import type { PayoutRow } from './payouts.sql.ts';

const text = z.string().min(1).max(100).optional();

const sharedFilter = {
  client_transfer_id: z
    .string()
    .min(1)
    .max(50)
    .optional()
    .describe('Your own identifier: the payout that was committed with it, and its other quotes'),
  status: z.enum(payoutStatuses).optional(),
  payout_token: text.describe('This payout only'),
  delivery_type: z.enum(deliveryTypes).optional(),
  country: countryField.optional().describe('The destination, ISO 3166-1 alpha-3'),
  from: momentQuery.describe('Committed (or created, while PENDING) then or later, UTC'),
  to: momentQuery.describe(
    'Committed (or created, while PENDING) by then, the day or second included',
  ),
};

const userFilter = { user_token: text.describe('Only payouts to this user') };

const listQuery = z.object({ ...pageQuery, ...sharedFilter });
const accountListQuery = z.object({ ...listQuery.shape, ...userFilter });

const historyQuery = z.object({
  ...historyPageQuery,
  ...sharedFilter,
  start_date: dateQuery.describe('The first day of time_of_txn, UTC. Excludes from'),
  end_date: dateQuery.describe('The last day of time_of_txn, UTC. Excludes to'),
  type: z.enum(['payout']).optional().describe('payout is the only type there is'),
  wallet_token: text.describe('Only what was paid from this balance'),
  show_all_clients: text.describe('Accepted; the answer does not depend on it'),
});
const accountHistoryQuery = z.object({ ...historyQuery.shape, ...userFilter });

const isSearched = 'Search with `metadata[key]=value`; several must all hold.';

const versionedRead = {
  method: 'GET',
  isVersioned: true,
  access: 'payouts:read',
  searchesMetadata: true,
} as const;

export function payoutListRoutes(): Route<PayoutServices>[] {
  return [accountRoute(), userRoute(), userHistoryRoute(), historyRoute()];
}

function accountRoute(): Route<PayoutServices> {
  return defineRoute({
    ...versionedRead,
    path: '/payout',
    operationId: 'listPayouts',
    tag: 'Payouts',
    summary: "List the account's payouts",
    description: `Quotes included. After a lost answer, \`client_transfer_id\` finds the payout. ${isSearched}`,
    query: accountListQuery,
    response: z.array(payoutAnswer),
    refusals: [404],
    handle: (context: Context, { query }) =>
      listPayouts(context, { userToken: query.user_token, query }),
  });
}

function userRoute(): Route<PayoutServices> {
  return defineRoute({
    ...versionedRead,
    path: '/payout/{user_token}',
    operationId: 'listUserPayouts',
    tag: 'Payouts',
    summary: "List a user's payouts",
    description: isSearched,
    params: userParams,
    query: listQuery,
    response: z.array(payoutAnswer),
    refusals: [404],
    handle: (context: Context, { params, query }) =>
      listPayouts(context, { userToken: params.user_token, query }),
  });
}

function userHistoryRoute(): Route<PayoutServices> {
  return defineRoute({
    ...versionedRead,
    path: '/user/{user_token}/history',
    operationId: 'listUserHistory',
    tag: 'Users',
    summary: "List a user's transactions",
    description: isSearched,
    params: userParams,
    query: historyQuery,
    response: z.array(historyAnswer),
    refusals: [404],
    handle: (context: Context, { params, query }) =>
      listHistory(context, { userToken: params.user_token, query }),
  });
}

function historyRoute(): Route<PayoutServices> {
  return defineRoute({
    ...versionedRead,
    path: '/user/history',
    operationId: 'listHistory',
    tag: 'Users',
    summary: 'List all transactions',
    description: isSearched,
    query: accountHistoryQuery,
    response: z.array(historyAnswer),
    refusals: [404],
    handle: (context: Context, { query }) =>
      listHistory(context, { userToken: query.user_token, query }),
  });
}

async function listPayouts(
  context: Context,
  list: { userToken: string | undefined; query: z.infer<typeof listQuery> },
): Promise<Page<unknown>> {
  const { query } = list;
  const [times, beforeId] = readTogether(
    () => readRange(query, ['from', 'to']),
    () => readBefore(query.cursor),
  );
  return listRows(
    context,
    { count: query.number_of_records, offset: 0, beforeId },
    {
      filter: {
        ...times,
        ...readSharedFilter(query),
        userId: await findUserId(context, list.userToken),
      },
      write: (row) => viewPayout(context, row, false),
    },
  );
}

async function listHistory(
  context: Context,
  list: { userToken: string | undefined; query: z.infer<typeof historyQuery> },
): Promise<Page<unknown>> {
  const { query } = list;
  const [page, times, beforeId] = readTogether(
    () => readHistoryPage(query),
    () => readHistoryRange(query),
    () => readBefore(query.cursor),
  );
  return listRows(
    context,
    { ...page, beforeId },
    {
      filter: {
        ...times,
        ...readSharedFilter(query),
        userId: await findUserId(context, list.userToken),
        sourceToken: await findSourceToken(context, query.wallet_token),
      },
      write: (row) => writeHistoryRow(row, context.env.keys),
    },
  );
}

/** The id of the last payout of the page before. @throws AppError invalid_request. */
function readBefore(cursor: string | undefined): string | undefined {
  return readCursor(cursor, ['uuid'])?.[0];
}

/** @throws AppError invalid_request for two names of the same end. */
function readHistoryRange(query: z.infer<typeof historyQuery>): TimeRange {
  const { from, to, start_date: startDate, end_date: endDate } = query;
  const faults: Fault[] = [];
  const refuse = (parameter: string, other: string): void => {
    const detail = `${parameter} must not be combined with ${other}`;
    faults.push({ parameter, code: 'parameters_exclusive', detail });
  };
  if (from !== undefined && startDate !== undefined) refuse('start_date', 'from');
  if (to !== undefined && endDate !== undefined) refuse('end_date', 'to');
  throwFaults(faults);
  const names = [
    startDate === undefined ? 'from' : 'start_date',
    endDate === undefined ? 'to' : 'end_date',
  ] as const;
  return readRange({ from: from ?? startDate, to: to ?? endDate }, names);
}

/** A malformed token is that of no payout. */
const noPayout = '00000000-0000-0000-0000-000000000000';

function readSharedFilter(query: z.infer<z.ZodObject<typeof sharedFilter>>) {
  return {
    status: query.status,
    clientTransferId: query.client_transfer_id,
    payoutId:
      query.payout_token === undefined
        ? undefined
        : (findTokenId('payout', query.payout_token) ?? noPayout),
    deliveryType: query.delivery_type,
    country: query.country,
  };
}

/** @throws AppError not_found: an empty list would say that this user was never paid. */
async function findUserId(
  { env, accountId }: Context,
  token: string | undefined,
): Promise<string | undefined> {
  if (token === undefined) return undefined;
  const userId = readUserToken(token);
  const session = env.db.tenant(accountId);
  const user = await findUser({ session, keys: env.keys, accountId }, userId);
  if (user === undefined) throw new AppError('not_found', 'User not found');
  return userId;
}

/** @throws AppError not_found. */
async function findSourceToken(
  { env, accountId }: Context,
  token: string | undefined,
): Promise<string | undefined> {
  if (token === undefined) return undefined;
  const session = env.db.tenant(accountId);
  const wallet = isUuid(token) ? await findWallet(session, { accountId, token }) : undefined;
  if (wallet === undefined) throw new AppError('not_found', 'Balance not found');
  return wallet.token;
}

async function listRows<T>(
  { env, accountId, request }: Context,
  { count, offset, beforeId }: { count: number; offset: number; beforeId: string | undefined },
  list: { filter: Omit<PayoutFilter, 'metadataHashes'>; write: (row: PayoutRow) => T },
): Promise<Page<T>> {
  const rows = await listPayoutRows(
    env.db.tenant(accountId),
    { accountId, beforeId, offset, count: count + 1 },
    {
      ...list.filter,
      metadataHashes: keyHashes(env.keys, accountId, readMetadataQuery(request.query)),
    },
  );
  return toPage(rows, count, { cursor: (row) => cursorOf([row.id]), write: list.write });
}
