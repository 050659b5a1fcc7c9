import { sessionStatus } from '../attributes/attributes.ts';
import { formatRate } from '../core/rate.ts';
import { plainArray, textArray } from '../db/arrays.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, one, type RowOf } from '../db/rows.ts';
import type { Quote } from '../destinations/quote.ts';
import type { Fenced } from './batches.sql.ts';
import type { CheckedRow } from './draft-row.ts';
import type { RowFault } from './file/file-row.ts';
import type { RowTerms } from './row-terms.ts';

/** Stores the rows of a batch in portions, and prices them again. */

/**
 * One statement per portion: the batch's counts, and the rows with the terms that many of them
 * share. It stores nothing where the fence is outdated or rows are missing in between.
 */
const storeQuery = defineQuery({
  name: 'store_batch_rows',
  text: `
    with held as (
      update batches b
      set row_count = b.row_count + $5, valid_count = b.valid_count + $6,
        invalid_count = b.invalid_count + $7, repeated_count = b.repeated_count + $8,
        stored_details_count = b.stored_details_count + $47,
        content_hash = $9, ignored_columns = $10, rates = $11,
        lock_seconds = least(b.lock_seconds, $12),
        lease_until = clock_timestamp() + $13 * interval '1 millisecond',
        updated_at = environment_now()
      where b.account_id = $1 and b.id = $2 and b.fence = $3 and b.status = 'RECEIVING'
        and b.row_count = $4
      returning b.id
    ), stored as (
      insert into batch_rows (account_id, batch_id, number, line, status, payout_id,
        client_transfer_id, user_id, given_side, source_amount, fee, destination_amount,
        rounding_nano, attr_set_id, attr_version, needs_verification, notify_user, metadata,
        metadata_hashes, faults, source_token, source_currency, destination_token,
        destination_currency, exchange_rate, mid_rate, rail, payer_key, payer_name,
        delivery_type, country, needs_attributes, estimated_availability, details,
        provider_price)
      select $1, $2, r.number, r.line, r.status, r.payout_id, r.client_transfer_id, r.user_id,
        r.given_side, r.source_amount, r.fee, r.destination_amount, r.rounding_nano,
        r.attr_set_id, r.attr_version, r.needs_verification, r.notify_user, r.metadata,
        r.metadata_hashes::bytea[], r.faults, t.source_token, t.source_currency,
        t.destination_token, t.destination_currency, t.exchange_rate, t.mid_rate, t.rail,
        t.payer_key, t.payer_name, t.delivery_type, t.country, t.needs_attributes,
        t.estimated_availability, r.details, t.provider_price
      from unnest($14::integer[], $15::integer[], $16::text[], $17::uuid[], $18::text[],
        $19::uuid[], $20::text[], $21::bigint[], $22::bigint[], $23::bigint[], $24::bigint[],
        $25::uuid[], $26::integer[], $27::boolean[], $28::boolean[], $29::text[], $30::text[],
        $31::text[], $32::integer[], $46::text[])
        as r (number, line, status, payout_id, client_transfer_id, user_id, given_side,
          source_amount, fee, destination_amount, rounding_nano, attr_set_id, attr_version,
          needs_verification, notify_user, metadata, metadata_hashes, faults, term, details)
      left join unnest($33::uuid[], $34::text[], $35::uuid[], $36::text[], $37::text[],
        $38::text[], $39::text[], $40::text[], $41::text[], $42::text[], $43::text[], $44::boolean[],
        $45::timestamptz[], $48::text[]) with ordinality
        as t (source_token, source_currency, destination_token, destination_currency,
          exchange_rate, mid_rate, rail, payer_key, payer_name, delivery_type, country,
          needs_attributes, estimated_availability, provider_price, ord) on t.ord = r.term
      where exists (select from held)
    )
    select count(*)::integer as count from held`,
  columns: { count: column.integer },
});

export type StoredPortion = Fenced & {
  /** Rows stored so far. */
  rowsBefore: number;
  contentHash: Buffer;
  ignoredColumns: string;
  /** The rates of all rows up to these, as JSON; '' where they differ. */
  rates: string;
  leaseMs: number;
  rows: readonly CheckedRow[];
};

/** False where another process has taken over the batch, or it is not RECEIVING. */
export async function storeRows(session: Session, portion: StoredPortion): Promise<boolean> {
  const { rows } = portion;
  const count = (status: CheckedRow['status']): number =>
    rows.reduce((sum, row) => sum + (row.status === status ? 1 : 0), 0);
  const terms = indexTerms(rows);
  const stored = await one(session, storeQuery, [
    portion.accountId,
    portion.batchId,
    portion.fence,
    portion.rowsBefore,
    rows.length,
    count('VALID'),
    count('INVALID'),
    count('REPEATED'),
    portion.contentHash,
    portion.ignoredColumns,
    portion.rates,
    findLockSeconds(rows) ?? null,
    portion.leaseMs,
    ...listRowColumns(rows, terms),
    ...listTermsColumns([...terms.keys()], rows),
    textArray(rows.map(findDetailsSource)),
    rows.filter((row) => findDetailsSource(row) === 'stored').length,
    listProviderPrices([...terms.keys()], rows),
  ]);
  return stored.count === 1;
}

