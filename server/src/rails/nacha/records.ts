import { z } from 'zod';
import type { RailAnswer, RailHost } from '../contract/contract.ts';
import { type Counters, openCounters } from '../kit/counters.ts';
import { type Folder, openFolder } from '../kit/folder.ts';
import { openPaymentBook, type PaymentBook } from '../kit/payment-book.ts';
import {
  minorUnits,
  openRecords,
  type Records,
  reasonSchema,
  type TypedRecord,
} from '../kit/records.ts';
import {
  addBankingDays,
  findNextClosing,
  fromEastern,
  nextBankingDay,
  toEastern,
} from './banking-days.ts';
import type { NachaConfig } from './config.ts';
import { draftEntry, draftSchema, isSamePayment } from './drafts.ts';

/**
 * What the rail stores. A payment goes from `waiting` (in no file yet) to `filed` (its entry is in a
 * file whose bytes are stored), then to `paid` by the calendar; a return ends it from any of them. One
 * write makes a file: it takes the payments out of `waiting`, gives out the trace numbers and stores
 * the bytes, or does none of it.
 */
const paymentStates = ['waiting', 'filed', 'paid', 'returned', 'rejected', 'cancelled'] as const;

const paymentSchema = z.object({
  /** Null: canceled before it was ever sent, or known by the manifest of its file alone. */
  draft: draftSchema.nullable(),
  /** Of a payment that is known by the manifest of its file. */
  amountMinor: minorUnits.optional(),
  sentAtMs: z.number(),
  fileId: z.string().optional(),
  trace: z.string().optional(),
  reason: reasonSchema.optional(),
  code: z.string().optional(),
  /** Minor units that came back, by what identifies the return. */
  returnedMinor: z.record(z.string(), minorUnits).default({}),
});

/**
 * `sealed`: the bytes are stored; `delivering`: they are in the outbox under a temporary name;
 * `delivered`: in the outbox; `collected`: the bank has them, as far as can be seen; `settled`: what
 * did not come back is paid.
 */
const fileStates = ['sealed', 'delivering', 'delivered', 'collected', 'settled'] as const;

const fileSchema = z.object({
  name: z.string(),
  sha256: z.string(),
  createdAtMs: z.number(),
  /** YYYY-MM-DD. */
  effectiveOn: z.string(),
  sameDay: z.boolean(),
  /** Until when the bank takes it for `effectiveOn`. */
  deadlineMs: z.number(),
  entryCount: z.number(),
  /** The outbox at the time of delivery, which the configuration may have changed since. */
  outbox: z.string().optional(),
  temporaryName: z.string().optional(),
  deliveredAtMs: z.number().optional(),
  settlesOn: z.string().optional(),
  paidDueMs: z.number().optional(),
  /** For the manifest: counters after this file, and the round of its trace numbers. */
  counters: z.array(z.object({ key: z.string(), next: z.number() })).default([]),
  round: z.number().default(0),
});

const contentsSchema = z.object({
  /** Empty once the bank has the file. */
  text: z.string(),
  entries: z.array(
    z.object({
      reference: z.string(),
      trace: z.string(),
      payerKey: z.string().optional(),
      countryCode: z.string().optional(),
    }),
  ),
});

/** Whose entry has a trace number; the reference is "" for a debit of the operator's own account. */
const ownerSchema = z.object({
  reference: z.string(),
  fileId: z.string(),
  amountMinor: minorUnits,
});

type PaymentState = (typeof paymentStates)[number];
type FileState = (typeof fileStates)[number];
export type Payment = z.output<typeof paymentSchema>;
export type FileValue = z.output<typeof fileSchema>;
export type FileContents = z.output<typeof contentsSchema>;
export type FileEntry = FileContents['entries'][number];
export type TraceOwner = z.output<typeof ownerSchema>;
export type PaymentRecord = TypedRecord<PaymentState, Payment>;
export type FileRecord = TypedRecord<FileState, FileValue>;

/** A configured rail: its stored records, its folders, and what one process remembers. */
export type Context = {
  readonly config: NachaConfig;
  readonly host: RailHost;
  readonly payments: PaymentBook<PaymentState, Payment>;
  readonly files: Records<FileState, FileValue>;
  readonly contents: Records<'kept', FileContents>;
  readonly traces: Records<'given', TraceOwner>;
  readonly counters: Counters;
  /** The New York day on which the newest file of the bank was read. */
  readonly arrivals: Records<'read', { readonly day: string }>;
  /** By their hashes, the bank's files that this database has applied. */
  readonly readFiles: Records<'read', Readonly<Record<string, never>>>;
  readonly folders: Readonly<Record<'outbox' | 'inbox' | 'archive', Folder>>;
  /** Keys of files and of other warnings that were logged already. */
  readonly warned: Set<string>;
  /** How far the database was compared with the files that the rail wrote. */
  readonly recovery: { isDone: boolean; readonly knownFiles: Set<string> };
};

