import type { Session, Statement } from '../db/postgres/pool.ts';
import type { FileFormat } from './file/file-row.ts';

export type BatchStatus =
  | 'RECEIVING'
  | 'DRAFT'
  | 'QUOTED'
  | 'COMMITTING'
  | 'COMMITTED'
  | 'CANCELLED';

export type BatchRow = {
  id: string;
  status: BatchStatus;
  format: FileFormat;
  content_hash: Buffer;
  ignored_columns: string;
  row_count: number;
  valid_count: number;
  invalid_count: number;
  repeated_count: number;
  committed_count: number;
  refused_count: number;
  stored_details_count: number;
  rates: string;
  priced_at: Date;
  lock_seconds: number | null;
  totals: string;
  quoted_at: Date | null;
  expires_at: Date | null;
  mode: 'all' | 'valid' | null;
  committed_at: Date | null;
  completed_at: Date | null;
  next_row: number;
  fence: bigint;
  created_at: Date;
};

const columns = `b.id, b.status, b.format, b.content_hash, b.ignored_columns, b.row_count,
  b.valid_count, b.invalid_count, b.repeated_count, b.committed_count, b.refused_count,
  b.stored_details_count, b.rates, b.priced_at, b.lock_seconds, b.totals, b.quoted_at,
  b.expires_at, b.mode, b.committed_at, b.completed_at, b.next_row, b.fence, b.created_at`;

const insertText: Statement = {
  name: 'insert_batch',
  text: `
    insert into batches as b (account_id, id, format, request_key, content_hash, priced_at,
      lease_until, fence, created_at, updated_at)
    select $1, $2, $3, $4, $5, now.at, clock_timestamp() + $6 * interval '1 millisecond', 1,
      now.at, now.at
    from environment_now() as now (at)
    on conflict (account_id, request_key) where request_key is not null do nothing
    returning ${columns}`,
};

const findByKeyText: Statement = {
  name: 'find_batch_by_key',
  text: `select ${columns} from batches b where b.account_id = $1 and b.request_key = $2`,
};

const findText: Statement = {
  name: 'find_batch',
  text: `select ${columns} from batches b where b.account_id = $1 and b.id = $2`,
};

const listText: Statement = {
  name: 'list_batches',
  text: `
    select ${columns} from batches b
    where b.account_id = $1 and b.id < $2
    order by b.id desc limit $3`,
};

/** Only a batch that nobody holds, and that still has this status. */
const leaseText: Statement = {
  name: 'lease_batch',
  text: `
    update batches b
    set fence = b.fence + 1, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
    where b.account_id = $1 and b.id = $2 and b.status = $3
      and (b.lease_until is null or b.lease_until < clock_timestamp())
    returning ${columns}`,
};

const releaseText: Statement = {
  name: 'release_batch',
  text: `
    update batches set lease_until = null
    where account_id = $1 and id = $2 and fence = $3`,
};

/** The sums of what is to be paid, by pair and rate, as text: they go into a text column. */
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

const finishText: Statement = {
  name: 'finish_batch',
  text: `
    update batches b
    set status = 'DRAFT', lease_until = null, totals = t.totals, updated_at = environment_now()
    from (${sums}) t
    where b.account_id = $1 and b.id = $2 and b.fence = $3 and b.status = 'RECEIVING'
    returning ${columns}`,
};

const stampText: Statement = {
  name: 'stamp_batch_quote',
  text: `
    update batches b
    set status = 'QUOTED', quoted_at = now.at, updated_at = now.at,
      expires_at = date_trunc('second',
        now.at + coalesce(b.lock_seconds, $3) * interval '1 second')
    from environment_now() as now (at)
    where b.account_id = $1 and b.id = $2 and b.status in ('DRAFT', 'QUOTED')
      and b.rates <> '' and b.fence = $4
      and (b.lease_until is null or b.lease_until < clock_timestamp())
    returning ${columns}`,
};

/** From here on the rows have different prices, until all of them have the new one. */
const beginPricingText: Statement = {
  name: 'begin_batch_pricing',
  text: `
    update batches b
    set status = 'DRAFT', rates = '', lock_seconds = null, fence = b.fence + 1,
      lease_until = clock_timestamp() + $3 * interval '1 millisecond',
      updated_at = environment_now()
    where b.account_id = $1 and b.id = $2 and b.status in ('DRAFT', 'QUOTED')
      and (b.lease_until is null or b.lease_until < clock_timestamp())
    returning ${columns}`,
};

const endPricingText: Statement = {
  name: 'end_batch_pricing',
  text: `
    update batches b
    set rates = $4, lock_seconds = $5, priced_at = $6, totals = t.totals, lease_until = null,
      updated_at = environment_now()
    from (${sums}) t
    where b.account_id = $1 and b.id = $2 and b.fence = $3 and b.status = 'DRAFT'
    returning ${columns}`,
};

