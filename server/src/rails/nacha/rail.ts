import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
  RailModule,
} from '../contract/contract.ts';
import {
  addBankingDays,
  findNextClosing,
  fromEastern,
  nextBankingDay,
  toEastern,
} from './banking-days.ts';
import {
  type Context,
  changePayment,
  collections,
  findPayment,
  type KnownPayment,
  type Payment,
  type PaymentState,
} from './books.ts';
import { canBeWritten, closeFiles, findNextClose } from './closing.ts';
import { type NachaConfig, nachaConfigSchema } from './config.ts';
import { deliverFiles } from './delivery.ts';
import { type DraftResult, draftEntry, isSamePayment } from './drafts.ts';
import { FolderError, findFolderFault, listNames } from './folder-exchange.ts';
import { findMarkerFault } from './folder-marker.ts';
import { readInbox, type SeenMarks } from './inbox.ts';
import { nameFile } from './manifest.ts';
import { listPayerFaults } from './payer-checks.ts';
import { checkRecipient } from './recipient-check.ts';
import { isReconciled, listUnknownFiles } from './reconcile.ts';
import { AchFormatError } from './record-layout.ts';
import { recoverPayments } from './recover.ts';
import { findNextSettling, settleFiles } from './settling.ts';

/**
 * US ACH: payments wait for the next window, leave in a file of 94-character records that the
 * operator's bank (the ODFI) fetches, and come back, if at all, in the bank's return files.
 */
export const railModule: RailModule<NachaConfig> = {
  kind: 'nacha',
  about: 'US bank accounts by ACH files (PPD, CCD, IAT) that your bank originates.',
  corridors: [
    { countries: ['USA'], deliveryType: 'BANK_DEPOSIT', currencies: ['USD'] },
    { countries: 'any', deliveryType: 'BANK_DEPOSIT', currencies: ['USD'] },
  ],
  // An addenda holds 80 characters, and the segment around the reference takes eight.
  reference: { lengthMax: 64, charset: /^[0-9A-Za-z-]+$/ },
  pace: { concurrencyMax: 32, perSecondMax: null },
  configSchema: nachaConfigSchema,
  create: createCalls,
};

async function createCalls(config: NachaConfig, host: RailHost): Promise<RailCalls> {
  refuseSenseless(config, host);
  const recovery = { isDone: false, knownFiles: new Set<string>() };
  const context: Context = { config, host, warned: new Set(), recovery };
  const seen: SeenMarks = new Map();
  await reportFolders(context);
  return {
    usesScreening: true,
    checkRecipient: (draft) => checkRecipient(draft, { config, payers: host.payers }),
    send: (instruction) => send(context, instruction),
    query: (instruction) => query(context, instruction),
    cancel: (instruction) => cancel(context, instruction),
    work: (call) => work(context, seen, call),
    workIdleMs: config.pollSeconds * 1000,
    check: () => check(context),
    recover: (sinceMs) => recoverPayments(context, sinceMs),
  };
}

/** @throws Error with all faults. */
function refuseSenseless(config: NachaConfig, host: RailHost): void {
  const faults = listPayerFaults(config, host);
  if (config.windows.length === 0 && config.closeAfterSeconds === undefined) {
    faults.unshift(
      'there is neither a window nor closeAfterSeconds: no file would ever be written',
    );
  }
  if (faults.length > 0) throw new Error(faults.join('; '));
}

/**
 * A folder that is missing is never created, since it may be a share that is not mounted. The rail
 * starts without it, because processes that only answer requests need no folders; passes fail.
 */
async function reportFolders({ config, host }: Context): Promise<void> {
  for (const folder of new Set(Object.values(config.folders))) {
    const fault = await findFolderFault(folder);
    if (fault !== undefined) host.log('error', 'a bank folder cannot be used', { fault });
  }
}

async function send(context: Context, instruction: Instruction): Promise<RailAnswer> {
  const { config, host } = context;
  const known = await findPayment(context, instruction.reference);
  const payer = host.payers.find(({ key }) => key === instruction.payerKey);
  const drafted = draftEntry(instruction, config, payer);
  if (known !== undefined) {
    if (isSame(known.value, instruction, drafted)) return describe(context, known);
    host.log('error', 'a known reference came with other details', { reference: known.key });
    return { outcome: 'unknown', reason: 'duplicate' };
  }
  const first = judge(drafted, context);
  // A refusal is definite, so that no file may have the payment.
  if (first.state !== 'waiting' && !(await isReconciled(context))) return unsure;
  await keepFirst(context, instruction.reference, first);
  // Read again: another send of the reference may have been faster.
  return query(context, instruction);
}

const unsure: RailAnswer = { outcome: 'unknown', reason: 'payer_unavailable' };

function isSame(
  { draft, amountMinor }: Payment,
  instruction: Instruction,
  drafted: DraftResult,
): boolean {
  if (draft !== null) return drafted.ok && isSamePayment(draft, drafted.draft);
  return amountMinor === undefined || BigInt(amountMinor) === instruction.amountMinor;
}

type First = { readonly state: PaymentState; readonly value: Payment };

/** A refusal is kept, too: what once was refused is not paid when the configuration is another. */
function judge(drafted: DraftResult, { config, host }: Context): First {
  const sentAtMs = host.nowMs();
  if (!drafted.ok) {
    return { state: 'rejected', value: { draft: null, sentAtMs, reason: drafted.reason } };
  }
  if (!canBeWritten(drafted.draft, config)) {
    return { state: 'rejected', value: { draft: null, sentAtMs, reason: 'not_readable' } };
  }
  return { state: 'waiting', value: { draft: drafted.draft, sentAtMs } };
}

