import { z } from 'zod';
import type { Session, Statement } from '../db/postgres/pool.ts';
import {
  type Column,
  column,
  defineQuery,
  exec,
  many,
  maybeOne,
  nullable,
  type RowOf,
} from '../db/rows.ts';
import { type FileFormat, fileFormats } from './file/file-row.ts';
import { type RatesUsed, ratesUsed } from './row-terms.ts';

export const batchStatuses = [
  'RECEIVING',
  'DRAFT',
  'QUOTED',
  'COMMITTING',
  'COMMITTED',
  'CANCELLED',
] as const;
export type BatchStatus = (typeof batchStatuses)[number];

const storedMinor = z.string().transform(BigInt);

/** The sums of the valid rows of one pair and rate, in minor units. */
export const batchTotal = z.object({
  source: z.string(),
  destination: z.string(),
  rate: z.string(),
  rows: z.int(),
  sourceMinor: storedMinor,
  feeMinor: storedMinor,
  destinationMinor: storedMinor,
});
export type BatchTotal = z.infer<typeof batchTotal>;

/** Undefined while rows have different rates, which is stored as an empty text. */
const ratesColumn: Column<RatesUsed | undefined> = {
  ...column.text,
  read: (value) => (value === '' ? undefined : ratesUsed.parse(JSON.parse(String(value)))),
};

const columns = {
  id: column.uuid,
  status: column.oneOf(...batchStatuses),
  format: column.oneOf(...fileFormats),
  name: column.text,
  content_hash: column.bytes,
  ignored_columns: column.jsonText(z.array(z.string())),
  row_count: column.integer,
  valid_count: column.integer,
  invalid_count: column.integer,
  repeated_count: column.integer,
  committed_count: column.integer,
  refused_count: column.integer,
  stored_details_count: column.integer,
  rates: ratesColumn,
  priced_at: column.instant,
  totals: column.jsonText(z.array(batchTotal)),
  quoted_at: nullable(column.instant),
  quote_number: column.integer,
  expires_at: nullable(column.instant),
  committed_at: nullable(column.instant),
  completed_at: nullable(column.instant),
  next_row: column.integer,
  fence: column.bigint,
  created_at: column.instant,
};
export type BatchRow = RowOf<typeof columns>;

const names = Object.keys(columns)
  .map((name) => `b.${name}`)
  .join(', ');

const defineBatchQuery = (name: string, text: string) => defineQuery({ name, text, columns });

/** The account's row first, as every writer of an event locks it. */
const ownAccount = `with own as materialized (select id from accounts where id = $1 for update)`;

const insertQuery = defineBatchQuery(
  'insert_batch',
  `
    ${ownAccount}
    insert into batches as b (account_id, id, format, request_key, priced_at, lease_until, fence,
      created_at, updated_at, name, created_by)
    select own.id, $2, $3, $4, now.at, clock_timestamp() + $5 * interval '1 millisecond', 1,
      now.at, now.at, $6, $7
    from own, environment_now() as now (at)
    on conflict (account_id, request_key) where request_key is not null do nothing
    returning ${names}`,
);

const findByKeyQuery = defineBatchQuery(
  'find_batch_by_key',
  `select ${names} from batches b where b.account_id = $1 and b.request_key = $2`,
);

const findQuery = defineBatchQuery(
  'find_batch',
  `select ${names} from batches b where b.account_id = $1 and b.id = $2`,
);

/** Above every identifier: where a list begins. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * Newest first, each along an index. A range of one status, because the planner leaves a constant out of
 * the order and then walks all batches of the account.
 */
const defineList = (name: string, condition: string, order: string) =>
  defineBatchQuery(
    name,
    `
    select ${names} from batches b
    where b.account_id = $1 and ${condition} and ($4::text is null or b.status = $4)
      and ($5::timestamptz is null or b.created_at >= $5)
      and ($6::timestamptz is null or b.created_at < $6)
    order by ${order} limit $3`,
  );
const lists = {
  all: defineList('list_batches', 'b.id < $2', 'b.id desc'),
  ofStatus: defineList(
    'list_batches_of_status',
    'b.status between $4 and $4 and (b.status, b.id) < ($4, $2)',
    'b.status desc, b.id desc',
  ),
  // By `case`: row-level security lets no `coalesce` into the index.
  ofTime: defineList(
    'list_batches_of_time',
    `b.created_at >= case when $5::timestamptz is null then '-infinity'::timestamptz else $5 end
      and b.created_at < case when $6::timestamptz is null then 'infinity'::timestamptz else $6 end
      and (b.created_at, b.id) < (case when $2 = '${lastId}'::uuid then 'infinity'::timestamptz
        else (select l.created_at from batches l where l.account_id = $1 and l.id = $2) end, $2)`,
    'b.created_at desc, b.id desc',
  ),
};

