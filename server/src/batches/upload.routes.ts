import { z } from 'zod';
import { getMaker } from '../core/access.ts';
import { findCountry } from '../core/country.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { findTokenId } from '../core/ids.ts';
import { hashMetadata } from '../core/metadata-hashes.ts';
import { answerOf } from '../http/idempotency.ts';
import { defineRoute, type Route, type RouteContext, type RouteSpec } from '../http/route.ts';
import { createWriter, textField } from '../http/schema.ts';
import { describeIssue } from '../http/validation.ts';
import {
  findAmountFaults,
  isGiven,
  payoutFields,
  type scheduleFields,
} from '../payouts/payout-request.routes.ts';
import type { PayoutServices } from '../payouts/payouts.routes.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';
import { batchAnswer, viewBatch } from './batches-view.ts';
import type { DraftRow, RowForm } from './draft-row.ts';
import {
  batchBytesMax,
  type FileFormat,
  type FileLimits,
  type FileRow,
  type RowFault,
  type RowFields,
} from './file/file-row.ts';
import { receiveBatch } from './receive.ts';

/** The upload of a batch, and the columns of its file. */

export type BatchServices = PayoutServices & {
  readonly batchLimits: FileLimits;
  /** Wakes the loop that commits batches. */
  wakeBatches(): void;
};

const singleOnly = z
  .never({ error: 'must be empty: a batch is paid when it is committed' })
  .optional();

/** One row: the fields of a single payout's request, and the recipient. */
const rowRequest = z
  .object({
    ...payoutFields,
    user_token: z.string().max(100).optional(),
    internal_user_id: textField(75).optional(),
    delivery_type: z.enum(deliveryTypes).optional(),
    country_code: z
      .string()
      .refine((code) => findCountry(code) !== undefined, {
        error: 'must be an ISO 3166-1 alpha-3 code',
      })
      .optional(),
  })
  .omit({ source_token: true })
  // A row that names another time must not be paid now.
  .extend({
    scheduled_for: singleOnly,
    max_source_amount: singleOnly,
    min_destination_amount: singleOnly,
  } satisfies Record<keyof typeof scheduleFields, unknown>)
  .required({ client_transfer_id: true });

const validFields = rowRequest.partial();

const columnNames = Object.keys(rowRequest.shape);
const recipientColumns = ['user_token', 'internal_user_id'] as const;
const { metadata: _, ...columnFields } = rowRequest.shape;

/** The columns of a file, and the reader of its rows. */
export const rowForm: RowForm = {
  columns: {
    names: new Set(Object.keys(columnFields)),
    required: [
      ...Object.entries(columnFields)
        .filter(([, schema]) => !schema.isOptional())
        .map(([name]) => [name]),
      recipientColumns,
      ['destination_token', 'delivery_type'],
      ['source_amount', 'destination_amount'],
    ],
  },
  read: readRow,
};

/** A UUID that no row has, in place of a malformed token: neither is found. */
const nilUuid = '00000000-0000-0000-0000-000000000000';

/** Reads the valid fields of a row and reports the others. */
function readRow({ line, fields, fault }: FileRow, number: number): DraftRow {
  const cells = readCells(fields);
  const result = rowRequest.safeParse(cells);
  const columnFaults = listColumnFaults(cells, result.error?.issues ?? []);
  for (const { column } of columnFaults) delete cells[column];
  const valid = result.success ? result.data : validFields.parse(cells);
  const { user_token: userToken, attr_set_token: setToken, metadata } = valid;
  const isCurrencyGiven = fault !== undefined || isGiven(fields['source_currency_code']);
  const hasMetadata = metadata !== undefined && Object.keys(metadata).length > 0;
  return {
    number,
    line,
    faults: fault === undefined ? [...columnFaults, ...listGroupFaults(fields)] : [fault],
    clientTransferId: valid.client_transfer_id,
    userId: userToken === undefined ? undefined : (findTokenId('user', userToken) ?? nilUuid),
    internalUserId: valid.internal_user_id,
    destinationToken: valid.destination_token,
    deliveryType: valid.delivery_type,
    countryCode: valid.country_code,
    destinationCurrency: valid.destination_currency_code,
    sourceCurrency: isCurrencyGiven ? valid.source_currency_code : 'USD',
    amount: readAmount(valid),
    attrSetId:
      setToken === undefined ? undefined : (findTokenId('attributeSet', setToken) ?? nilUuid),
    notifyUser: valid.notify_user ?? false,
    metadata: hasMetadata ? JSON.stringify(metadata) : undefined,
    metadataHashes: hasMetadata ? hashMetadata(metadata) : [],
  };
}

/** An empty text counts as absent. A text may stand for a number or a flag, as all do in CSV. */
function readCells(fields: RowFields): { [column: string]: unknown } {
  const cells: { [column: string]: unknown } = {};
  for (const column of columnNames) {
    const value = fields[column];
    if (isGiven(value)) cells[column] = typeof value === 'string' ? readText(column, value) : value;
  }
  return cells;
}

