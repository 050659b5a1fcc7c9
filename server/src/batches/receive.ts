import { createHash, type Hash } from 'node:crypto';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { type KeyRing, rowContext } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { defineProtectedTable, reseal } from '../db/protected-tables.ts';
import { column } from '../db/rows.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { storeRows } from './batch-rows.sql.ts';
import {
  type BatchRow,
  type Fenced,
  findBatchByKey,
  findBatchRow,
  finishBatch,
  insertBatch,
  leaseBatch,
  releaseBatch,
  removeBatch,
} from './batches.sql.ts';
import { type RowChecker, type RowForm } from './draft-row.ts';
import { type FileFormat, type FileLimits, type FileRow, portionRows } from './file/file-row.ts';
import { readFileRows } from './file/file-rows.ts';
import { checkRecipients } from './recipient-faults.ts';
import { checkRows, rememberFirst } from './row-check.ts';
import { storeInputs } from './row-inputs.sql.ts';
import { mergeRates, openPricing, type PricingServices } from './row-terms.ts';

/**
 * Turns a file into a batch. Its rows are checked, priced and stored in portions as they arrive; the
 * batch is RECEIVING until its last row is stored, and then a DRAFT. With an idempotency key an
 * interrupted upload resumes: rows that are stored already are skipped, provided they are the same.
 */

export type ReceiveServices = PricingServices & {
  keys: KeyRing;
  rails: readonly Rail[];
  limits: FileLimits;
  rowForm: RowForm;
};

export type Upload = {
  accountId: string;
  format: FileFormat;
  /** Of the batch; '' for none. */
  name: string;
  /** See `getMaker`. */
  maker?: string;
  bytes: AsyncIterable<Buffer>;
  /** The record of the client's Idempotency-Key; undefined where it sent none. */
  record: UploadRecord | undefined;
  /** The text of the answer; with a key it is stored. */
  describe(session: Session, batch: BatchRow): Promise<string>;
};

/** A key belongs to its first use in the account; repeats get the answer of that one. */
export type UploadRecord = {
  readonly key: string;
  /** @throws AppError idempotency_key_reused where the key belongs to another request. */
  claim(session: Session): Promise<void>;
  answer(session: Session, text: string): Promise<void>;
  findAnswer(session: Session): Promise<string | undefined>;
};

/** `isRepeated`: the same file was received before, and `text` is its first answer. */
export type Received = { batch: BatchRow; text: string; isRepeated: boolean };

/** Longer than a portion takes, and shorter than a client waits before it repeats an upload. */
const leaseMs = 10_000;

/**
 * Receives a file to its end.
 *
 * @throws AppError invalid_request and body_too_large (the file is rejected and nothing of it kept),
 * idempotency_key_reused, idempotency_in_progress, and whatever reading `bytes` throws: then the
 * batch stays RECEIVING, and an upload with the same key resumes it.
 */
export async function receiveBatch(services: ReceiveServices, upload: Upload): Promise<Received> {
  const { accountId } = upload;
  const session = services.db.tenant(accountId);
  const begun = await beginUpload(services.db, upload);
  const isRepeated = begun.status !== 'RECEIVING';
  const owner = { session, accountId };
  const intake = await createIntake(services, owner, begun);
  const fenced = { accountId, batchId: begun.id, fence: begun.fence };
  try {
    await readAll(services, upload, intake);
    await intake.finish();
    return isRepeated
      ? await repeatAnswer(session, upload, fenced)
      : await finishUpload(services.db, upload, fenced);
  } catch (error) {
    await intake.settle();
    if (!isRepeated) await abandon(session, fenced, error);
    throw error;
  }
}

/** Makes the batch a draft and stores the answer with it. */
async function finishUpload(db: Database, upload: Upload, fenced: Fenced): Promise<Received> {
  return db.tenantTransaction(upload.accountId, async (session) => {
    const batch = await finishBatch(session, fenced);
    if (batch === undefined) throw refuseProgress();
    const text = await upload.describe(session, batch);
    await upload.record?.answer(session, text);
    return { batch, text, isRepeated: false };
  });
}