/** Only a batch without a lease that still has this status. */
const leaseQuery = defineBatchQuery(
  'lease_batch',
  `
    update batches b
    set fence = b.fence + 1, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
    where b.account_id = $1 and b.id = $2 and b.status = $3
      and (b.lease_until is null or b.lease_until < clock_timestamp())
    returning ${names}`,
);

const releaseStatement: Statement = {
  name: 'release_batch',
  text: `
    update batches set lease_until = null
    where account_id = $1 and id = $2 and fence = $3`,
};

/** The sums of the valid rows by pair and rate, as JSON in a text column. */
const sums = `
  select coalesce(json_agg(json_build_object('source', s.source_currency,
      'destination', s.destination_currency, 'rate', s.exchange_rate, 'rows', s.rows,
      'sourceMinor', s.source_amount::text, 'feeMinor', s.fee::text,
      'destinationMinor', s.destination_amount::text)
      order by s.source_currency, s.destination_currency, s.exchange_rate), '[]')::text as totals
  from (
    select r.source_currency, r.destination_currency, r.exchange_rate, count(*) as rows,
      sum(r.source_amount) as source_amount, sum(r.fee) as fee,
      sum(r.destination_amount) as destination_amount
    from batch_rows r
    where r.account_id = $1 and r.batch_id = $2 and r.status = 'VALID'
    group by 1, 2, 3
  ) s`;

const finishQuery = defineBatchQuery(
  'finish_batch',
  `
    ${ownAccount}
    update batches b
    set status = 'DRAFT', lease_until = null, totals = t.totals, updated_at = environment_now()
    from (${sums}) t, own
    where b.account_id = own.id and b.id = $2 and b.fence = $3 and b.status = 'RECEIVING'
    returning ${names}`,
);

const stampQuery = defineBatchQuery(
  'stamp_batch_quote',
  `
    ${ownAccount}
    update batches b
    set status = 'QUOTED', quoted_at = now.at, quote_number = b.quote_number + 1, updated_at = now.at, usd_amount = $5,
      expires_at = date_trunc('second',
        now.at + coalesce(b.lock_seconds, $3) * interval '1 second')
    from environment_now() as now (at), own
    where b.account_id = own.id and b.id = $2 and b.status in ('DRAFT', 'QUOTED')
      and b.rates <> '' and b.fence = $4
      and (b.lease_until is null or b.lease_until < clock_timestamp())
    returning ${names}`,
);

/** From here on rows have different prices, until all of them have the new one. */
const beginPricingQuery = defineBatchQuery(
  'begin_batch_pricing',
  `
    ${ownAccount}
    update batches b
    set status = 'DRAFT', rates = '', lock_seconds = null, fence = b.fence + 1,
      lease_until = clock_timestamp() + $3 * interval '1 millisecond',
      updated_at = environment_now()
    from own
    where b.account_id = own.id and b.id = $2 and b.status in ('DRAFT', 'QUOTED')
      and (b.lease_until is null or b.lease_until < clock_timestamp())
    returning ${names}`,
);

const endPricingQuery = defineBatchQuery(
  'end_batch_pricing',
  `
    update batches b
    set rates = $4, lock_seconds = $5, priced_at = $6, totals = t.totals, lease_until = null,
      updated_at = environment_now()
    from (${sums}) t
    where b.account_id = $1 and b.id = $2 and b.fence = $3 and b.status = 'DRAFT'
    returning ${names}`,
);

const cancelQuery = defineBatchQuery(
  'cancel_batch',
  `
    ${ownAccount}
    update batches b
    set status = 'CANCELLED', fence = b.fence + 1, lease_until = null,
      updated_at = environment_now()
    from own
    where b.account_id = own.id and b.id = $2 and b.status in ('RECEIVING', 'DRAFT', 'QUOTED')
    returning ${names}`,
);

const removeInputsStatement: Statement = {
  name: 'remove_unfinished_batch_inputs',
  text: `
    delete from batch_inputs i using batches b
    where b.account_id = $1 and b.id = $2 and b.status = 'RECEIVING' and b.fence = $3
      and i.account_id = b.account_id and i.batch_id = b.id`,
};

const removeRowsStatement: Statement = {
  name: 'remove_unfinished_batch_rows',
  text: `
    delete from batch_rows r using batches b
    where b.account_id = $1 and b.id = $2 and b.status = 'RECEIVING' and b.fence = $3
      and r.account_id = b.account_id and r.batch_id = b.id`,
};

