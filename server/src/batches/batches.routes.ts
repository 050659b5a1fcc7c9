import { Readable } from 'node:stream';
import { z } from 'zod';
import { getMaker } from '../core/access.ts';
import { AppError, readTogether } from '../core/errors.ts';
import { findTokenId, formatToken } from '../core/ids.ts';
import { getPreference } from '../http/accept.ts';
import { cursorOf, pageQuery, readCursor, readRange, toPage } from '../http/paging.ts';
import {
  type Answer,
  defineRoute,
  type Page,
  type Route,
  type RouteContext,
} from '../http/route.ts';
import { flag, integerField, momentQuery } from '../http/schema.ts';
import { viewPostings } from '../payouts/dry-run-view.ts';
import { storeTraceContext } from '../tracing/trace-contexts.ts';
import { readUserToken } from '../users/users.routes.ts';
import { batchStatuses, listBatchRows } from './batches.sql.ts';
import { cancelBatch, commitBatch, getBatch } from './batches.ts';
import {
  batchAnswer,
  batchCommitAnswer,
  batchListAnswer,
  batchRowAnswer,
  viewBatch,
  writeBatch,
  writeBatchCommit,
  writeBatchRow,
} from './batches-view.ts';
import { writeResult } from './file/result-file.ts';
import { quoteBatch } from './quote.ts';
import { listReportRows, rowStatuses } from './row-report.sql.ts';
import { type BatchServices, batchUploadRoutes } from './upload.routes.ts';

type Context = RouteContext<BatchServices>;

const tag = 'Batches';
const batchParams = z.object({ batch_token: z.string() });

export function batchRoutes(): Route<BatchServices>[] {
  return [
    ...batchUploadRoutes(),
    listRoute(),
    statusRoute(),
    rowsRoute(),
    resultRoute(),
    quoteRoute(),
    commitRoute(),
    cancelRoute(),
  ];
}

/** The id in a path. @throws AppError not_found, also for a malformed token. */
function readBatchToken(token: string): string {
  const id = findTokenId('batch', token);
  if (id === undefined) throw new AppError('not_found', 'Batch not found');
  return id;
}

function placeOf({ env, accountId, request }: Context, session = env.db.tenant(accountId)) {
  return { session, accountId, path: request.path };
}

const listQuery = z.object({
  ...pageQuery,
  status: z.enum(batchStatuses).optional(),
  from: momentQuery.describe('Uploaded then or later, UTC'),
  to: momentQuery.describe('Uploaded by then, the day or second included'),
});

function listRoute(): Route<BatchServices> {
  return defineRoute({
    method: 'GET',
    path: '/batches',
    isVersioned: true,
    operationId: 'listBatches',
    tag,
    summary: 'List batches',
    description: 'Newest first, without faults, funds and payouts.',
    access: 'payouts:read',
    query: listQuery,
    response: batchListAnswer,
    handle: async ({ env, accountId, request }: Context, { query }): Promise<Page<unknown>> => {
      const count = query.number_of_records;
      const [cursor, times] = readTogether(
        () => readCursor(query.cursor, ['uuid']),
        () => readRange(query, ['from', 'to']),
      );
      const [beforeId] = cursor ?? [];
      const range = { accountId, beforeId, count: count + 1 };
      const filter = { status: query.status, ...times };
      const rows = await listBatchRows(env.db.tenant(accountId), range, filter);
      return toPage(rows, count, {
        cursor: ({ id }) => cursorOf([id]),
        write: (row) => {
          const path = `${request.path}/${formatToken('batch', row.id)}`;
          return writeBatch(row, { funds: [], faultRows: [], payouts: [], path });
        },
      });
    },
  });
}

function statusRoute(): Route<BatchServices> {
  return defineRoute({
    method: 'GET',
    path: '/batches/{batch_token}',
    isVersioned: true,
    operationId: 'getBatch',
    tag,
    summary: 'Read a batch',
    description: 'Progress, sums and faults of the batch. Poll it until `status` is COMMITTED.',
    access: 'payouts:read',
    params: batchParams,
    query: z.object({
      include_payouts: flag.describe('Count its payouts by status, which reads every row'),
    }),
    response: batchAnswer,
    refusals: [404],
    handle: async (context: Context, { params, query }) => {
      const place = placeOf(context);
      const { accountId, session } = place;
      const batch = await getBatch(session, {
        accountId,
        batchId: readBatchToken(params.batch_token),
      });
      return viewBatch(place, batch, { arePayoutsCounted: query.include_payouts === 'true' });
    },
  });
}

const rowsQuery = z.object({
  ...pageQuery,
  status: z.enum(rowStatuses).optional(),
  client_transfer_id: z.string().min(1).max(50).optional(),
  user_token: z.string().min(1).max(100).optional().describe('Only rows to this user'),
});

function rowsRoute(): Route<BatchServices> {
  return defineRoute({
    method: 'GET',
    path: '/batches/{batch_token}/rows',
    isVersioned: true,
    operationId: 'listBatchRows',
    tag,
    summary: 'List the rows of a batch',
    description: 'In file order, each with its faults or its payout.',
    access: 'payouts:read',
    params: batchParams,
    query: rowsQuery,
    response: z.array(batchRowAnswer),
    refusals: [404],
    handle: async ({ env, accountId }: Context, { params, query }): Promise<Page<unknown>> => {
      const session = env.db.tenant(accountId);
      const id = { accountId, batchId: readBatchToken(params.batch_token) };
      await getBatch(session, id);
      const count = query.number_of_records;
      const [after] = readCursor(query.cursor, ['row']) ?? [];
      const rows = await listReportRows(session, {
        ...id,
        afterNumber: Number(after ?? 0),
        count: count + 1,
        status: query.status,
        clientTransferId: query.client_transfer_id,
        userId: query.user_token === undefined ? undefined : readUserToken(query.user_token),
      });
      return toPage(rows, count, {
        cursor: ({ number }) => cursorOf([String(number)]),
        write: (row) => writeBatchRow(row, env.keys),
      });
    },
  });
}

