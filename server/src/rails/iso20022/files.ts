import { z } from 'zod';
import type { RailHost, RecordChange } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { toLocalTime } from '../kit/calendar.ts';
import { openCounters } from '../kit/counters.ts';
import { openRecords, type TypedRecord } from '../kit/records.ts';
import { findExecutionDay } from './calendar.ts';
import type { Config } from './config.ts';
import type { Exchange } from './exchange.ts';
import { noteSent } from './missing-reports.ts';
import { writeSchemeMessage } from './pacs008.ts';
import { groupTransfers, type PaymentFile, writePaymentFile } from './pain001.ts';
import { fileWaiting, type Payment, type PaymentBook, withdraw } from './payments.ts';
import {
  draftTransfer,
  isInstantService,
  type Service,
  services,
  type Transfer,
} from './transfer.ts';
import { checkPaymentFile, type WrittenFile } from './written-file.ts';

/**
 * The files that leave. One write closes a file: the whole of it, and every payment in it. Only then
 * is it delivered, as often as it takes, always the same bytes under the same name, so that the bank
 * recognizes a second copy by its message id. A copy goes into the archive first: outside of the
 * database it tells which payments were ordered (`sent-files.ts`).
 */

const fileSchema = z.object({
  name: z.string(),
  /** Empty once it was delivered: it names persons, and the archive has a copy. */
  xml: z.string(),
  groups: z.array(
    z.object({
      id: z.string(),
      currency: z.string(),
      /** Its key; "" of a file that was adopted. */
      debtor: z.string().default(''),
      references: z.array(z.string()),
    }),
  ),
  /** How often its delivery was begun: after a crash the bank may have the same file twice. */
  deliveries: z.number().default(0),
});
/** Kept forever. */
export type StoredFile = z.infer<typeof fileSchema>;
type FileRecord = TypedRecord<'closed' | 'delivered', StoredFile>;

function openFileRecords(store: RailHost['store']) {
  return openRecords(store, {
    collection: 'files',
    states: ['closed', 'delivered'],
    value: fileSchema,
  });
}

function openFileCounter(store: RailHost['store']) {
  return openCounters(store, { collection: 'counters', first: 1 });
}

/** The references of the payments in one of our groups (PmtInfId), or in a whole file (MsgId). */
export async function findBatchReferences(
  files: Pick<Files, 'find'>,
  id: string,
): Promise<readonly string[]> {
  const file = (await files.find(id)) ?? (await files.find(id.replace(/-\d+$/, '')));
  const groups = file?.groups ?? [];
  const group = groups.find((one) => one.id === id);
  return (group === undefined ? groups : [group]).flatMap(({ references }) => references);
}

/** The closed files of a rail, for readers that do not open the rail. */
export function readStoredFiles(store: RailHost['store']): Pick<Files, 'find'> {
  const records = openFileRecords(store);
  return { find: async (messageId) => (await records.find(messageId))?.value };
}

/** How many files were closed, plus 1. */
export function readFileCounter(store: RailHost['store']) {
  return openFileCounter(store).read('messages');
}

/** The name of the copy in the archive. */
export function nameSentCopy(messageId: string): string {
  return `sent-${messageId}.xml`;
}

export type FileOptions = {
  readonly host: RailHost;
  readonly config: Config;
  readonly book: PaymentBook;
};

export type Files = {
  /** Closes files of the payments that are due. */
  closeDue(signal: AbortSignal): Promise<void>;
  /** Delivers every closed file that the bank may not have. */
  deliver(exchange: Exchange, signal: AbortSignal): Promise<void>;
  find(messageId: string): Promise<StoredFile | undefined>;
  /** Whether anything would leave now. */
  hasDue(): Promise<boolean>;
  /** Records a file that left before and is missing in this database. */
  adopt(written: WrittenFile): Promise<void>;
};

/** Cancellations and the bank's reports come between; each time what is left is tried again. */
const triesMax = 20;

const filesPerPassMax = 50;

