import { createHash } from 'node:crypto';
import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import type { RecordChange } from '../contract/contract.ts';
import {
  findNextClosing,
  findOpenClosing,
  nextBankingDay,
  toEastern,
  type WindowClosing,
} from './banking-days.ts';
import { type BuiltFile, buildFile, countTraces, fileAmountMinorMax } from './build-file.ts';
import type { NachaConfig } from './config.ts';
import type { Draft } from './drafts.ts';
import { checkBuiltFile } from './final-check.ts';
import { nameFile } from './manifest.ts';
import { reconcileFiles } from './reconcile.ts';
import { AchFormatError } from './record-layout.ts';
import {
  type Context,
  type FileValue,
  listWaiting,
  nameTrace,
  type Payment,
  type PaymentRecord,
} from './records.ts';

/** Closes windows: the waiting payments become a file whose bytes are stored. */

type Target = {
  readonly effectiveOn: string;
  readonly sameDay: boolean;
  readonly deadlineMs: number;
};

const modifiers = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const conflictsMax = 10;

export async function closeFiles(context: Context): Promise<void> {
  const { config, host } = context;
  // First, since the folders may hold files that a restored database has lost.
  await reconcileFiles(context);
  const nowMs = host.nowMs();
  const closing = findOpenClosing(config.windows, nowMs);
  if (closing !== undefined) {
    const isHeld = createHold(config, closing);
    const isIncluded = (payment: Payment) =>
      payment.sentAtMs < closing.closesAtMs && !isHeld(payment);
    await closeWaiting(context, isIncluded, closing);
  }
  if (config.closeAfterSeconds !== undefined) {
    const lateMs = nowMs - config.closeAfterSeconds * 1000;
    const oldest = await listWaiting(context, ({ sentAtMs }) => sentAtMs <= lateMs);
    if (oldest.length > 0) await closeWaiting(context, () => true, undefined);
  }
}

/** At a window for the next day, same-day entries wait if a same-day window closes later that day. */
function createHold(config: NachaConfig, closing: WindowClosing): (payment: Payment) => boolean {
  const hasLater = config.windows.some(
    ({ sameDay, closesAt }) => sameDay && closesAt > closing.closesAt,
  );
  if (closing.sameDay || !hasLater) return () => false;
  return ({ draft }) => draft !== null && isSameDayEntry(draft, config);
}

async function closeWaiting(
  context: Context,
  isIncluded: (payment: Payment) => boolean,
  closing: WindowClosing | undefined,
): Promise<void> {
  const { config, host } = context;
  const leftOut = new Set<string>();
  for (let conflicts = 0; conflicts < conflictsMax; ) {
    const waiting = await listWaiting(
      context,
      (payment) => isIncluded(payment) && !leftOut.has(payment.draft?.reference ?? ''),
    );
    // The deadline may pass while files are written: the rest settles on the next day.
    const isOpen = closing?.sameDay === true && host.nowMs() < closing.deadlineMs;
    const isFast = ({ value: { draft } }: PaymentRecord) =>
      isOpen && draft !== null && isSameDayEntry(draft, config);
    const fast = waiting.filter(isFast);
    const chosen = chooseEntries(fast.length > 0 ? fast : waiting, config);
    if (chosen.length === 0) return;
    const faulty = chosen.filter(({ value: { draft } }) => !canBeWritten(draft, config));
    for (const { key } of faulty) {
      leftOut.add(key);
      host.log('error', 'an entry cannot be written with the current configuration', {
        reference: key,
      });
    }
    if (faulty.length > 0) continue;
    const target = findTarget(host.nowMs(), fast.length > 0 ? closing : undefined, closing);
    const sealed = await sealFile(context, chosen, target);
    if (sealed === 'no_identity') return;
    if (sealed === 'conflict') conflicts += 1;
  }
}

/** Without a window the bank is expected to fetch the file within two hours. */
const collectionMs = 2 * 3_600_000;

