import { z } from 'zod';
import { describeIdentity, describeMissingTypes } from '../attributes/attributes.ts';
import { missingAnswer } from '../attributes/missing.ts';
import { getProfile } from '../attributes/requirements.ts';
import { formatSeconds } from '../core/clock.ts';
import { getCurrency } from '../core/currency.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import { openPickupCode } from '../core/pickup-code.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { amountAnswer } from '../http/schema.ts';
import { batchDryRun } from '../payouts/dry-run-view.ts';
import { shortfallAnswer, writeShortfall } from '../payouts/obstacle-view.ts';
import { rateFields, writeRates } from '../payouts/rates-view.ts';
import { type BatchRow, type BatchTotal, batchStatuses, batchTotal } from './batches.sql.ts';
import { type BatchCommitAnswer, type BatchFunds, batchRefusals, findFunds } from './batches.ts';
import { faultFields, fileFormats, type RowFault } from './file/file-row.ts';
import { countPayouts, listReportRows, type ReportRow, rowStatuses } from './row-report.sql.ts';

/** A batch and its rows in the API. */

const totalAnswer = z
  .object({
    source_currency_code: z.string(),
    destination_currency_code: z.string(),
    exchange_rate: amountAnswer.describe(
      'All-in: destinations with different margins have different rates',
    ),
    rows: z.int(),
    source_amount: amountAnswer,
    fee: amountAnswer,
    destination_amount: amountAnswer,
  })
  .meta({ id: 'BatchTotal' });

const fundsAnswer = z
  .object({
    currency_code: z.string(),
    needed: amountAnswer.describe('Amounts and fees of the valid rows'),
    available: amountAnswer,
  })
  .meta({ id: 'BatchFunds' });

const shownFault = {
  ...faultFields,
  missing: z.array(missingAnswer).describe('What the recipient lacks; empty for other faults'),
};

export const batchAnswer = z
  .object({
    batch_token: z.string(),
    name: z.string().describe('As given at the upload; "" where none was given'),
    status: z.enum(batchStatuses),
    format: z.enum(fileFormats).describe('The format of the uploaded file'),
    rows: z.object({
      total: z.int().describe('All rows of the file'),
      valid: z.int().describe('Rows that can become payouts'),
      invalid: z.int().describe('Rows with faults'),
      repeated: z.int().describe('Committed before with the same terms: not paid again'),
      committed: z.int().describe('Rows that became payouts'),
      refused: z
        .int()
        .describe('Valid rows that could not be committed; `faults` of the row says why'),
      stored_details: z
        .int()
        .describe("Valid rows without attr_set_token, which use the recipient's stored details"),
    }),
    ignored_columns: z.array(z.string()).describe('Columns of the file that are not known here'),
    totals: z.array(totalAnswer).describe('The sums of valid rows, by pair of currencies'),
    funds: z.array(fundsAnswer).describe('Only before the commit'),
    faults: z
      .array(z.object({ row: z.int(), line: z.int(), ...shownFault }).meta({ id: 'BatchFault' }))
      .describe('Of the first rows with faults'),
    faults_path: z.string().describe('The path of all rows with faults; "" where there are none'),
    payouts: z
      .record(z.string(), z.int())
      .describe('The number of payouts by status; with `include_payouts` only'),
    created_on: z.string(),
    quoted_on: z.string().describe('When the rates were locked, UTC; "" before'),
    quote_number: z.int().describe('Counts the quotes of the batch; 0 before the first'),
    expiration: z.string().describe('The end of the quote'),
    committed_on: z.string().describe('When the last row was committed or refused, UTC; "" before'),
    completed_on: z.string().describe('When the last payout ended, UTC; "" before'),
  })
  .meta({ id: 'Batch' });

export const batchListAnswer = z.array(batchAnswer);