const cancelText: Statement = {
  name: 'cancel_batch',
  text: `
    -- The account's row first, as who commits does: a key that is stored after this needs it, too.
    with own as materialized (select id from accounts where id = $1 for update)
    update batches b
    set status = 'CANCELLED', fence = b.fence + 1, lease_until = null,
      updated_at = environment_now()
    from own
    where b.account_id = own.id and b.id = $2 and b.status in ('RECEIVING', 'DRAFT', 'QUOTED')
    returning ${columns}`,
};

const removeRowsText: Statement = {
  name: 'remove_unfinished_batch_rows',
  text: `
    delete from batch_rows r using batches b
    where b.account_id = $1 and b.id = $2 and b.status = 'RECEIVING' and b.fence = $3
      and r.account_id = b.account_id and r.batch_id = b.id`,
};

/** Its key is free again: the record of an upload without an answer is made to look expired. */
const removeText: Statement = {
  name: 'remove_unfinished_batch',
  text: `
    with removed as (
      delete from batches
      where account_id = $1 and id = $2 and status = 'RECEIVING' and fence = $3
      returning account_id, request_key
    )
    update idempotency_records i set created_at = 'epoch'
    from removed r
    where i.account_id = r.account_id and i.key = r.request_key and i.body is null`,
};

export type BatchId = { accountId: string; batchId: string };

export type NewBatch = BatchId & {
  format: FileFormat;
  requestKey: string | undefined;
  contentHash: Buffer;
  leaseMs: number;
};

/** Undefined where a batch has this key already. */
export async function insertBatch(
  session: Session,
  batch: NewBatch,
): Promise<BatchRow | undefined> {
  const { accountId, batchId, format, requestKey, contentHash, leaseMs } = batch;
  const values = [accountId, batchId, format, requestKey ?? null, contentHash, leaseMs];
  return (await session.rows<BatchRow>(insertText, values))[0];
}

export async function findBatchByKey(
  session: Session,
  id: { accountId: string; requestKey: string },
): Promise<BatchRow | undefined> {
  return (await session.rows<BatchRow>(findByKeyText, [id.accountId, id.requestKey]))[0];
}

export async function findBatchRow(session: Session, id: BatchId): Promise<BatchRow | undefined> {
  return (await session.rows<BatchRow>(findText, [id.accountId, id.batchId]))[0];
}

/** Behind every identifier: where a list begins. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export async function listBatchRows(
  session: Session,
  range: { accountId: string; beforeId: string | undefined; count: number },
): Promise<BatchRow[]> {
  return session.rows<BatchRow>(listText, [range.accountId, range.beforeId ?? lastId, range.count]);
}

/** Undefined where another holds it, or its status is another. */
export async function leaseBatch(
  session: Session,
  lease: BatchId & { status: BatchStatus; leaseMs: number },
): Promise<BatchRow | undefined> {
  const values = [lease.accountId, lease.batchId, lease.status, lease.leaseMs];
  return (await session.rows<BatchRow>(leaseText, values))[0];
}

export type Fenced = BatchId & { fence: bigint };

const valuesOf = ({ accountId, batchId, fence }: Fenced): unknown[] => [accountId, batchId, fence];

export async function releaseBatch(session: Session, batch: Fenced): Promise<void> {
  await session.rows(releaseText, valuesOf(batch));
}

/** The batch as a draft; undefined where the fence is outdated. */
export async function finishBatch(session: Session, batch: Fenced): Promise<BatchRow | undefined> {
  return (await session.rows<BatchRow>(finishText, valuesOf(batch)))[0];
}

/** Undefined where the prices are others than the ones that were looked at, or it cannot be quoted. */
export async function stampQuote(
  session: Session,
  quote: Fenced & { lockSecondsDefault: number },
): Promise<BatchRow | undefined> {
  const { accountId, batchId, lockSecondsDefault, fence } = quote;
  const values = [accountId, batchId, lockSecondsDefault, fence];
  return (await session.rows<BatchRow>(stampText, values))[0];
}

export async function beginPricing(
  session: Session,
  id: BatchId & { leaseMs: number },
): Promise<BatchRow | undefined> {
  const values = [id.accountId, id.batchId, id.leaseMs];
  return (await session.rows<BatchRow>(beginPricingText, values))[0];
}

export async function endPricing(
  session: Session,
  batch: Fenced & { rates: string; lockSeconds: number | undefined; pricedAt: Date },
): Promise<BatchRow | undefined> {
  const values = [...valuesOf(batch), batch.rates, batch.lockSeconds ?? null, batch.pricedAt];
  return (await session.rows<BatchRow>(endPricingText, values))[0];
}

export async function cancelBatchRow(session: Session, id: BatchId): Promise<BatchRow | undefined> {
  return (await session.rows<BatchRow>(cancelText, [id.accountId, id.batchId]))[0];
}

/** Removes an upload that was refused or given up, unless somebody goes on with it. */
export async function removeBatch(session: Session, batch: Fenced): Promise<void> {
  await session.rows(removeRowsText, valuesOf(batch));
  await session.rows(removeText, valuesOf(batch));
}