/** Whether a valid row names the recipient's details itself or takes the stored ones. */
function findDetailsSource({ draft, set }: CheckedRow): 'row' | 'stored' | undefined {
  if (set === undefined) return undefined;
  return draft.attrSetId === undefined ? 'stored' : 'row';
}

/** The shortest rate lock of the valid rows. */
function findLockSeconds(rows: readonly CheckedRow[]): number | undefined {
  const locks = new Set(rows.map(({ terms }) => terms?.lockSeconds));
  locks.delete(undefined);
  return locks.size === 0 ? undefined : Math.min(...(locks as Set<number>));
}

/** The terms of the rows with their place, from 1, in the list that the statement receives. */
function indexTerms(rows: readonly CheckedRow[]): Map<RowTerms, number> {
  const index = new Map<RowTerms, number>();
  for (const { terms } of rows) {
    if (terms !== undefined && !index.has(terms)) index.set(terms, index.size + 1);
  }
  return index;
}

function listRowColumns(
  rows: readonly CheckedRow[],
  terms: ReadonlyMap<RowTerms, number>,
): string[] {
  const plain = (read: (row: CheckedRow) => string | number | bigint | boolean | undefined) =>
    plainArray(rows.map(read));
  const text = (read: (row: CheckedRow) => string | undefined) => textArray(rows.map(read));
  return [
    plain(({ draft }) => draft.number),
    plain(({ draft }) => draft.line),
    plain(({ status }) => status),
    plain(({ payoutId }) => payoutId),
    text(({ draft }) => draft.clientTransferId),
    plain(({ userId }) => userId),
    plain(({ draft, quote }) => (quote === undefined ? undefined : draft.amount?.side)),
    plain(({ quote }) => quote?.sourceMinor),
    plain(({ quote }) => quote?.feeMinor),
    plain(({ quote }) => quote?.destinationMinor),
    plain(({ quote }) => quote?.roundingNano),
    plain(({ set }) => set?.id),
    plain(({ set }) => set?.version),
    plain(({ quote }) => quote?.verificationRequired),
    plain(({ draft, status }) => (status === 'VALID' ? draft.notifyUser : undefined)),
    text(({ metadata }) => metadata?.text),
    text(({ metadata }) => (metadata === undefined ? undefined : writeHashes(metadata.hashes))),
    text(({ draft }) => (draft.faults.length === 0 ? undefined : JSON.stringify(draft.faults))),
    plain(({ terms: own }) => (own === undefined ? undefined : terms.get(own))),
  ];
}

/** The text form of a bytea[]: arrays of arrays must have equal lengths, and these do not. */
export function writeHashes(hashes: readonly Buffer[]): string | undefined {
  if (hashes.length === 0) return undefined;
  const entries = hashes.map((hash) => `"\\\\x${hash.toString('hex')}"`);
  return `{${entries.join(',')}}`;
}

function listTermsColumns(terms: readonly RowTerms[], rows: readonly CheckedRow[]): unknown[][] {
  const quotes = findQuotes(rows);
  const rate = (own: RowTerms, of: 'rate' | 'midRate'): string | undefined => {
    const quote = quotes.get(own);
    return quote && formatRate(quote[of]);
  };
  const list = (read: (own: RowTerms) => unknown): unknown[] => terms.map(read);
  return [
    list(({ sourceToken }) => sourceToken),
    list(({ sourceCurrency }) => sourceCurrency),
    list(({ payer }) => payer.destinationToken),
    list(({ destinationCurrency }) => destinationCurrency),
    list((own) => rate(own, 'rate')),
    list((own) => rate(own, 'midRate')),
    list(({ payer }) => payer.railName),
    list(({ payer }) => payer.key),
    list(({ payer }) => payer.name),
    list(({ payer }) => payer.deliveryType),
    list(({ payer }) => payer.country.code),
    list((own) => own.needsAttributes),
    list(({ estimatedAvailability }) => estimatedAvailability),
  ];
}

/** Rows of the same terms have the same payer and pair, so the same rates and provider's price. */
function findQuotes(rows: readonly CheckedRow[]): Map<RowTerms, Quote> {
  const quotes = new Map<RowTerms, Quote>();
  for (const { terms: own, quote } of rows) {
    if (own !== undefined && quote !== undefined && !quotes.has(own)) quotes.set(own, quote);
  }
  return quotes;
}

function listProviderPrices(
  terms: readonly RowTerms[],
  rows: readonly CheckedRow[],
): (string | null)[] {
  const quotes = findQuotes(rows);
  return terms.map((own) => quotes.get(own)?.providerPrice?.text ?? null);
}