export const batchRowAnswer = z
  .object({
    row: z.int().describe('1 is the first row of data'),
    line: z.int(),
    status: z.enum(rowStatuses),
    client_transfer_id: z.string(),
    user_token: z.string(),
    source_currency_code: z.string(),
    source_amount: amountAnswer
      .optional()
      .describe('This and the other amounts and rates only for rows with a price'),
    fee: amountAnswer.optional(),
    destination_amount: amountAnswer.optional(),
    exchange_rate: rateFields.exchange_rate.optional(),
    mid_rate: rateFields.mid_rate.optional(),
    margin: rateFields.margin.optional(),
    destination_token: z.string(),
    destination_currency_code: z.string(),
    payout_token: z.string().describe('"" until the row is committed'),
    payout_status: z.string(),
    status_reason: z.string(),
    pickup_code: z.string(),
    faults: z.array(z.object(shownFault).meta({ id: 'BatchRowFault' })),
    details: z
      .enum(['', 'row', 'stored'])
      .describe('row: the row names attr_set_token; stored: it uses the stored details'),
    attr_set_token: z.string().describe('The attribute set of the payout; "" where it has none'),
    details_stored_on: z.string().describe('When the values of that set were stored, UTC'),
  })
  .meta({ id: 'BatchRow' });

export const batchCommitAnswer = z
  .object({
    batch_token: z.string(),
    status: z.enum(['success', 'failure', 'ex_rate_expired']),
    errors: z.string(),
    code: z.enum(batchRefusals).optional().describe('Why it is not a success'),
    shortfalls: z
      .array(shortfallAnswer)
      .optional()
      .describe('Of insufficient funds: what each balance lacks'),
    dry_run: batchDryRun.optional().describe('Of a dry run only'),
  })
  .meta({ id: 'BatchCommitResult' });

export function writeBatchCommit(batchToken: string, answer: BatchCommitAnswer) {
  const { shortfalls, ...rest } = answer;
  return {
    batch_token: batchToken,
    ...rest,
    ...(shortfalls !== undefined && { shortfalls: shortfalls.map(writeShortfall) }),
  };
}

type BatchDetails = {
  funds: readonly BatchFunds[];
  faultRows: readonly ReportRow[];
  payouts: readonly { status: string; count: number }[];
  /** The path of the batch, without a query. */
  path: string;
};

/** The number of faults in a batch's own answer. */
const faultsShown = 100;

/** A batch with its faults, the funds that it needs, and on request its payouts. */
export async function viewBatch(
  { session, accountId, path }: { session: Session; accountId: string; path: string },
  batch: BatchRow,
  { arePayoutsCounted = false } = {},
) {
  const isOpen = batch.status === 'DRAFT' || batch.status === 'QUOTED';
  const id = { accountId, batchId: batch.id };
  const range = { ...id, afterNumber: 0, count: faultsShown, status: 'INVALID' } as const;
  const [prefix = ''] = path.split('/batches', 1);
  return writeBatch(batch, {
    funds: isOpen ? await findFunds(session, { accountId, totals: batch.totals }) : [],
    faultRows: batch.invalid_count === 0 ? [] : await listReportRows(session, range),
    payouts: arePayoutsCounted
      ? await countPayouts(session, { ...id, nextRow: batch.next_row })
      : [],
    path: `${prefix}/batches/${formatToken('batch', batch.id)}`,
  });
}

const storedTime = z.coerce.date().nullable();

/** What an event stores of a batch: see `write_batch_event`. */
const storedBatch = z.object({
  id: z.string(),
  name: z.string(),
  status: z.enum(batchStatuses),
  format: z.enum(fileFormats),
  ignored_columns: z.string().transform((text) => z.array(z.string()).parse(JSON.parse(text))),
  row_count: z.int(),
  valid_count: z.int(),
  invalid_count: z.int(),
  repeated_count: z.int(),
  committed_count: z.int(),
  refused_count: z.int(),
  stored_details_count: z.int(),
  totals: z.string().transform((text) => z.array(batchTotal).parse(JSON.parse(text))),
  created_at: z.coerce.date(),
  quoted_at: storedTime,
  quote_number: z.int(),
  expires_at: storedTime,
  committed_at: storedTime,
  completed_at: storedTime,
});
type BatchState = z.infer<typeof storedBatch>;

/** A batch as an event stored it, without the figures that come from its rows and the balance. */
export function writeStoredBatch(payload: string, path: string) {
  const batch = storedBatch.parse(JSON.parse(payload));
  return writeBatch(batch, { funds: [], faultRows: [], payouts: [], path });
}