function findTarget(
  nowMs: number,
  sameDayClosing: WindowClosing | undefined,
  closing: WindowClosing | undefined,
): Target {
  if (sameDayClosing !== undefined) {
    const { day, deadlineMs } = sameDayClosing;
    return { effectiveOn: day, sameDay: true, deadlineMs };
  }
  return {
    effectiveOn: nextBankingDay(toEastern(nowMs).day),
    sameDay: false,
    deadlineMs: closing?.deadlineMs ?? nowMs + collectionMs,
  };
}

/** Nacha's rule: no IAT on the same day, and no entry over the limit. */
function isSameDayEntry(draft: Draft, { sameDayLimit }: NachaConfig): boolean {
  return (
    draft.speed === 'same_day' &&
    draft.entryClass !== 'IAT' &&
    draft.amountMinor <= getAmountMinor(sameDayLimit, getCurrency('USD'))
  );
}

/** At most as many as one file may hold; the rest goes into the next one. */
function chooseEntries(
  waiting: readonly PaymentRecord[],
  { entriesMax }: NachaConfig,
): PaymentRecord[] {
  const chosen: PaymentRecord[] = [];
  let totalMinor = 0n;
  for (const payment of waiting) {
    const amountMinor = payment.value.draft?.amountMinor ?? 0n;
    if (chosen.length >= entriesMax) break;
    if (totalMinor + amountMinor > fileAmountMinorMax) continue;
    totalMinor += amountMinor;
    chosen.push(payment);
  }
  return chosen;
}

/** Whether a file with this entry alone would be valid; also checked before a payment is accepted. */
export function canBeWritten(draft: Draft | null, config: NachaConfig): boolean {
  if (draft === null) return false;
  const created = { day: '2026-01-02', time: '12:00' };
  const plan = { config, created, modifier: 'A', effectiveOn: '2026-01-05', traceFirst: 1 };
  try {
    checkBuiltFile(buildFile({ ...plan, referenceCode: '', drafts: [draft] }), [draft]);
    return true;
  } catch (error) {
    if (error instanceof AchFormatError) return false;
    throw error;
  }
}

type SealResult = 'sealed' | 'conflict' | 'no_identity';

async function sealFile(
  context: Context,
  payments: readonly PaymentRecord[],
  target: Target,
): Promise<SealResult> {
  const { config, host, counters } = context;
  const created = toEastern(host.nowMs());
  const date = created.day.replaceAll('-', '');
  const minute = created.time.replace(':', '');
  const fileKey = config.fileIdentity === 'date' ? `file-${date}` : `file-${date}-${minute}`;
  const fileCounter = await counters.read(fileKey);
  const modifier = modifiers[fileCounter.next];
  if (modifier === undefined) {
    host.log('error', 'all 36 file names of the day are used', { day: created.day });
    return 'no_identity';
  }
  const drafts = payments.flatMap(({ value: { draft } }) => (draft === null ? [] : [draft]));
  const digest = digestPayments(drafts);
  const traceCounter = await counters.read('trace');
  const block = findTraceBlock(traceCounter.next, countTraces(drafts, config), config);
  const built = buildFile({
    config,
    created,
    modifier,
    referenceCode: digest.slice(0, 8).toUpperCase(),
    effectiveOn: target.effectiveOn,
    drafts,
    traceFirst: block.first,
  });
  checkBuiltFile(built, drafts);
  const fileId = `${date}-${digest.slice(0, 16)}`;
  const taken = [
    [fileCounter, fileCounter.next + 1],
    [traceCounter, block.next],
  ] as const;
  const isWritten = await host.store.write([
    ...taken.map(([counter, next]) => counters.change(counter, next)),
    ...describeFile(context, {
      fileId,
      built,
      target,
      counters: taken.map(([{ key }, next]) => ({ key, next })),
      round: block.round,
    }),
    ...describeTraces(context, built, { fileId, round: block.round }),
    ...describePayments(context, { payments, built, fileId }),
  ]);
  if (!isWritten) return 'conflict';
  host.log('info', 'a file is closed', { file: fileId, entries: drafts.length });
  return 'sealed';
}

