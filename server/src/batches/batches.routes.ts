import { Readable } from 'node:stream';
import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { findTokenId, formatToken } from '../core/ids.ts';
import type { Session } from '../db/postgres/pool.ts';
import { getPreference } from '../http/accept.ts';
import { answerOf } from '../http/idempotency.ts';
import { cursorOf, pageQuery, readCursor, toPage } from '../http/paging.ts';
import {
  type Answer,
  defineRoute,
  type Page,
  type Route,
  type RouteContext,
} from '../http/route.ts';
import { compileWriter, flag } from '../http/schema.ts';
import type { PayoutServices } from '../payouts/payouts.routes.ts';
import { type BatchRow, listBatchRows } from './batches.sql.ts';
import { cancelBatch, commitBatch, findFunds, getBatch, readTotals } from './batches.ts';
import {
  type BatchDetails,
  batchAnswer,
  batchCommitAnswer,
  batchListAnswer,
  batchRowAnswer,
  faultsShown,
  writeBatch,
  writeBatchRow,
} from './batches-view.ts';
import type { FileFormat, FileLimits } from './file/file-row.ts';
import { writeResult } from './file/result-file.ts';
import { readRowForm } from './file/row-form.routes.ts';
import { quoteBatch } from './quote.ts';
import { receiveBatch } from './receive.ts';
import { countPayouts, listReportRows, rowStatuses } from './row-report.sql.ts';

export type BatchServices = PayoutServices & {
  readonly batchLimits: FileLimits;
  /** Says that a batch waits to be worked off. */
  wakeBatches(): void;
};

type Context = RouteContext<BatchServices>;

const tag = 'Batches';
const batchParams = z.object({ batch_token: z.string() });

/** The most that a file may have; a router needs it before it knows the environment. */
export const batchBytesMax = 128 * 1024 * 1024;

export function batchRoutes(): Route<BatchServices>[] {
  return [
    uploadRoute(),
    listRoute(),
    statusRoute(),
    rowsRoute(),
    resultRoute(),
    quoteRoute(),
    commitRoute(),
    cancelRoute(),
  ];
}

const formats: Readonly<Record<string, FileFormat>> = {
  'text/csv': 'csv',
  'application/x-ndjson': 'ndjson',
  'application/json': 'json',
};

/** The answer of an upload is stored with the batch, so that its text is made by the handler. */
const writeUploaded = compileWriter(batchAnswer);

function uploadRoute(): Route<BatchServices> {
  return defineRoute({
    method: 'POST',
    path: '/batches',
    isVersioned: true,
    operationId: 'createBatch',
    tag,
    summary: 'Upload a batch of payouts',
    description:
      'One payout per row: CSV with a header, one JSON object per line, or a JSON array of objects. Columns are the fields of a payout request, with `user_token` or `internal_user_id` beside them; `client_transfer_id` is required. Every row is checked and priced, and nothing is reserved. With an `Idempotency-Key` the same file sent again is the same batch, and an upload that broke off goes on.',
    access: 'payouts:create',
    bodyBytesMax: batchBytesMax,
    uploads: 'batches',
    streams: Object.keys(formats),
    response: batchAnswer,
    refusals: [409, 422],
    handle: async (context: Context) => {
      const { env, accountId, upload } = context;
      const format = formats[upload?.mediaType ?? ''];
      if (upload === undefined || format === undefined) throw new Error('no upload to read');
      const { text, isRepeated } = await receiveBatch(
        { ...env, rates: env.rates, limits: env.batchLimits, readForm: readRowForm },
        {
          accountId,
          format,
          bytes: upload.bytes,
          record: upload.record,
          describe: async (session, batch) =>
            writeUploaded(await viewBatch(context, batch, { session })),
        },
      );
      return answerOf(text, isRepeated);
    },
  });
}

/** The batch that a path names. What is no token of a batch is just not found. */
function readBatchToken(token: string): string {
  const id = findTokenId('batch', token);
  if (id === undefined) throw new AppError('not_found', 'no such batch');
  return id;
}

/** A batch with what its rows, its payouts and the balances add to it. */
async function viewBatch(
  { env, accountId, request }: Context,
  batch: BatchRow,
  options: { session?: Session; arePayoutsCounted?: boolean } = {},
) {
  const { session = env.db.tenant(accountId), arePayoutsCounted = false } = options;
  const isOpen = batch.status === 'DRAFT' || batch.status === 'QUOTED';
  const totals = readTotals(batch);
  const id = { accountId, batchId: batch.id };
  const range = { ...id, afterNumber: 0, count: faultsShown, status: 'INVALID' } as const;
  const [prefix = ''] = request.path.split('/batches', 1);
  const details: BatchDetails = {
    funds: isOpen ? await findFunds(session, { accountId, totals }) : [],
    faultRows: batch.invalid_count === 0 ? [] : await listReportRows(session, range),
    payouts: arePayoutsCounted
      ? await countPayouts(session, { ...id, nextRow: batch.next_row })
      : [],
    path: `${prefix}/batches/${formatToken('batch', batch.id)}`,
  };
  return writeBatch(batch, details);
}

