import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
  RailModule,
} from '../contract/contract.ts';
import { FolderError, findFolderFault } from '../kit/folder.ts';
import type { NextRecord } from '../kit/records.ts';
import { findNextClosing } from './banking-days.ts';
import { canBeWritten, closeFiles, findNextClose } from './closing.ts';
import { listExclusives, type NachaConfig, nachaConfigSchema } from './config.ts';
import { deliverFiles } from './delivery.ts';
import { draftEntry } from './drafts.ts';
import { findMarkerFault } from './folder-marker.ts';
import { type IncompleteFiles, readInbox } from './inbox.ts';
import { nameFile } from './manifest.ts';
import { reportMissingFiles } from './missing-files.ts';
import { listPayerFaults } from './payer-checks.ts';
import { checkRecipient } from './recipient-check.ts';
import { isReconciled, listUnknownFiles } from './reconcile.ts';
import { AchFormatError } from './record-layout.ts';
import { type Context, createContext, describePayment, type Payment } from './records.ts';
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
  listExclusives,
  create: createCalls,
};

async function createCalls(config: NachaConfig, host: RailHost): Promise<RailCalls> {
  refuseUnusable(config, host);
  const context = createContext(config, host);
  const incomplete: IncompleteFiles = new Map();
  await reportFolders(context);
  return {
    usesScreening: true,
    checkRecipient: (draft) => checkRecipient(draft, { config, payers: host.payers }),
    send: (instruction) => send(context, instruction),
    query: (instruction) => query(context, instruction),
    cancel: (instruction) => cancel(context, instruction),
    work: (call) => work(context, incomplete, call),
    workIdleMs: config.pollSeconds * 1000,
    findNextCutOff: (nowMs) => findNextClosing(config.windows, nowMs)?.closesAtMs,
    check: () => check(context),
    recover: (sinceMs, { signal }) => recoverPayments(context, { sinceMs, signal }),
  };
}

/** @throws Error with all faults. */
function refuseUnusable(config: NachaConfig, host: RailHost): void {
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
async function reportFolders({ folders, host }: Context): Promise<void> {
  for (const { path } of Object.values(folders)) {
    const fault = await findFolderFault(path);
    if (fault !== undefined) host.log('error', 'a bank folder cannot be used', { fault });
  }
}

async function send(context: Context, instruction: Instruction): Promise<RailAnswer> {
  const { config, host, payments } = context;
  const known = await payments.answer(instruction);
  if (known !== undefined) return known;
  const first = draftPayment(instruction, context);
  // A refusal is definite, so that no file may have the payment.
  if (first.state === 'rejected' && !(await isReconciled(context))) return unsure;
  const { isNew, answer } = await payments.enter(instruction, first);
  const isDue = config.closeAfterSeconds !== undefined && first.state === 'waiting';
  if (isNew && isDue) host.wake();
  return answer;
}

const unsure: RailAnswer = { outcome: 'unknown', reason: 'payer_unavailable' };

/** A refusal is stored, too: the payment stays refused when the configuration changes. */
function draftPayment(
  instruction: Instruction,
  { config, host }: Context,
): NextRecord<'waiting' | 'rejected', Payment> {
  const payer = host.payers.find(({ key }) => key === instruction.payerKey);
  const drafted = draftEntry(instruction, config, payer);
  const sent = { draft: null, sentAtMs: host.nowMs(), returnedMinor: {} };
  if (!drafted.ok) return { state: 'rejected', value: { ...sent, reason: drafted.reason } };
  if (!canBeWritten(drafted.draft, config)) {
    return { state: 'rejected', value: { ...sent, reason: 'not_readable' } };
  }
  return { state: 'waiting', value: { ...sent, draft: drafted.draft } };
}

async function query(context: Context, { reference }: Instruction): Promise<RailAnswer> {
  const { config, host, payments } = context;
  let payment = await payments.find(reference);
  if (payment === undefined) {
    if (!(await isReconciled(context))) return unsure;
    payment = await payments.find(reference);
  }
  // The record is written before anything else, and no file has the payment: nothing was sent.
  if (payment === undefined) return { outcome: 'retry', reason: 'other' };
  return describePayment(payment, { config, nowMs: host.nowMs() });
}

/** Stops a payment that is in no file yet; an unknown reference is refused from then on. */
async function cancel(context: Context, instruction: Instruction): Promise<RailAnswer> {
  const { host, payments } = context;
  // A payment that waits by the database may be in a file that a restore has removed from it.
  if (!(await isReconciled(context))) return unsure;
  await payments.update(instruction.reference, (payment) => {
    if (payment !== undefined && payment.state !== 'waiting') return undefined;
    const first = { draft: null, sentAtMs: host.nowMs(), returnedMinor: {} };
    return { state: 'cancelled', value: { ...(payment?.value ?? first), reason: 'cancelled' } };
  });
  return query(context, instruction);
}

/**
 * The inbox is read before files settle, so that a returned payment never counts as paid; files are
 * closed before the delivery, so that they leave in the same pass. The steps do not depend on each
 * other's folders.
 */
async function work(
  context: Context,
  incomplete: IncompleteFiles,
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
        isInboxRead = await readInbox(context, incomplete);
        await reportMissingFiles(context);
      },
    ],
    ['settling', async () => (isInboxRead ? settleFiles(context, signal) : undefined)],
  ];
  for (const [step, run] of steps) {
    if (signal.aborted) return undefined;
    try {
      await run();
    } catch (error) {
      if (signal.aborted) return undefined;
      host.log('error', `a step of the pass failed: ${step}`, { fault: describeFault(error) });
    }
  }
  const times = [await findNextClose(context), await findNextSettling(context)];
  const due = times.filter((time) => time !== undefined && time > host.nowMs());
  // The inbox is read at this interval, whatever the calendar says.
  const pollAtMs = host.nowMs() + context.config.pollSeconds * 1000;
  return Math.min(pollAtMs, ...due.filter((time) => time !== undefined));
}

/** Errors of ours name no contents; any other is logged by its code alone. */
function describeFault(error: unknown): string {
  if (error instanceof AchFormatError || error instanceof FolderError) return error.message;
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error ? String(error.code) : error.name;
}

async function check(context: Context): Promise<readonly string[]> {
  const { config, host, folders } = context;
  const faults = listPayerFaults(config, host);
  for (const folder of Object.values(folders)) {
    const fault = (await findFolderFault(folder.path)) ?? (await findMarkerFault(host, folder));
    if (fault !== undefined) faults.push(fault);
  }
  if (faults.length > 0) return faults;
  const unknown = await listUnknownFiles(context);
  if (unknown.length === 0) return [];
  return [
    `${unknown.length} files that this rail wrote are not in the database, the first one ` +
      `${nameFile(host.name, unknown[0] ?? '')}: it was restored to an earlier moment`,
  ];
}