function resultRoute(): Route<BatchServices> {
  return defineRoute({
    method: 'GET',
    path: '/batches/{batch_token}/result',
    isVersioned: true,
    operationId: 'getBatchResult',
    tag,
    summary: 'Download the result of a batch',
    description:
      'CSV, or with `Accept: application/x-ndjson` one JSON object per line. Every column of the uploaded file is there as `input.<column>` (in NDJSON as `input`), so that the result can be corrected and uploaded again: an upload that has such columns is read from them alone. In CSV an apostrophe precedes text that a spreadsheet would run as a formula; NDJSON has every value unchanged.',
    access: 'payouts:read',
    params: batchParams,
    response: null,
    produces: ['text/csv', 'application/x-ndjson'],
    refusals: [404],
    handle: async ({ env, accountId, request }: Context, { params }): Promise<Answer> => {
      const session = env.db.tenant(accountId);
      const batchId = readBatchToken(params.batch_token);
      await getBatch(session, { accountId, batchId });
      const format = chooseResultFormat(request.accept);
      const parts = writeResult({ session, keys: env.keys, accountId, batchId, format });
      const name = `${formatToken('batch', batchId)}.${format}`;
      return {
        status: 200,
        contentType:
          format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson',
        body: Readable.from(parts),
        headers: { 'content-disposition': `attachment; filename="${name}"` },
      };
    },
  });
}

function chooseResultFormat(accept: string): 'csv' | 'ndjson' {
  const lines = getPreference(accept, 'application/x-ndjson');
  const table = getPreference(accept, 'text/csv');
  if (lines.quality !== table.quality) return lines.quality > table.quality ? 'ndjson' : 'csv';
  return lines.isNamed && !table.isNamed ? 'ndjson' : 'csv';
}

function quoteRoute(): Route<BatchServices> {
  return defineRoute({
    method: 'POST',
    path: '/batches/{batch_token}/quote',
    isVersioned: true,
    operationId: 'quoteBatch',
    tag,
    summary: 'Quote a batch',
    description:
      'Locks the rates of all valid rows until `expiration`; reserves nothing. Can be repeated until the commit.',
    access: 'payouts:create',
    params: batchParams,
    response: batchAnswer,
    refusals: [404, 409],
    handle: async (context: Context, { params }) => {
      const { env, accountId, write } = context;
      const id = { accountId, batchId: readBatchToken(params.batch_token) };
      // Pricing uses transactions of its own, so only the answer is stored under the key: through
      // another pool, because concurrent requests would wait for connections that they hold.
      return write(async () => viewBatch(placeOf(context), await quoteBatch(env, id)), {
        isAcrossAccounts: true,
      });
    },
  });
}

const commitRequest = z
  .object({
    mode: z
      .enum(['all', 'valid'])
      .describe('all: fails if any row is invalid; valid: leaves invalid rows out'),
    quote_number: integerField({ min: 1, max: 2 ** 31 - 1 })
      .optional()
      .describe(
        'Of the quote whose prices were read: where the batch was quoted again since, nothing is committed. Without it, the newest quote is committed',
      ),
  })
  .meta({ id: 'BatchCommitRequest' });

function commitRoute(): Route<BatchServices> {
  return defineRoute({
    method: 'PUT',
    path: '/batches/{batch_token}',
    isVersioned: true,
    operationId: 'commitBatch',
    tag,
    summary: 'Commit a batch',
    description:
      'Reserves the money for all rows and starts the payouts, which cannot be undone. Answers 200 with the outcome in `status`; the payouts are created in the background. Committing a committed batch returns the same success again.',
    access: 'payouts:commit',
    params: batchParams,
    body: commitRequest,
    hasDryRun: true,
    response: batchCommitAnswer,
    refusals: [404],
    handle: async ({ env, accountId, principal, isDryRun, write }: Context, { params, body }) => {
      const batchId = readBatchToken(params.batch_token);
      const maker = getMaker(principal);
      const { mode, quote_number: quoteNumber } = body;
      const commit = { accountId, batchId, mode, quoteNumber, maker };
      env.recovery.refuse();
      const answer = await write(
        async (session) => {
          const result = await commitBatch(session, commit);
          await storeTraceContext(session, env.db.tracing, { accountId, subjectId: batchId });
          const committed = writeBatchCommit(params.batch_token, result);
          if (!isDryRun) return committed;
          return { ...committed, dry_run: await viewPostings(session, principal) };
        },
        { isOneEffect: true },
      );
      env.wakeBatches();
      return answer;
    },
  });
}

function cancelRoute(): Route<BatchServices> {
  return defineRoute({
    method: 'POST',
    path: '/batches/{batch_token}/cancel',
    isVersioned: true,
    operationId: 'cancelBatch',
    tag,
    summary: 'Cancel a batch',
    description:
      'Only before the commit; canceling a canceled batch returns the same answer again.',
    access: 'payouts:create',
    params: batchParams,
    response: batchAnswer,
    refusals: [404, 409],
    handle: (context: Context, { params }) => {
      const { accountId, write } = context;
      const id = { accountId, batchId: readBatchToken(params.batch_token) };
      return write(
        async (session) => viewBatch(placeOf(context, session), await cancelBatch(session, id)),
        { isOneEffect: true },
      );
    },
  });
}