function listRoute(): Route<BatchServices> {
  return defineRoute({
    method: 'GET',
    path: '/batches',
    isVersioned: true,
    operationId: 'listBatches',
    tag,
    summary: 'List batches',
    description: 'The newest first, without the faults, funds and payouts of each.',
    access: 'payouts:read',
    query: z.object(pageQuery),
    response: batchListAnswer,
    handle: async ({ env, accountId, request }: Context, { query }): Promise<Page<unknown>> => {
      const count = query.number_of_records;
      const [beforeId] = readCursor(query.cursor, ['uuid']) ?? [];
      const range = { accountId, beforeId, count: count + 1 };
      const rows = await listBatchRows(env.db.tenant(accountId), range);
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
    access: 'payouts:read',
    params: batchParams,
    query: z.object({
      include_payouts: flag.describe('Counts its payouts by status, which reads every row'),
    }),
    response: batchAnswer,
    refusals: [404],
    handle: async (context: Context, { params, query }) => {
      const { env, accountId } = context;
      const id = { accountId, batchId: readBatchToken(params.batch_token) };
      const batch = await getBatch(env.db.tenant(accountId), id);
      const arePayoutsCounted = query.include_payouts === 'true';
      return viewBatch(context, batch, { arePayoutsCounted });
    },
  });
}

const rowsQuery = z.object({ ...pageQuery, status: z.enum(rowStatuses).optional() });

function rowsRoute(): Route<BatchServices> {
  return defineRoute({
    method: 'GET',
    path: '/batches/{batch_token}/rows',
    isVersioned: true,
    operationId: 'listBatchRows',
    tag,
    summary: 'List the rows of a batch',
    description: 'In the order of the file, each with its faults or its payout.',
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
      });
      return toPage(rows, count, {
        cursor: ({ number }) => cursorOf([String(number)]),
        write: writeBatchRow,
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
      'CSV, or with `Accept: application/x-ndjson` one JSON object per line. In CSV a text that a spreadsheet would run as a formula begins with an apostrophe; NDJSON has every value as it is.',
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
      const show = writeBatchRow;
      const parts = writeResult({ session, accountId, batchId, format, show });
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
      'Locks the rates of all valid rows until `expiration`; reserves nothing. May be asked for again until the commit.',
    access: 'payouts:create',
    params: batchParams,
    response: batchAnswer,
    refusals: [404, 409],
    handle: async (context: Context, { params }) => {
      const { env, accountId, write } = context;
      const id = { accountId, batchId: readBatchToken(params.batch_token) };
      // Pricing anew takes transactions of its own, so the answer alone is kept for the key; on a
      // connection of another pool, so that a crowd does not wait for connections it holds itself.
      return write(async () => viewBatch(context, await quoteBatch(env, id)), {
        isAcrossAccounts: true,
      });
    },
  });
}

const commitRequest = z
  .object({
    mode: z
      .enum(['all', 'valid'])
      .describe('all: fails where any row is invalid; valid: leaves invalid rows out'),
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
      'Sets the money for all rows aside and starts the payouts, which cannot be undone. Answers 200 with the outcome in `status`; the rows follow in the background. Committing a committed batch answers the same success again.',
    access: 'payouts:commit',
    params: batchParams,
    body: commitRequest,
    response: batchCommitAnswer,
    refusals: [404],
    handle: async ({ env, accountId, write }: Context, { params, body }) => {
      const commit = { accountId, batchId: readBatchToken(params.batch_token), mode: body.mode };
      env.recovery.refuse();
      const answer = await write(
        async (session) => ({
          batch_token: params.batch_token,
          ...(await commitBatch(session, commit)),
        }),
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
    description: 'Before the commit only; cancelling a cancelled batch answers the same again.',
    access: 'payouts:create',
    params: batchParams,
    response: batchAnswer,
    refusals: [404, 409],
    handle: (context: Context, { params }) => {
      const { accountId, write } = context;
      const id = { accountId, batchId: readBatchToken(params.batch_token) };
      return write(
        async (session) => viewBatch(context, await cancelBatch(session, id), { session }),
        {
          isOneEffect: true,
        },
      );
    },
  });
}
