import { z } from 'zod';
import type { RailHost, RecordChange, StoredRecord } from '../contract/contract.ts';
import { findExecutionDay } from './calendar.ts';
import type { Config } from './config.ts';
import type { Exchange } from './exchange.ts';
import { groupTransfers, type PaymentFile, writePaymentFile } from './pain001.ts';
import { fileWaiting, type Payment, type PaymentBook, type QueueEntry } from './payments.ts';
import { draftTransfer, type Service, type Transfer } from './transfer.ts';
import { checkPaymentFile, type WrittenFile } from './written-file.ts';

/**
 * The files that leave. Closing one is a single write: the whole file, and every payment in it. Only
 * after it does anything go to the bank, as often as it takes, always the same bytes under the same
 * name, so that the bank recognises a second copy by its message id. A copy goes into the archive
 * first: outside of the database it says which payments were ordered (`sent-files.ts`).
 */

const fileCollection = 'files';
const counterCollection = 'counters';
const counterKey = 'messages';

const fileSchema = z.object({
  name: z.string(),
  xml: z.string(),
  groups: z.array(
    z.object({ id: z.string(), currency: z.string(), references: z.array(z.string()) }),
  ),
  /** How often its delivery was begun: after a crash the bank may have the same file twice. */
  deliveries: z.number().default(0),
});
/** What is known of a file for ever. */
export type StoredFile = z.infer<typeof fileSchema>;

const counterSchema = z.object({ next: z.number() });

/** Of the copy in the archive. */
export function nameSentCopy(messageId: string): string {
  return `sent-${messageId}.xml`;
}

/** How many files were closed, plus 1. */
export async function readCounter(store: RailHost['store']) {
  const record = await store.get(counterCollection, counterKey);
  const next = record === undefined ? 1 : counterSchema.parse(record.value).next;
  return { next, revision: record?.revision ?? 0 };
}

export type FileOptions = {
  readonly host: RailHost;
  readonly config: Config;
  readonly book: PaymentBook;
};

export type Files = {
  /** Puts what is due into files. */
  closeDue(signal: AbortSignal): Promise<void>;
  /** Gives the bank every closed file that it may not have. */
  deliver(exchange: Exchange, signal: AbortSignal): Promise<void>;
  find(messageId: string): Promise<StoredFile | undefined>;
  /** Whether anything would leave now. */
  hasDue(): Promise<boolean>;
  /** Enters a file that left before, of which this database has no record. */
  adopt(written: WrittenFile, bytes: Uint8Array): Promise<void>;
};

/** Cancellations and answers of the bank come between; each time what is left is tried again. */
const triesMax = 20;

export function openFiles(options: FileOptions): Files {
  const { host } = options;
  return {
    closeDue: async (signal) => {
      let collisions = 0;
      while (!signal.aborted && collisions < triesMax) {
        const due = await options.book.listDue(host.nowMs(), options.config.paymentsPerFileMax);
        if (due.length === 0) return;
        const outcome = await closeSome(options, due);
        if (outcome === 'stuck') return;
        if (outcome === 'collision') collisions += 1;
      }
    },
    deliver: async (exchange, signal) => {
      const closed = await host.store.list(fileCollection, { state: 'closed', count: 50 });
      for (const record of closed) {
        if (signal.aborted) return;
        await deliverOne(host, { exchange, record });
      }
    },
    hasDue: async () => {
      const [closed] = await host.store.list(fileCollection, { state: 'closed', count: 1 });
      if (closed !== undefined) return true;
      return (await options.book.listDue(host.nowMs(), 1)).length > 0;
    },
    adopt: (written, bytes) => adoptFile(options, written, bytes),
    find: async (messageId) => {
      const record = await host.store.get(fileCollection, messageId);
      return record === undefined ? undefined : fileSchema.parse(record.value);
    },
  };
}

async function deliverOne(
  host: RailHost,
  { exchange, record }: { exchange: Exchange; record: StoredRecord },
): Promise<void> {
  const known = fileSchema.parse(record.value);
  const file = { ...known, deliveries: known.deliveries + 1 };
  const write = (revision: number, state: string): Promise<boolean> =>
    host.store.write([
      { collection: fileCollection, key: record.key, revision, next: { state, value: file } },
    ]);
  // Counted first: a copy of which nobody knows could be taken for the only one.
  if (!(await write(record.revision, 'closed'))) return;
  const bytes = Buffer.from(file.xml);
  const isTaken =
    (await exchange.keep(nameSentCopy(record.key), bytes)) === 'taken' ||
    (await exchange.put(file.name, bytes)) === 'taken';
  if (isTaken) {
    // An operator has to look into it; the files after it must not wait for that.
    host.log('error', 'archive or outbox hold another file of this name', { message: record.key });
    return;
  }
  // Another process that delivered it meanwhile delivered the same.
  await write(record.revision + 1, 'delivered');
  const payments = file.groups.reduce((sum, { references }) => sum + references.length, 0);
  host.log('info', 'a payment file was delivered', { message: record.key, payments });
}

type Candidate = { readonly payment: Payment; readonly transfer: Transfer };