const pricingColumns = {
  number: column.integer,
  given_side: column.oneOf('source', 'destination'),
  source_currency: column.text,
  source_amount: column.bigint,
  destination_token: column.uuid,
  destination_currency: column.text,
  destination_amount: column.bigint,
  kyc_status: column.text,
  session_status: nullable(column.text),
  has_stored_details: column.boolean,
};

const findForPricingQuery = defineQuery({
  name: 'find_batch_rows_to_price',
  text: `
    select r.number, r.given_side, r.source_currency, r.source_amount, r.destination_token,
      r.destination_currency, r.destination_amount, u.kyc_status,
      ${sessionStatus} as session_status,
      coalesce(r.details = 'stored', false) as has_stored_details
    from batch_rows r
    join users u on u.account_id = r.account_id and u.id = r.user_id
    where r.account_id = $1 and r.batch_id = $2 and r.number > $3 and r.status = 'VALID'
    order by r.number limit $4`,
  columns: pricingColumns,
});

const priceQuery = defineQuery({
  name: 'price_batch_rows',
  text: `
    with held as (
      update batches b
      set valid_count = b.valid_count - $4, invalid_count = b.invalid_count + $4,
        stored_details_count = b.stored_details_count - $16,
        lease_until = clock_timestamp() + $5 * interval '1 millisecond'
      where b.account_id = $1 and b.id = $2 and b.fence = $3 and b.status = 'DRAFT'
      returning b.id
    ), found as materialized (
      select n.*, found.place
      from unnest($6::integer[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[],
        $11::bigint[], $12::text[], $13::text[], $14::boolean[], $15::timestamptz[],
        $17::text[])
        as n (number, faults, source_amount, fee, destination_amount, rounding_nano,
          exchange_rate, mid_rate, needs_verification, estimated_availability, provider_price)
      -- One look-up per row. Without statistics of a table that has just been filled, the planner
      -- chooses a join that reads the whole batch for every portion: 110 us per row instead of 20.
      cross join lateral (
        select x.ctid as place from batch_rows x
        where x.account_id = $1 and x.batch_id = $2 and x.number = n.number
        offset 0
      ) found
    ), priced as (
      update batch_rows r
      set status = case when n.faults is null then r.status else 'INVALID' end,
        faults = n.faults,
        source_amount = coalesce(n.source_amount, r.source_amount),
        fee = coalesce(n.fee, r.fee),
        destination_amount = coalesce(n.destination_amount, r.destination_amount),
        rounding_nano = coalesce(n.rounding_nano, r.rounding_nano),
        exchange_rate = coalesce(n.exchange_rate, r.exchange_rate),
        mid_rate = coalesce(n.mid_rate, r.mid_rate),
        needs_verification = coalesce(n.needs_verification, r.needs_verification),
        estimated_availability = coalesce(n.estimated_availability, r.estimated_availability),
        provider_price = case when n.faults is null then n.provider_price else r.provider_price end
      from found n
      where r.ctid = n.place and exists (select from held)
    )
    select count(*)::integer as count from held`,
  columns: { count: column.integer },
});

/** The fields of a row that its price depends on. */
export type PricingRow = RowOf<typeof pricingColumns>;

export async function findRowsToPrice(
  session: Session,
  range: { accountId: string; batchId: string; afterNumber: number; count: number },
): Promise<PricingRow[]> {
  const { accountId, batchId, afterNumber, count } = range;
  return many(session, findForPricingQuery, [accountId, batchId, afterNumber, count]);
}

export type PricedRow = {
  number: number;
  hasStoredDetails: boolean;
  /** Why the row cannot be paid at the new price; then nothing else of it changes. */
  faults: readonly RowFault[] | undefined;
  terms: RowTerms | undefined;
  quote: Quote | undefined;
};

/** False where another process has taken over the batch. */
export async function priceRows(
  session: Session,
  portion: Fenced & { leaseMs: number; rows: readonly PricedRow[] },
): Promise<boolean> {
  const { accountId, batchId, fence, leaseMs, rows } = portion;
  const list = (read: (row: PricedRow) => unknown): unknown[] =>
    rows.map((row) => read(row) ?? null);
  const priced = await one(session, priceQuery, [
    accountId,
    batchId,
    fence,
    rows.filter(({ faults }) => faults !== undefined).length,
    leaseMs,
    list(({ number }) => number),
    list(({ faults }) => (faults === undefined ? undefined : JSON.stringify(faults))),
    list(({ quote }) => quote?.sourceMinor),
    list(({ quote }) => quote?.feeMinor),
    list(({ quote }) => quote?.destinationMinor),
    list(({ quote }) => quote?.roundingNano),
    list(({ quote }) => quote && formatRate(quote.rate)),
    list(({ quote }) => quote && formatRate(quote.midRate)),
    list(({ quote }) => quote?.verificationRequired),
    list(({ terms }) => terms?.estimatedAvailability),
    rows.filter(({ faults, hasStoredDetails }) => faults !== undefined && hasStoredDetails).length,
    list(({ quote }) => quote?.providerPrice?.text),
  ]);
  return priced.count === 1;
}