function readText(column: string, text: string): unknown {
  // A spreadsheet writes a long number with an exponent and few digits: 1.23E+11 is no longer what was meant.
  if (column.endsWith('_amount')) return new JsonNumber(/e/i.test(text) ? '' : text);
  if (column !== 'notify_user') return text;
  const word = text.toLowerCase();
  if (word === 'true') return true;
  return word === 'false' ? false : text;
}

/** The first fault of each column. */
function listColumnFaults(cells: object, issues: readonly z.core.$ZodIssue[]): RowFault[] {
  const faults = new Map<string, RowFault>();
  for (const issue of issues) {
    const column = String(issue.path[0]);
    if (faults.has(column)) continue;
    const { code, detail } = describeIssue(issue, cells, () => ({}));
    faults.set(column, { column, code, detail });
  }
  return [...faults.values()];
}

/** Faults in how columns go together. */
function listGroupFaults(fields: RowFields): RowFault[] {
  const faults = findAmountFaults(fields).map(({ pointer = '', code, detail }) => ({
    column: pointer.slice(1),
    code,
    detail,
  }));
  if (!recipientColumns.some((column) => isGiven(fields[column]))) {
    const detail = 'user_token or internal_user_id is required';
    faults.unshift({ column: 'user_token', code: 'required', detail });
  }
  const hasToken = isGiven(fields['destination_token']);
  if (hasToken === isGiven(fields['delivery_type'])) {
    faults.unshift(
      hasToken
        ? {
            column: 'delivery_type',
            code: 'invalid_value',
            detail: 'delivery_type excludes destination_token: give exactly one',
          }
        : {
            column: 'destination_token',
            code: 'required',
            detail: 'destination_token or delivery_type is required',
          },
    );
  }
  return faults;
}

/** The decimal text of the one amount that is given; its currency decides how many digits it has. */
function readAmount(valid: z.infer<typeof validFields>): DraftRow['amount'] {
  const { source_amount: source, destination_amount: destination } = valid;
  if ((source === undefined) === (destination === undefined)) return undefined;
  return source === undefined
    ? { side: 'destination', text: destination?.text ?? '' }
    : { side: 'source', text: source.text };
}

const formats: Readonly<Record<string, FileFormat>> = {
  'text/csv': 'csv',
  'application/x-ndjson': 'ndjson',
  'application/json': 'json',
};

const uploadQuery = z.object({
  name: textField(100).optional().describe('A name of your own, shown with the batch'),
});

/** The answer is stored with the batch, so the handler writes its text. */
const writeUploaded = createWriter(batchAnswer);

/** The second takes CSV alone: generated clients take one media type per operation. */
export function batchUploadRoutes(): Route<BatchServices>[] {
  return [
    uploadRoute({
      path: '/batches',
      operationId: 'createBatch',
      summary: 'Upload a batch of payouts',
      description:
        'One payout per row: CSV with a header, one JSON object per line, or a JSON array of objects. Columns are the fields of a payout request plus `user_token` or `internal_user_id`; `client_transfer_id` is required. Every row is checked and priced, and nothing is reserved. With an `Idempotency-Key`, the same file sent again returns the same batch, and an interrupted upload resumes.',
      streams: Object.keys(formats),
    }),
    uploadRoute({
      path: '/batches/csv',
      operationId: 'createBatchFromCsv',
      summary: 'Upload a batch of payouts as CSV',
      description: 'The same as `POST /batches`, for a file in CSV with a header.',
      streams: ['text/csv'],
    }),
  ];
}

type UploadSpec = Pick<
  RouteSpec<BatchServices, unknown, unknown, unknown>,
  'path' | 'operationId' | 'summary'
> & { description: string; streams: readonly string[] };

function uploadRoute(spec: UploadSpec): Route<BatchServices> {
  return defineRoute({
    ...spec,
    method: 'POST',
    isVersioned: true,
    tag: 'Batches',
    access: 'payouts:create',
    query: uploadQuery,
    bodyBytesMax: batchBytesMax,
    uploads: 'batches',
    response: batchAnswer,
    refusals: [409, 422],
    handle: async (context: RouteContext<BatchServices>, { query }) => {
      const { env, accountId, upload, request, principal } = context;
      const format = formats[upload?.mediaType ?? ''];
      if (upload === undefined || format === undefined) throw new Error('the route has no upload');
      const { text, isRepeated } = await receiveBatch(
        { ...env, rates: env.rates, limits: env.batchLimits, rowForm },
        {
          accountId,
          format,
          name: query.name ?? '',
          maker: getMaker(principal),
          bytes: upload.bytes,
          record: upload.record,
          describe: async (session, batch) =>
            writeUploaded(await viewBatch({ session, accountId, path: request.path }, batch)),
        },
      );
      return answerOf(text, isRepeated);
    },
  });
}