/** Frees its key as well: the record of an upload without an answer is made to look expired. */
const removeStatement: Statement = {
  name: 'remove_unfinished_batch',
  text: `
    ${ownAccount}, removed as (
      delete from batches b using own
      where b.account_id = own.id and b.id = $2 and b.status = 'RECEIVING' and b.fence = $3
      returning b.account_id, b.request_key
    )
    update idempotency_records i set created_at = 'epoch'
    from removed r
    where i.account_id = r.account_id and i.key = r.request_key and i.body is null`,
};

export type BatchId = { accountId: string; batchId: string };

export type NewBatch = BatchId & {
  format: FileFormat;
  name: string;
  requestKey: string | undefined;
  /** See `getMaker`. */
  maker: string | undefined;
  leaseMs: number;
};

/** Undefined where a batch has this key already. */
export async function insertBatch(
  session: Session,
  batch: NewBatch,
): Promise<BatchRow | undefined> {
  const { accountId, batchId, format, name, requestKey, leaseMs, maker } = batch;
  const key = requestKey ?? null;
  const values = [accountId, batchId, format, key, leaseMs, name, maker ?? null];
  return maybeOne(session, insertQuery, values);
}

export async function findBatchByKey(
  session: Session,
  id: { accountId: string; requestKey: string },
): Promise<BatchRow | undefined> {
  return maybeOne(session, findByKeyQuery, [id.accountId, id.requestKey]);
}

export async function findBatchRow(session: Session, id: BatchId): Promise<BatchRow | undefined> {
  return maybeOne(session, findQuery, [id.accountId, id.batchId]);
}

export async function listBatchRows(
  session: Session,
  range: { accountId: string; beforeId: string | undefined; count: number },
  filter: { status: BatchStatus | undefined; from: Date | undefined; until: Date | undefined },
): Promise<BatchRow[]> {
  const { accountId, beforeId = lastId, count } = range;
  const { status = null, from = null, until = null } = filter;
  const hasTime = from !== null || until !== null;
  const list = hasTime ? lists.ofTime : status === null ? lists.all : lists.ofStatus;
  return many(session, list, [accountId, beforeId, count, status, from, until]);
}

/** Undefined where another process has the lease, or the status is another. */
export async function leaseBatch(
  session: Session,
  lease: BatchId & { status: BatchStatus; leaseMs: number },
): Promise<BatchRow | undefined> {
  const values = [lease.accountId, lease.batchId, lease.status, lease.leaseMs];
  return maybeOne(session, leaseQuery, values);
}

export type Fenced = BatchId & { fence: bigint };

const valuesOf = ({ accountId, batchId, fence }: Fenced): unknown[] => [accountId, batchId, fence];

export async function releaseBatch(session: Session, batch: Fenced): Promise<void> {
  await exec(session, releaseStatement, valuesOf(batch));
}

/** The batch as a draft; undefined where the fence is outdated. */
export async function finishBatch(session: Session, batch: Fenced): Promise<BatchRow | undefined> {
  return maybeOne(session, finishQuery, valuesOf(batch));
}

/** Undefined where the prices have changed since the fence was read, or the batch cannot be quoted. */
export async function stampQuote(
  session: Session,
  quote: Fenced & { lockSecondsDefault: number; usdMinor: bigint },
): Promise<BatchRow | undefined> {
  const { accountId, batchId, lockSecondsDefault, fence, usdMinor } = quote;
  const values = [accountId, batchId, lockSecondsDefault, fence, usdMinor];
  return maybeOne(session, stampQuery, values);
}

export async function beginPricing(
  session: Session,
  id: BatchId & { leaseMs: number },
): Promise<BatchRow | undefined> {
  return maybeOne(session, beginPricingQuery, [id.accountId, id.batchId, id.leaseMs]);
}

export async function endPricing(
  session: Session,
  batch: Fenced & { rates: string; lockSeconds: number | undefined; pricedAt: Date },
): Promise<BatchRow | undefined> {
  const values = [...valuesOf(batch), batch.rates, batch.lockSeconds ?? null, batch.pricedAt];
  return maybeOne(session, endPricingQuery, values);
}

export async function cancelBatchRow(session: Session, id: BatchId): Promise<BatchRow | undefined> {
  return maybeOne(session, cancelQuery, [id.accountId, id.batchId]);
}

/** Removes an upload that was rejected or abandoned, unless another process has taken it over. */
export async function removeBatch(session: Session, batch: Fenced): Promise<void> {
  await exec(session, removeInputsStatement, valuesOf(batch));
  await exec(session, removeRowsStatement, valuesOf(batch));
  await exec(session, removeStatement, valuesOf(batch));
}
