import { createHash } from 'node:crypto';
import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import type { RecordChange } from '../contract/contract.ts';
import {
  type Closing,
  findNextClosing,
  findOpenClosing,
  nextBankingDay,
  toEastern,
} from './banking-days.ts';
import {
  type Context,
  changeCounter,
  changePayment,
  collections,
  type FileContents,
  type FileRecord,
  getCounter,
  type KnownPayment,
  listWaiting,
  nameTrace,
  type Payment,
} from './books.ts';
import { type BuiltFile, buildFile, countTraces, fileAmountMinorMax } from './build-file.ts';
import type { NachaConfig } from './config.ts';
import type { Draft } from './drafts.ts';
import { checkBuiltFile } from './last-check.ts';
import { nameFile } from './manifest.ts';
import { reconcileFiles } from './reconcile.ts';
import { AchFormatError } from './record-layout.ts';

/** Closes windows: what waits becomes a file whose bytes are kept. */

type Target = {
  readonly effectiveOn: string;
  readonly sameDay: boolean;
  readonly deadlineMs: number;
};

const modifiers = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const conflictsMax = 10;

export async function closeFiles(context: Context): Promise<void> {
  const { config, host } = context;
  // Before anything is written: what the memory may have lost is in the folders.
  await reconcileFiles(context);
  const nowMs = host.nowMs();
  const closing = findOpenClosing(config.windows, nowMs);
  if (closing !== undefined) {
    const isHeld = createHold(config, closing);
    const isMeant = (payment: Payment) => payment.sentAtMs < closing.closesAtMs && !isHeld(payment);
    await closeWaiting(context, isMeant, closing);
  }
  if (config.closeAfterSeconds !== undefined) {
    const lateMs = nowMs - config.closeAfterSeconds * 1000;
    const oldest = await listWaiting(context, ({ sentAtMs }) => sentAtMs <= lateMs);
    if (oldest.length > 0) await closeWaiting(context, () => true, undefined);
  }
}

/** At a window for the next day, same-day entries wait if a same-day window closes later that day. */
function createHold(config: NachaConfig, closing: Closing): (payment: Payment) => boolean {
  const hasLater = config.windows.some(
    ({ sameDay, closesAt }) => sameDay && closesAt > closing.closesAt,
  );
  if (closing.sameDay || !hasLater) return () => false;
  return ({ draft }) => draft !== null && isSameDayEntry(draft, config);
}

async function closeWaiting(
  context: Context,
  isMeant: (payment: Payment) => boolean,
  closing: Closing | undefined,
): Promise<void> {
  const { config, host } = context;
  const leftOut = new Set<string>();
  for (let conflicts = 0; conflicts < conflictsMax; ) {
    const waiting = await listWaiting(
      context,
      (payment) => isMeant(payment) && !leftOut.has(payment.draft?.reference ?? ''),
    );
    // The deadline may pass while files are written: what is left then settles on the next day.
    const isOpen = closing?.sameDay === true && host.nowMs() < closing.deadlineMs;
    const isFast = ({ value: { draft } }: KnownPayment) =>
      isOpen && draft !== null && isSameDayEntry(draft, config);
    const fast = waiting.filter(isFast);
    const chosen = chooseEntries(fast.length > 0 ? fast : waiting, config);
    if (chosen.length === 0) return;
    const faulty = chosen.filter(({ value: { draft } }) => !canBeWritten(draft, config));
    for (const { key } of faulty) {
      leftOut.add(key);
      host.log('error', 'an entry cannot be written as configured now', { reference: key });
    }
    if (faulty.length > 0) continue;
    const target = findTarget(host.nowMs(), fast.length > 0 ? closing : undefined, closing);
    const sealed = await sealFile(context, chosen, target);
    if (sealed === 'no_identity') return;
    if (sealed === 'conflict') conflicts += 1;
  }
}

/** Without a window the file is expected to be fetched within two hours. */
const collectionMs = 2 * 3_600_000;

