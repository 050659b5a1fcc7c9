import type { RailHost, RecordChange, StoredRecord } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import type { NachaConfig } from './config.ts';
import type { Draft } from './drafts.ts';

/**
 * What the rail remembers. A payment goes from `waiting` (in no file yet) to `filed` (its entry is
 * in a file whose bytes are kept), then to `paid` by the calendar; a return ends it from any of
 * them. The write that makes a file takes its payments out of `waiting`, hands out the trace
 * numbers and keeps the bytes at once, or does nothing of it.
 */

export type Context = {
  readonly config: NachaConfig;
  readonly host: RailHost;
  /** Keys of files and of other warnings that are in the log already. */
  readonly warned: Set<string>;
  /** How far the memory was compared with the files that the rail wrote. */
  readonly recovery: { isDone: boolean; readonly knownFiles: Set<string> };
};

export type PaymentState = 'waiting' | 'filed' | 'paid' | 'returned' | 'rejected' | 'cancelled';

export type Payment = {
  /** Null: cancelled before it was ever sent, or known by the manifest of its file alone. */
  readonly draft: Draft | null;
  /** Of a payment that is known by the manifest of its file. */
  readonly amountMinor?: string;
  readonly sentAtMs: number;
  readonly fileId?: string;
  readonly trace?: string;
  readonly reason?: Reason;
  readonly code?: string;
  /** Minor units that came back, by the id of the observation; absent: all of it came back. */
  readonly returnedMinor?: Readonly<Record<string, string>>;
};

/**
 * `sealed`: the bytes are kept; `delivering`: they lie beside the outbox under a temporary name;
 * `delivered`: in the outbox; `collected`: the bank has them, so far as can be seen; `settled`: what
 * did not come back is paid.
 */
export type FileState = 'sealed' | 'delivering' | 'delivered' | 'collected' | 'settled';

export type FileRecord = {
  readonly name: string;
  readonly sha256: string;
  readonly createdAtMs: number;
  /** YYYY-MM-DD. */
  readonly effectiveOn: string;
  readonly sameDay: boolean;
  /** Until when the bank takes it for `effectiveOn`. */
  readonly deadlineMs: number;
  readonly entryCount: number;
  /** Where the bank was to find it, whatever the configuration says by now. */
  readonly outbox?: string;
  readonly temporaryName?: string;
  readonly deliveredAtMs?: number;
  readonly settlesOn?: string;
  readonly paidDueMs?: number;
  /** For the manifest: counters after this file, and the round of its trace numbers. */
  readonly counters?: readonly { readonly key: string; readonly next: number }[];
  readonly round?: number;
};

export type FileContents = {
  readonly text: string;
  readonly entries: readonly FileEntry[];
};

export type FileEntry = {
  readonly reference: string;
  readonly trace: string;
  readonly payerKey?: string;
  readonly countryCode?: string;
};

/** Whose entry a trace number is; "" for a debit of the operator's own account. */
export type TraceOwner = {
  readonly reference: string;
  readonly fileId: string;
  readonly amountMinor: string;
};

export type Known<State extends string, Value> = {
  readonly key: string;
  readonly state: State;
  readonly revision: number;
  readonly value: Value;
};

export const collections = {
  payments: 'payments',
  files: 'files',
  contents: 'contents',
  traces: 'traces',
  counters: 'counters',
} as const;

/** The store holds what this rail has written, in the forms above. */
function assume<State extends string, Value>(record: StoredRecord): Known<State, Value> {
  return { ...record, state: record.state as State, value: record.value as Value };
}

export type KnownPayment = Known<PaymentState, Payment>;
export type KnownFile = Known<FileState, FileRecord>;

export async function findPayment(
  { host }: Context,
  reference: string,
): Promise<KnownPayment | undefined> {
  const record = await host.store.get(collections.payments, reference);
  return record === undefined ? undefined : assume(record);
}

/** All payments in no file yet that pass the filter, in the order of their references. */
export async function listWaiting(
  { host }: Context,
  isMeant: (payment: Payment) => boolean,
): Promise<KnownPayment[]> {
  const found: KnownPayment[] = [];
  const count = 500;
  let after = '';
  for (;;) {
    const page = await host.store.list(collections.payments, { state: 'waiting', after, count });
    for (const record of page) {
      const payment = assume<PaymentState, Payment>(record);
      if (isMeant(payment.value)) found.push(payment);
    }
    if (page.length < count) return found;
    after = page.at(-1)?.key ?? '';
  }
}

/** All files in the state, the oldest first. */
export async function listFiles({ host }: Context, state: FileState): Promise<KnownFile[]> {
  const found: KnownFile[] = [];
  const count = 100;
  for (;;) {
    const after = found.at(-1)?.key ?? '';
    const page = await host.store.list(collections.files, { state, after, count });
    found.push(...page.map((record) => assume<FileState, FileRecord>(record)));
    if (page.length < count) break;
  }
  return found.toSorted((a, b) => a.value.createdAtMs - b.value.createdAtMs);
}

export async function findFile({ host }: Context, fileId: string): Promise<KnownFile | undefined> {
  const record = await host.store.get(collections.files, fileId);
  return record === undefined ? undefined : assume(record);
}

export async function getContents({ host }: Context, fileId: string): Promise<FileContents> {
  const record = await host.store.get(collections.contents, fileId);
  if (record === undefined) throw new Error(`the contents of the file ${fileId} are missing`);
  return assume<string, FileContents>(record).value;
}

/** False where the file has moved on: another process was faster. */
export async function moveFile(
  { host }: Context,
  file: KnownFile,
  next: { readonly state: FileState; readonly value: FileRecord },
): Promise<boolean> {
  return host.store.write([
    { collection: collections.files, key: file.key, revision: file.revision, next },
  ]);
}

export function changePayment(
  payment: KnownPayment,
  next: { readonly state: PaymentState; readonly value: Payment },
): RecordChange {
  return {
    collection: collections.payments,
    key: payment.key,
    revision: payment.revision,
    next,
  };
}

export type Counter = { readonly revision: number; readonly next: number };

export async function getCounter({ host }: Context, key: string): Promise<Counter> {
  const record = await host.store.get(collections.counters, key);
  if (record === undefined) return { revision: 0, next: 0 };
  return {
    revision: record.revision,
    next: assume<string, { next: number }>(record).value.next,
  };
}

export function changeCounter(key: string, counter: Counter, next: number): RecordChange {
  return {
    collection: collections.counters,
    key,
    revision: counter.revision,
    next: { state: 'counting', value: { next } },
  };
}

/**
 * Trace numbers come round again after their range; the round keeps the owners apart, so that a
 * return of an earlier round never finds another payment of the same amount by mistake.
 */
export function nameTrace(trace: string, round: number): string {
  return `${trace}-${String(round).padStart(6, '0')}`;
}

/** The owners of a trace number, the latest first. */
export async function listOwners({ host }: Context, trace: string): Promise<TraceOwner[]> {
  const page = await host.store.list(collections.traces, { after: `${trace}-`, count: 100 });
  return page
    .filter(({ key }) => key.startsWith(`${trace}-`))
    .map((record) => assume<string, TraceOwner>(record).value)
    .toReversed();
}