export function writeBatch(batch: BatchState, details: BatchDetails) {
  const { funds, faultRows, payouts, path } = details;
  const at = (time: Date | null): string => (time === null ? '' : formatSeconds(time));
  return {
    batch_token: formatToken('batch', batch.id),
    name: batch.name,
    status: batch.status,
    format: batch.format,
    rows: {
      total: batch.row_count,
      valid: batch.valid_count,
      invalid: batch.invalid_count,
      repeated: batch.repeated_count,
      committed: batch.committed_count,
      refused: batch.refused_count,
      stored_details: batch.stored_details_count,
    },
    ignored_columns: batch.ignored_columns,
    totals: batch.totals.map(writeTotal),
    funds: funds.map(({ currency, neededMinor, availableMinor }) => ({
      currency_code: currency,
      needed: writeAmount(neededMinor, currency),
      available: writeAmount(availableMinor, currency),
    })),
    faults: faultRows
      .flatMap((row) =>
        (row.faults ?? []).map((fault) => ({
          row: row.number,
          line: row.line,
          ...writeFault(fault),
        })),
      )
      .slice(0, faultsShown),
    faults_path: batch.invalid_count === 0 ? '' : `${path}/rows?status=INVALID`,
    payouts: Object.fromEntries(payouts.map(({ status, count }) => [status, count])),
    created_on: at(batch.created_at),
    quoted_on: at(batch.quoted_at),
    quote_number: batch.quote_number,
    expiration: at(batch.expires_at),
    committed_on: at(batch.committed_at),
    completed_on: at(batch.completed_at),
  };
}

function writeTotal(total: BatchTotal) {
  return {
    source_currency_code: total.source,
    destination_currency_code: total.destination,
    exchange_rate: new JsonNumber(total.rate),
    rows: total.rows,
    source_amount: writeAmount(total.sourceMinor, total.source),
    fee: writeAmount(total.feeMinor, total.source),
    destination_amount: writeAmount(total.destinationMinor, total.destination),
  };
}

function writeAmount(minor: bigint, code: string): JsonNumber {
  return new JsonNumber(formatAmount(minor, getCurrency(code)));
}

function writeFault({ lacks, ...fault }: RowFault) {
  if (lacks === undefined) return { ...fault, missing: [] };
  const { attributes, identity, ...corridor } = lacks;
  const profile = getProfile(corridor);
  const missing = describeMissingTypes(profile, attributes);
  if (identity !== undefined)
    missing.push(describeIdentity(profile, { code: identity, reason: '' }));
  return { ...fault, missing };
}

function findPickupCode(row: ReportRow, keys: KeyRing): string {
  const { account_id: accountId, user_id: userId, payout_id: payoutId, data_key: dataKey } = row;
  if (userId === null || payoutId === null) return '';
  const stored = row.pickup_code ?? '';
  return openPickupCode(keys, { accountId, userId, payoutId, stored, dataKey });
}

export function writeBatchRow(row: ReportRow, keys: KeyRing) {
  const { source_currency: source, destination_currency: destination } = row;
  const { exchange_rate: rate, mid_rate: mid } = row;
  const amount = (minor: bigint | null, code: string | null): JsonNumber | undefined =>
    minor === null || code === null ? undefined : writeAmount(minor, code);
  return {
    row: row.number,
    line: row.line,
    status: row.status,
    client_transfer_id: row.client_transfer_id ?? '',
    user_token: row.user_id === null ? '' : formatToken('user', row.user_id),
    source_currency_code: source ?? '',
    source_amount: amount(row.source_amount, source),
    fee: amount(row.fee, source),
    destination_amount: amount(row.destination_amount, destination),
    ...(rate !== null && mid !== null && writeRates({ exchange_rate: rate, mid_rate: mid })),
    destination_token: row.destination_token ?? '',
    destination_currency_code: destination ?? '',
    payout_token: row.payout_id === null ? '' : formatToken('payout', row.payout_id),
    payout_status: row.payout_status ?? '',
    status_reason: row.status_reason ?? '',
    pickup_code: findPickupCode(row, keys),
    faults: (row.faults ?? []).map(writeFault),
    details: row.details ?? '',
    attr_set_token: row.attr_set_id === null ? '' : formatToken('attributeSet', row.attr_set_id),
    details_stored_on: row.details_stored_at === null ? '' : formatSeconds(row.details_stored_at),
  };
}