/** The first answer; where that has expired after thirty days, a new one from the present state. */
async function repeatAnswer(session: Session, upload: Upload, fenced: Fenced): Promise<Received> {
  const batch = await findBatchRow(session, fenced);
  if (batch === undefined) throw refuseProgress();
  const first = await upload.record?.findAnswer(session);
  if (first !== undefined) return { batch, text: first, isRepeated: true };
  const text = await upload.describe(session, batch);
  await upload.record?.answer(session, text);
  return { batch, text, isRepeated: false };
}

/** A new batch, or the one of the key. This upload has its lease unless it was received before. */
async function beginUpload(db: Database, upload: Upload): Promise<BatchRow> {
  const { accountId, format, name, record, maker } = upload;
  const requestKey = record?.key;
  const batch = { accountId, batchId: newId(), format, name, requestKey, maker, leaseMs };
  const created = await db.tenantTransaction(accountId, async (session) => {
    await record?.claim(session);
    return insertBatch(session, batch);
  });
  if (created !== undefined) return created;
  const session = db.tenant(accountId);
  const known =
    requestKey === undefined ? undefined : await findBatchByKey(session, { accountId, requestKey });
  if (known === undefined) throw refuseProgress();
  if (known.format !== format || known.name !== name) throw refuseKey();
  if (known.status !== 'RECEIVING') return known;
  const lease = { accountId, batchId: known.id, status: 'RECEIVING', leaseMs } as const;
  const leased = await leaseBatch(session, lease);
  if (leased === undefined) throw refuseProgress();
  return leased;
}

function refuseKey(): AppError {
  return new AppError(
    'idempotency_key_reused',
    'the Idempotency-Key already belongs to a batch of another file, format or name',
  );
}

function refuseProgress(): AppError {
  return new AppError(
    'idempotency_in_progress',
    'the first upload with this key is still running',
    {
      retryAfterSeconds: leaseMs / 1000,
    },
  );
}

async function readAll(services: ReceiveServices, upload: Upload, intake: Intake): Promise<void> {
  const { limits, rowForm } = services;
  const reading = { limits, columns: rowForm.columns, ignored: intake.ignored };
  for await (const rows of readFileRows(upload.bytes, upload.format, reading)) {
    for (const row of rows) {
      if (intake.add(row)) await intake.store();
    }
  }
}

/** Removes the rows of a rejected file; an upload with a broken connection can be resumed. */
async function abandon(session: Session, batch: Fenced, error: unknown): Promise<void> {
  const isRefused =
    error instanceof AppError &&
    (error.code === 'invalid_request' || error.code === 'body_too_large');
  if (isRefused) await removeBatch(session, batch);
  else await releaseBatch(session, batch);
}

type Intake = {
  readonly ignored: Set<string>;
  /** Adds one row; true when a portion is full. */
  add(row: FileRow): boolean;
  /** Stores the portion after the one before it, while the caller reads the next one. */
  store(): Promise<void>;
  /** Resolves when every row is stored. @throws AppError where the file differs from before. */
  finish(): Promise<void>;
  /** Resolves when no portion is being stored. */
  settle(): Promise<void>;
};

type Owner = { session: Session; accountId: string };