/** `stuck`: the file could not be written as it must be, and nothing has left. */
async function closeSome(
  options: FileOptions,
  due: readonly QueueEntry[],
): Promise<'done' | 'collision' | 'stuck'> {
  const { host, config, book } = options;
  const candidates: Record<Service, Candidate[]> = { sepa: [], cross_border: [] };
  for (const entry of due) {
    const payment = await book.find(entry.reference);
    // Withdrawn this very moment: its entry is gone as well.
    if (payment === undefined || payment.state !== 'waiting') return 'collision';
    const draft = draftTransfer(payment.value.order, { config, payers: host.payers });
    if (draft.ok) {
      candidates[draft.transfer.service].push({ payment, transfer: draft.transfer });
    } else if (!(await refuseWaiting(options, { payment, reason: draft.faults[0].reason }))) {
      return 'collision';
    }
  }
  for (const service of ['sepa', 'cross_border'] as const) {
    const some = candidates[service];
    if (some.length === 0) continue;
    const prepared = await prepareFile(options, some);
    if (!prepared.ok) {
      host.log('error', 'a payment file is not as it was ordered, and stays here', {
        detail: prepared.fault,
      });
      return setBrokenAside(options, some);
    }
    if (!(await host.store.write(prepared.changes))) return 'collision';
  }
  return 'done';
}

/** One payment that cannot be written as ordered must not hold up the others. */
async function setBrokenAside(
  options: FileOptions,
  candidates: readonly Candidate[],
): Promise<'collision' | 'stuck'> {
  let outcome: 'collision' | 'stuck' = 'stuck';
  for (const candidate of candidates) {
    const alone = await prepareFile(options, [candidate]);
    if (alone.ok) continue;
    outcome = 'collision';
    await refuseWaiting(options, { payment: candidate.payment, reason: 'payer_error' });
  }
  return outcome;
}

/** It was good when it was taken, and the configuration has changed since; nothing was sent. */
async function refuseWaiting(
  { host, book }: FileOptions,
  refusal: { payment: Payment; reason: Parameters<PaymentBook['withdraw']>[1] },
): Promise<boolean> {
  const { payment, reason } = refusal;
  const { reference } = payment.value.order;
  if (!(await book.withdraw(payment, reason))) return false;
  const atMs = host.nowMs();
  const id = `${reference}:not-sent`;
  await host.receive({
    id,
    channel: 'poll',
    raw: Buffer.from(JSON.stringify({ reference, reason })),
    observations: [{ id, reference, outcome: 'rejected', reason, atMs }],
  });
  host.log('warn', 'a waiting payment cannot be sent any more', { reference, reason });
  return true;
}

type Prepared =
  | { readonly ok: true; readonly changes: RecordChange[] }
  | { readonly ok: false; readonly fault: string };

async function prepareFile(
  { host, config }: FileOptions,
  candidates: readonly Candidate[],
): Promise<Prepared> {
  const counter = await readCounter(host.store);
  const nowMs = host.nowMs();
  const transfers = candidates.map(({ transfer }) => transfer);
  const file: PaymentFile = {
    ...groupTransfers(transfers, { prefix: config.messagePrefix }),
    createdAtMs: nowMs,
    executionDay: findExecutionDay(config.schedule, nowMs),
  };
  const xml = writePaymentFile(file, config);
  try {
    checkPaymentFile(
      xml,
      candidates.map(({ payment }) => payment.value.order),
    );
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // Only messages of our own are known to hold nothing of a person.
    return { ok: false, fault: error.name === 'Error' ? error.message : error.name };
  }
  const stored: StoredFile = {
    name: `${file.messageId}.xml`,
    xml,
    deliveries: 0,
    groups: file.groups.map(({ id, currency, transfers: members }) => ({
      id,
      currency,
      references: members.map(({ reference }) => reference),
    })),
  };
  const changes: RecordChange[] = [
    {
      collection: counterCollection,
      key: counterKey,
      revision: counter.revision,
      next: { state: 'counting', value: { next: counter.next + 1 } },
    },
    {
      collection: fileCollection,
      key: file.messageId,
      revision: 0,
      next: { state: 'closed', value: stored },
    },
    ...candidates.flatMap(({ payment }) => fileWaiting(payment, file.messageId)),
  ];
  return { ok: true, changes };
}

/**
 * With every payment in it: none of them is ever sent again. One that waits here leaves the queue;
 * one that is in another file as well stays as it is.
 */
async function adoptFile(
  { host, book }: FileOptions,
  written: WrittenFile,
  bytes: Uint8Array,
): Promise<void> {
  const groups = Map.groupBy(written.payments, ({ groupId }) => groupId);
  const file: StoredFile = {
    name: `${written.messageId}.xml`,
    xml: Buffer.from(bytes).toString('utf8'),
    // Whether its delivery was interrupted is not known.
    deliveries: 2,
    groups: [...groups].map(([id, payments]) => ({
      id,
      currency: payments[0]?.currency ?? '',
      references: payments.map(({ reference }) => reference),
    })),
  };
  for (let tries = 0; tries < triesMax; tries += 1) {
    const changes: RecordChange[] = [
      {
        collection: fileCollection,
        key: written.messageId,
        revision: 0,
        next: { state: 'delivered', value: file },
      },
    ];
    for (const payment of written.payments) {
      changes.push(...(await book.describeAdoption(payment, written.messageId)));
    }
    if (await host.store.write(changes)) return;
    if ((await host.store.get(fileCollection, written.messageId)) !== undefined) return;
  }
  throw new Error(`the payments of ${written.messageId} change too often to be written`);
}