export function openFiles(options: FileOptions): Files {
  const { host, config, book } = options;
  const records = openFileRecords(host.store);
  return {
    closeDue: async (signal) => {
      let collisions = 0;
      while (!signal.aborted && collisions < triesMax) {
        const due = await book.listDue(host.nowMs(), config.paymentsPerFileMax);
        if (due.length === 0) return;
        const outcome = await closeSome(options, due);
        if (outcome === 'stuck') return;
        if (outcome === 'collision') collisions += 1;
      }
    },
    deliver: async (exchange, signal) => {
      for (const record of await records.page({ state: 'closed', count: filesPerPassMax })) {
        if (signal.aborted) return;
        await deliverOne(host, { exchange, record });
      }
    },
    hasDue: async () => {
      const [closed] = await records.page({ state: 'closed', count: 1 });
      return closed !== undefined || (await book.listDue(host.nowMs(), 1)).length > 0;
    },
    adopt: (written) => adoptFile(options, written),
    find: async (messageId) => (await records.find(messageId))?.value,
  };
}

async function deliverOne(
  host: RailHost,
  { exchange, record }: { exchange: Exchange; record: FileRecord },
): Promise<void> {
  const { key, revision } = record;
  const file = { ...record.value, deliveries: record.value.deliveries + 1 };
  const write = (seenRevision: number, state: FileRecord['state']): Promise<boolean> => {
    const value = state === 'delivered' ? { ...file, xml: '' } : file;
    const seen = { key, revision: seenRevision };
    return host.store.write([openFileRecords(host.store).change(seen, { state, value })]);
  };
  // Counted first: a copy that is not counted could be taken for the only one.
  if (!(await write(revision, 'closed'))) return;
  const bytes = Buffer.from(file.xml);
  const isTaken =
    (await exchange.archive.put(nameSentCopy(key), bytes)) === 'taken' ||
    (await exchange.outbox.put(file.name, bytes)) === 'taken';
  if (isTaken) {
    // An operator has to decide; the files after it must not wait for that.
    host.log('error', 'archive or outbox hold another file of this name', { message: key });
    return;
  }
  // Another process that delivered it meanwhile delivered the same.
  await write(revision + 1, 'delivered');
  await noteSent({ host }, new Set(file.groups.map(({ debtor }) => debtor)));
  const payments = file.groups.reduce((sum, { references }) => sum + references.length, 0);
  host.log('info', 'a payment file was delivered', { message: key, payments });
}

type Candidate = { readonly payment: Payment; readonly transfer: Transfer };

/** `stuck`: the file could not be written as it must be, and nothing has left. */
async function closeSome(
  options: FileOptions,
  due: readonly string[],
): Promise<'done' | 'collision' | 'stuck'> {
  const { host, config, book } = options;
  const candidates: Record<Service, Candidate[]> = {
    scheme: [],
    sepa_instant: [],
    sepa: [],
    cross_border: [],
  };
  for (const reference of due) {
    const payment = await book.find(reference);
    // Withdrawn this moment: its entry in the queue is gone as well.
    if (payment === undefined || payment.state !== 'waiting') return 'collision';
    if (isTooLate(payment, options)) {
      if (await refuseWaiting(options, { payment, reason: 'payer_unavailable' })) continue;
      return 'collision';
    }
    const draft = draftTransfer(payment.value.order, { config, payers: host.payers });
    if (draft.ok) {
      candidates[draft.transfer.service].push({ payment, transfer: draft.transfer });
    } else if (!(await refuseWaiting(options, { payment, reason: draft.faults[0].reason }))) {
      return 'collision';
    }
  }
  for (const some of services.flatMap((service) => divide(service, candidates[service]))) {
    const prepared = await prepareFile(options, some);
    if (!prepared.ok) {
      host.log('error', 'a payment file differs from what was ordered and is not sent', {
        detail: prepared.fault,
      });
      return refuseUnwritable(options, some);
    }
    if (!(await host.store.write(prepared.changes))) return 'collision';
  }
  return 'done';
}

/** What each file holds: a message of a scheme has one payment, any other file all of its service. */
function divide(service: Service, some: readonly Candidate[]): (readonly Candidate[])[] {
  if (service === 'scheme') return some.map((candidate) => [candidate]);
  return some.length === 0 ? [] : [some];
}

/**
 * Whether an instant payment has waited so long, with the bank out of reach, that another payer may be
 * faster. It is in no file, and the files that left are known: it was certainly not sent.
 */