async function keepFirst({ config, host }: Context, key: string, next: First): Promise<void> {
  await host.store.write([{ collection: collections.payments, key, revision: 0, next }]);
  if (config.closeAfterSeconds !== undefined && next.state === 'waiting') host.wake();
}

async function query(context: Context, { reference }: Instruction): Promise<RailAnswer> {
  const known = await findPayment(context, reference);
  if (known !== undefined) return describe(context, known);
  if (!(await isReconciled(context))) return unsure;
  const payment = await findPayment(context, reference);
  // The record is written before anything else, and no file has the payment: nothing was sent.
  if (payment === undefined) return { outcome: 'retry', reason: 'other' };
  return describe(context, payment);
}

/** Stops what is in no file yet; of a reference never sent, it keeps it from ever being sent. */
async function cancel(context: Context, instruction: Instruction): Promise<RailAnswer> {
  const { host } = context;
  const { reference } = instruction;
  // What waits by this memory may be in a file that it does not remember.
  if (!(await isReconciled(context))) return unsure;
  const payment = await findPayment(context, reference);
  if (payment === undefined) {
    const value: Payment = { draft: null, sentAtMs: host.nowMs(), reason: 'cancelled' };
    const next = { state: 'cancelled', value };
    await host.store.write([
      { collection: collections.payments, key: reference, revision: 0, next },
    ]);
  } else if (payment.state === 'waiting') {
    const value: Payment = { ...payment.value, reason: 'cancelled' };
    await host.store.write([changePayment(payment, { state: 'cancelled', value })]);
  }
  return query(context, instruction);
}

function describe(context: Context, { state, value }: KnownPayment): RailAnswer {
  const { reason = 'other' } = value;
  const extras = {
    ...(value.trace === undefined ? {} : { providerReference: value.trace }),
    ...(value.code === undefined ? {} : { code: value.code }),
  };
  switch (state) {
    case 'waiting':
    case 'filed':
      return { ...extras, outcome: 'accepted', checkAtMs: estimatePaid(context, value) };
    case 'paid':
      return { ...extras, outcome: 'paid' };
    case 'returned':
      return { ...extras, outcome: 'returned', reason, ...describeReturned(value) };
    case 'rejected':
    case 'cancelled':
      return { ...extras, outcome: 'rejected', reason };
  }
}

/** All parts that came back so far. */
function describeReturned({ returnedMinor }: Payment): { amountMinor?: bigint } {
  if (returnedMinor === undefined) return {};
  const parts = Object.values(returnedMinor).map(BigInt);
  return { amountMinor: parts.reduce((sum, part) => sum + part, 0n) };
}

/** When there will be something to say, if all goes well: never before the next half hour. */
function estimatePaid({ config, host }: Context, { sentAtMs }: Payment): number {
  const closesAtMs = findNextClosing(config.windows, sentAtMs)?.closesAtMs ?? sentAtMs;
  const settlesOn = nextBankingDay(toEastern(closesAtMs).day);
  const day = addBankingDays(settlesOn, config.paidAfterBankingDays);
  const dueMs = fromEastern({ day, time: config.paidAt });
  return Math.max(dueMs, host.nowMs() + 30 * 60_000);
}

/**
 * The inbox before the calendar, so that what came back never counts as paid; new files before
 * their delivery, so that they leave in the same pass. A folder that is away keeps the other steps
 * from nothing.
 */
async function work(
  context: Context,
  seen: SeenMarks,
  { signal }: CallContext,
): Promise<number | undefined> {
  const { host } = context;
  let isInboxRead = false;
  const steps: readonly (readonly [string, () => Promise<void>])[] = [
    ['closing', () => closeFiles(context)],
    ['delivery', () => deliverFiles(context)],
    [
      'inbox',
      async () => {
        isInboxRead = await readInbox(context, seen);
      },
    ],
    ['settling', async () => (isInboxRead ? settleFiles(context) : undefined)],
  ];
  for (const [step, run] of steps) {
    if (signal.aborted) return undefined;
    try {
      await run();
    } catch (error) {
      host.log('error', `a step of the pass failed: ${step}`, { fault: describeFault(error) });
    }
  }
  const times = [await findNextClose(context), await findNextSettling(context)];
  const due = times.filter((time) => time !== undefined && time > host.nowMs());
  // The inbox is looked into every now and then, whatever the calendar says.
  const pollAtMs = host.nowMs() + context.config.pollSeconds * 1000;
  return Math.min(pollAtMs, ...due.filter((time) => time !== undefined));
}

/** Errors of ours name no contents; of any other only the code is known to be harmless. */
function describeFault(error: unknown): string {
  if (error instanceof AchFormatError || error instanceof FolderError) return error.message;
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error ? String(error.code) : error.name;
}

async function check(context: Context): Promise<readonly string[]> {
  const { config, host } = context;
  const { folders } = config;
  const faults = listPayerFaults(config, host);
  for (const folder of new Set(Object.values(folders))) {
    const fault = (await findFolderFault(folder)) ?? (await findMarkerFault(host, folder));
    if (fault !== undefined) faults.push(fault);
  }
  if (faults.length > 0) return faults;
  const unknown = await listUnknownFiles(context);
  if (unknown.length > 0) {
    faults.push(
      `${unknown.length} files that this rail wrote are not in the database, the first one ` +
        `${nameFile(host.name, unknown[0] ?? '')}: it was restored to an earlier moment`,
    );
  }
  const refused = (await listNames(folders.archive)).filter((name) => name.endsWith('.refused'));
  if (refused.length > 0) {
    faults.push(
      `${folders.archive} has ${refused.length} bank files that an earlier version refused: ` +
        'move them into the inbox to have them read again',
    );
  }
  return faults;
}