function findTarget(
  nowMs: number,
  sameDayClosing: Closing | undefined,
  closing: Closing | undefined,
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
export function isSameDayEntry(draft: Draft, { sameDayLimit }: NachaConfig): boolean {
  return (
    draft.speed === 'same_day' &&
    draft.entryClass !== 'IAT' &&
    BigInt(draft.amountMinor) <= getAmountMinor(sameDayLimit, getCurrency('USD'))
  );
}

/** As many as one file may hold; what is too much for it goes into the next one. */
function chooseEntries(
  waiting: readonly KnownPayment[],
  { entriesMax }: NachaConfig,
): KnownPayment[] {
  const chosen: KnownPayment[] = [];
  let totalMinor = 0n;
  for (const payment of waiting) {
    const amountMinor = BigInt(payment.value.draft?.amountMinor ?? 0);
    if (chosen.length >= entriesMax) break;
    if (totalMinor + amountMinor > fileAmountMinorMax) continue;
    totalMinor += amountMinor;
    chosen.push(payment);
  }
  return chosen;
}

/** Whether a file with this entry alone would be right; asked before a payment is taken, too. */
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
  payments: readonly KnownPayment[],
  target: Target,
): Promise<SealResult> {
  const { config, host } = context;
  const created = toEastern(host.nowMs());
  const date = created.day.replaceAll('-', '');
  const minute = created.time.replace(':', '');
  const fileKey = config.fileIdentity === 'date' ? `file-${date}` : `file-${date}-${minute}`;
  const fileCounter = await getCounter(context, fileKey);
  const modifier = modifiers[fileCounter.next];
  if (modifier === undefined) {
    host.log('error', 'all 36 file names of the day are used', { day: created.day });
    return 'no_identity';
  }
  const drafts = payments.flatMap(({ value: { draft } }) => (draft === null ? [] : [draft]));
  const digest = digestPayments(drafts);
  const traceCounter = await getCounter(context, 'trace');
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
  const counters = [
    { key: fileKey, next: fileCounter.next + 1 },
    { key: 'trace', next: block.next },
  ];
  const isWritten = await host.store.write([
    changeCounter(fileKey, fileCounter, fileCounter.next + 1),
    changeCounter('trace', traceCounter, block.next),
    ...describeFile(context, { fileId, built, target, counters, round: block.round }),
    ...describeTraces(built, fileId, block.round),
    ...describePayments(payments, built, fileId),
  ]);
  if (!isWritten) return 'conflict';
  host.log('info', 'a file is closed', { file: fileId, entries: drafts.length });
  return 'sealed';
}

/**
 * The same payments give the same digest, whenever and by whatever database they are written: it
 * names the file and is its reference code, so that a bank can see that it had them before.
 */
function digestPayments(drafts: readonly Draft[]): string {
  const lines = drafts.map(
    ({ reference, amountMinor, routingNumber, account }) =>
      `${reference} ${amountMinor} ${routingNumber} ${account}\n`,
  );
  return createHash('sha256').update(lines.toSorted().join('')).digest('hex');
}

/** Trace numbers of one file follow each other, so that a block does not go round the corner. */
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
  readonly counters: NonNullable<FileRecord['counters']>;
  readonly round: number;
};

function describeFile(
  { host }: Context,
  { fileId, built, target, counters, round }: SealedFile,
): RecordChange[] {
  const file: FileRecord = {
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
  const contents: FileContents = { text: built.text, entries: built.entries };
  return [
    {
      collection: collections.files,
      key: fileId,
      revision: 0,
      next: { state: 'sealed', value: file },
    },
    {
      collection: collections.contents,
      key: fileId,
      revision: 0,
      next: { state: 'kept', value: contents },
    },
  ];
}

function describeTraces(built: BuiltFile, fileId: string, round: number): RecordChange[] {
  const amounts = new Map(
    built.file.batches.flatMap(({ entries }) =>
      entries.map(({ detail }) => [detail.trace, BigInt(detail.amount).toString()] as const),
    ),
  );
  const owners = [
    ...built.entries,
    ...built.offsetTraces.map((trace) => ({ reference: '', trace })),
  ];
  return owners.map(({ reference, trace }) => ({
    collection: collections.traces,
    key: nameTrace(trace, round),
    revision: 0,
    next: {
      state: 'given',
      value: { reference, fileId, amountMinor: amounts.get(trace) ?? '' },
    },
  }));
}

function describePayments(
  payments: readonly KnownPayment[],
  built: BuiltFile,
  fileId: string,
): RecordChange[] {
  const traces = new Map(built.entries.map(({ reference, trace }) => [reference, trace]));
  return payments.map((payment) => {
    const trace = traces.get(payment.key);
    if (trace === undefined) throw new Error(`the file has no entry of ${payment.key}`);
    return changePayment(payment, {
      state: 'filed',
      value: { ...payment.value, fileId, trace },
    });
  });
}

/** When something closes next, in the environment's milliseconds. */
export async function findNextClose(context: Context): Promise<number | undefined> {
  const { config, host } = context;
  const next = findNextClosing(config.windows, host.nowMs())?.closesAtMs;
  if (config.closeAfterSeconds === undefined) return next;
  const waiting = await listWaiting(context, () => true);
  const oldestMs = Math.min(...waiting.map(({ value }) => value.sentAtMs));
  return Math.min(next ?? Infinity, oldestMs + config.closeAfterSeconds * 1000);
}