export function createContext(config: NachaConfig, host: RailHost): Context {
  const { store, payers } = host;
  const { folders } = config;
  return {
    config,
    host,
    payments: openPaymentBook(host, {
      collection: 'payments',
      states: paymentStates,
      value: paymentSchema,
      isSame: ({ value: { draft, amountMinor } }, instruction) => {
        if (draft === null) {
          return amountMinor === undefined || amountMinor === instruction.amountMinor;
        }
        const payer = payers.find(({ key }) => key === instruction.payerKey);
        const drafted = draftEntry(instruction, config, payer);
        return drafted.ok && isSamePayment(draft, drafted.draft);
      },
      answer: (payment) => describePayment(payment, { config, nowMs: host.nowMs() }),
    }),
    files: openRecords(store, { collection: 'files', states: fileStates, value: fileSchema }),
    contents: openRecords(store, {
      collection: 'contents',
      states: ['kept'],
      value: contentsSchema,
    }),
    traces: openRecords(store, { collection: 'traces', states: ['given'], value: ownerSchema }),
    counters: openCounters(store, { collection: 'counters', first: 0 }),
    arrivals: openRecords(store, {
      collection: 'arrivals',
      states: ['read'],
      value: z.object({ day: z.string() }),
    }),
    readFiles: openRecords(store, {
      collection: 'read_files',
      states: ['read'],
      value: z.object({}),
    }),
    folders: {
      outbox: openFolder(folders.outbox),
      inbox: openFolder(folders.inbox),
      archive: openFolder(folders.archive),
    },
    warned: new Set(),
    recovery: { isDone: false, knownFiles: new Set() },
  };
}

type Situation = { readonly config: NachaConfig; readonly nowMs: number };

/** What the rail answers from the record of a payment. */
export function describePayment({ state, value }: PaymentRecord, situation: Situation): RailAnswer {
  const { reason = 'other', trace, code } = value;
  const extras = {
    ...(trace === undefined ? {} : { providerReference: trace }),
    ...(code === undefined ? {} : { code }),
  };
  switch (state) {
    case 'waiting':
    case 'filed':
      return { ...extras, outcome: 'accepted', checkAtMs: estimatePaid(value, situation) };
    case 'paid':
      return { ...extras, outcome: 'paid' };
    case 'returned': {
      const parts = Object.values(value.returnedMinor);
      const amountMinor = parts.reduce((sum, part) => sum + part, 0n);
      return { ...extras, outcome: 'returned', reason, amountMinor };
    }
    case 'rejected':
    case 'cancelled':
      return { ...extras, outcome: 'rejected', reason };
  }
}

/** When the payment counts as paid if nothing comes back; never before the next half hour. */
function estimatePaid({ sentAtMs }: Payment, { config, nowMs }: Situation): number {
  const closesAtMs = findNextClosing(config.windows, sentAtMs)?.closesAtMs ?? sentAtMs;
  const settlesOn = nextBankingDay(toEastern(closesAtMs).day);
  const day = addBankingDays(settlesOn, config.paidAfterBankingDays);
  const dueMs = fromEastern({ day, time: config.paidAt });
  return Math.max(dueMs, nowMs + 30 * 60_000);
}

/** All payments in no file yet that pass the filter, in the order of their references. */
export async function listWaiting(
  { payments }: Context,
  isIncluded: (payment: Payment) => boolean,
): Promise<PaymentRecord[]> {
  const waiting = await Array.fromAsync(payments.list({ state: 'waiting' }));
  return waiting.filter(({ value }) => isIncluded(value));
}

/** All files in the state, the oldest first. */
export async function listFiles({ files }: Context, state: FileState): Promise<FileRecord[]> {
  const found = await Array.fromAsync(files.list({ state }));
  return found.toSorted((a, b) => a.value.createdAtMs - b.value.createdAtMs);
}

export async function getContents({ contents }: Context, fileId: string): Promise<FileContents> {
  const record = await contents.find(fileId);
  if (record === undefined) throw new Error(`the contents of the file ${fileId} are missing`);
  return record.value;
}

/**
 * Trace numbers come round again after their range; the round keeps the owners apart, so that a
 * return of an earlier round never finds another payment of the same amount by mistake.
 */
export function nameTrace(trace: string, round: number): string {
  return `${trace}-${String(round).padStart(6, '0')}`;
}

/** The owners of a trace number, the latest first. */
export async function listOwners({ traces }: Context, trace: string): Promise<TraceOwner[]> {
  const records = await Array.fromAsync(traces.list({ prefix: `${trace}-` }));
  return records.map(({ value }) => value).toReversed();
}