async function createIntake(
  services: ReceiveServices,
  owner: Owner,
  batch: BatchRow,
): Promise<Intake> {
  const { session, accountId } = owner;
  const { keys } = services;
  const nowMs = services.clock.nowMs();
  const pricing = await openPricing(services, owner, nowMs);
  const today = new Date(nowMs).toISOString().slice(0, 10);
  const checker: RowChecker = { ...pricing, keys, accountId, today, firstRows: new Map() };
  const ignored = new Set<string>();
  const fenced = { accountId, batchId: batch.id, fence: batch.fence };
  const progress = createProgress(keys, accountId, batch);
  let portion: FileRow[] = [];
  let storing: Promise<void> = Promise.resolve();

  const check = async (rows: readonly FileRow[], rowsBefore: number, contentHash: Buffer) => {
    const drafts = rows.map((row, index) => services.rowForm.read(row, rowsBefore + index + 1));
    const checked = await checkRecipients(services, owner, await checkRows(checker, owner, drafts));
    const stored = {
      ...fenced,
      rowsBefore,
      contentHash,
      ignoredColumns: JSON.stringify([...ignored]),
      rates: mergeRates(batch.rates, checker.book.ratesUsed),
      leaseMs,
      rows: checked,
    };
    const inputs = rows.map(({ input }, index) => ({ input, person: checked[index] }));
    return async (): Promise<void> => {
      const place = { accountId, batchId: batch.id, firstNumber: rowsBefore + 1 };
      await storeInputs({ session, keys: services.keys }, { ...place, inputs });
      if (!(await storeRows(session, stored))) throw refuseProgress();
    };
  };
  const store = async (): Promise<void> => {
    const rows = portion;
    portion = [];
    if (rows.length === 0) return;
    const write = await check(rows, progress.count() - rows.length, progress.seal());
    await storing;
    storing = write();
    // Awaited with the next portion; until then a rejection must not be unhandled.
    storing.catch(() => undefined);
  };
  return {
    ignored,
    add: (row) => {
      if (!progress.pass(row)) {
        // Stored by an earlier upload; later rows must not repeat its client_transfer_id.
        const { clientTransferId } = services.rowForm.read(row, progress.count());
        if (clientTransferId !== undefined && !checker.firstRows.has(clientTransferId)) {
          rememberFirst(checker.firstRows, clientTransferId, progress.count());
        }
        return false;
      }
      portion.push(row);
      return portion.length >= portionRows;
    },
    store,
    finish: async () => {
      await store();
      await storing;
      progress.end();
    },
    settle: () => storing.catch(() => undefined),
  };
}

/**
 * Counts the rows that were read, and checks that a resumed upload is the same file: after the last
 * row that an earlier upload stored, the digests must be equal. They are stored sealed: who reads the
 * database could otherwise find out what a short file said by trying.
 */
function createProgress(keys: Pick<KeyRing, 'seal' | 'open'>, accountId: string, batch: BatchRow) {
  const { status, row_count: storedCount, content_hash: stored } = batch;
  const context = hashContext(accountId, batch.id);
  const hash: Hash = createHash('sha256');
  let parts: Buffer[] = [];
  // One call per row would cost more than the hash itself.
  const hashParts = (): void => {
    hash.update(Buffer.concat(parts));
    parts = [];
  };
  const digest = (): Buffer => {
    hashParts();
    return hash.copy().digest();
  };
  let count = 0;
  return {
    count: () => count,
    /** Of the rows until now, as it is stored. */
    seal: (): Buffer => keys.seal(digest(), context),
    /** Counts a row; true where it is not stored yet. @throws AppError idempotency_key_reused. */
    pass: ({ source }: FileRow): boolean => {
      parts.push(typeof source === 'string' ? Buffer.from(source) : source, lineEnd);
      count += 1;
      if (count === storedCount && !digest().equals(keys.open(stored, context))) throw refuseKey();
      if (count > storedCount && status !== 'RECEIVING') throw refuseKey();
      if (parts.length >= partsMax) hashParts();
      return count > storedCount;
    },
    /** @throws AppError idempotency_key_reused where the file is shorter than before. */
    end: (): void => {
      if (count < storedCount) throw refuseKey();
    },
  };
}

const hashContext = (accountId: string, batchId: string): string =>
  rowContext('batches.content_hash', accountId, batchId);

/** The digests of all files. */
export const protectedBatches = defineProtectedTable({
  table: 'batches',
  key: { account_id: 'uuid', id: 'uuid' },
  values: ['content_hash'],
  columns: { account_id: column.uuid, id: column.uuid },
  renew: (keys, { account_id: accountId, id, content_hash: sealed }) => ({
    content_hash: reseal(keys, sealed, hashContext(accountId, id)),
  }),
});

const lineEnd = Buffer.from('\n');
const partsMax = 2000;