/**
 * The same payments give the same digest, also after a restore of the database. It names the file and
 * is its reference code, so that a bank can see that it had them before.
 */
function digestPayments(drafts: readonly Draft[]): string {
  const lines = drafts.map(
    ({ reference, amountMinor, routingNumber, account }) =>
      `${reference} ${amountMinor} ${routingNumber} ${account}\n`,
  );
  return createHash('sha256').update(lines.toSorted().join('')).digest('hex');
}

/** Trace numbers of one file are consecutive, so that a block does not cross the end of the range. */
function findTraceBlock(
  next: number,
  count: number,
  { traceRange }: NachaConfig,
): { first: number; next: number; round: number } {
  const span = traceRange.last - traceRange.first + 1;
  const left = span - (next % span);
  const start = count <= left ? next : next + left;
  return {
    first: traceRange.first + (start % span),
    next: start + count,
    round: Math.floor(start / span),
  };
}

type SealedFile = {
  readonly fileId: string;
  readonly built: BuiltFile;
  readonly target: Target;
  readonly counters: FileValue['counters'];
  readonly round: number;
};

function describeFile(
  { host, files, contents }: Context,
  { fileId, built, target, counters, round }: SealedFile,
): RecordChange[] {
  const file: FileValue = {
    name: nameFile(host.name, fileId),
    sha256: createHash('sha256').update(built.text, 'ascii').digest('hex'),
    createdAtMs: host.nowMs(),
    effectiveOn: target.effectiveOn,
    sameDay: target.sameDay,
    deadlineMs: target.deadlineMs,
    entryCount: built.entries.length,
    counters,
    round,
  };
  const seen = { key: fileId, revision: 0 };
  const { text, entries } = built;
  return [
    files.change(seen, { state: 'sealed', value: file }),
    contents.change(seen, { state: 'kept', value: { text, entries: [...entries] } }),
  ];
}

function describeTraces(
  { traces }: Context,
  { file, entries, offsetTraces }: BuiltFile,
  { fileId, round }: { readonly fileId: string; readonly round: number },
): RecordChange[] {
  const amounts = new Map(
    file.batches.flatMap((batch) =>
      batch.entries.map(({ detail }) => [detail.trace, BigInt(detail.amount)] as const),
    ),
  );
  const owners = [...entries, ...offsetTraces.map((trace) => ({ reference: '', trace }))];
  return owners.map(({ reference, trace }) =>
    traces.change(
      { key: nameTrace(trace, round), revision: 0 },
      { state: 'given', value: { reference, fileId, amountMinor: amounts.get(trace) ?? 0n } },
    ),
  );
}

function describePayments(
  context: Context,
  sealed: {
    readonly payments: readonly PaymentRecord[];
    readonly built: BuiltFile;
    readonly fileId: string;
  },
): RecordChange[] {
  const { payments, built, fileId } = sealed;
  const traces = new Map(built.entries.map(({ reference, trace }) => [reference, trace]));
  return payments.flatMap((payment) => {
    const trace = traces.get(payment.key);
    if (trace === undefined) throw new Error(`the file has no entry of ${payment.key}`);
    const value = { ...payment.value, fileId, trace };
    return context.payments.change(payment, { state: 'filed', value });
  });
}

/** When the next file is closed, in the environment's milliseconds. */
export async function findNextClose(context: Context): Promise<number | undefined> {
  const { config, host } = context;
  const next = findNextClosing(config.windows, host.nowMs())?.closesAtMs;
  if (config.closeAfterSeconds === undefined) return next;
  const waiting = await listWaiting(context, () => true);
  const oldestMs = Math.min(...waiting.map(({ value }) => value.sentAtMs));
  return Math.min(next ?? Infinity, oldestMs + config.closeAfterSeconds * 1000);
}