function isTooLate({ value }: Payment, { host, config }: FileOptions): boolean {
  if (value.answerMs === 0) return false;
  return host.nowMs() > value.dueAtMs + config.instant.sendSeconds * 1_000;
}

/** One payment that cannot be written as ordered must not hold up the others. */
async function refuseUnwritable(
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

/** It was valid when it was accepted, and the configuration has changed since; nothing was sent. */
async function refuseWaiting(
  { host, book }: FileOptions,
  { payment, reason }: { payment: Payment; reason: Reason },
): Promise<boolean> {
  const reference = payment.key;
  const next = withdraw(payment, reason);
  if (next === undefined || !(await book.write(payment, next))) return false;
  const atMs = host.nowMs();
  const id = `${reference}:not-sent`;
  await host.receive({
    id,
    channel: 'poll',
    raw: Buffer.from(JSON.stringify({ reference, reason })),
    observations: [{ id, reference, outcome: 'rejected', reason, atMs }],
  });
  host.log('warn', 'a waiting payment can no longer be sent', { reference, reason });
  return true;
}

type Prepared =
  | { readonly ok: true; readonly changes: RecordChange[] }
  | { readonly ok: false; readonly fault: string };

async function prepareFile(
  { host, config, book }: FileOptions,
  candidates: readonly Candidate[],
): Promise<Prepared> {
  const counter = await readFileCounter(host.store);
  const nowMs = host.nowMs();
  const transfers = candidates.map(({ transfer }) => transfer);
  const file: PaymentFile = {
    ...groupTransfers(transfers, { prefix: config.messagePrefix }),
    createdAtMs: nowMs,
    executionDay: transfers.every(({ service }) => isInstantService(service))
      ? toLocalTime(config.schedule.timeZone, nowMs).day
      : findExecutionDay(config.schedule, nowMs),
  };
  const xml =
    config.scheme === undefined
      ? writePaymentFile(file, config)
      : writeSchemeMessage(file, config.scheme);
  try {
    checkPaymentFile(
      xml,
      candidates.map(({ payment }) => payment.value.order),
    );
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // Only messages of our own are known to hold no personal data.
    return { ok: false, fault: error.name === 'Error' ? error.message : error.name };
  }
  const stored: StoredFile = {
    name: `${file.messageId}.xml`,
    xml,
    deliveries: 0,
    groups: file.groups.map(({ id, currency, debtor, transfers: members }) => ({
      id,
      currency,
      debtor: debtor.key,
      references: members.map(({ reference }) => reference),
    })),
  };
  const seen = { key: file.messageId, revision: 0 };
  const changes: RecordChange[] = [
    openFileCounter(host.store).change(counter, counter.next + 1),
    openFileRecords(host.store).change(seen, { state: 'closed', value: stored }),
    ...candidates.flatMap(({ payment }) =>
      book.change(payment, fileWaiting(payment, { messageId: file.messageId, closedAtMs: nowMs })),
    ),
  ];
  return { ok: true, changes };
}

/**
 * With every payment in it, so that none of them is ever sent again. One that waits leaves the queue;
 * one that is in another file as well stays as it is.
 */
async function adoptFile({ host, book }: FileOptions, written: WrittenFile): Promise<void> {
  const records = openFileRecords(host.store);
  const { messageId } = written;
  const groups = Map.groupBy(written.payments, ({ groupId }) => groupId);
  const file: StoredFile = {
    name: `${messageId}.xml`,
    xml: '',
    // Whether its delivery was interrupted is unknown.
    deliveries: 2,
    groups: [...groups].map(([id, payments]) => ({
      id,
      currency: payments[0]?.currency ?? '',
      debtor: '',
      references: payments.map(({ reference }) => reference),
    })),
  };
  for (let tries = 0; tries < triesMax; tries += 1) {
    const seen = { key: messageId, revision: 0 };
    const changes = [records.change(seen, { state: 'delivered', value: file })];
    for (const payment of written.payments) {
      changes.push(...(await book.describeAdoption(payment, messageId)));
    }
    if (await host.store.write(changes)) return;
    if ((await records.find(messageId)) !== undefined) return;
  }
  throw new Error(`the payments of ${messageId} were changed by others ${triesMax} times in a row`);
}
