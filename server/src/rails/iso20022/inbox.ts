import { createHash } from 'node:crypto';
import type { InboundProblem, RailHost, RailObservation } from '../contract/contract.ts';
import { cutName, type FolderFile } from '../kit/folder.ts';
import { observeAccountReport } from './account-reports.ts';
import { readBalances, recordBalances, type StatementBalance } from './balances.ts';
import { readAccountReport } from './camt.ts';
import type { Exchange } from './exchange.ts';
import {
  type Findings,
  type MessageContext,
  makeProblem,
  type StatementContext,
} from './findings.ts';
import { recordHeads } from './missing-reports.ts';
import { readBankStatusReport, readStatusReport } from './pain002.ts';
import type { ReportedState } from './payments.ts';
import { readStatementHeads, type StatementHead } from './statement-heads.ts';
import { observeStatusReport } from './status-reports.ts';
import { parseDocument } from './xml.ts';

/**
 * The bank's files. First the rail updates its payments, then the service stores the file with all
 * findings, then the file is moved. After a crash all of it is repeated without further effect; and no
 * payment that the bank rejected can still be waiting here to be sent.
 */

export type InboxContext = StatementContext & {
  readonly host: RailHost;
  /** Files that could not be read, with size and time: they may have been unfinished. */
  readonly unreadable: Map<string, FolderFile>;
};

/** More wait for the next pass. */
const filesPerPassMax = 200;

/** True where a file should be read again soon. */
export async function processFiles(
  exchange: Exchange,
  context: InboxContext,
  signal: AbortSignal,
): Promise<boolean> {
  const { host, unreadable } = context;
  const files = await exchange.inbox.list({ countMax: filesPerPassMax });
  const names = new Set(files.map(({ name }) => name));
  for (const name of unreadable.keys()) if (!names.has(name)) unreadable.delete(name);
  let isUnfinished = false;
  for (const file of files) {
    if (signal.aborted) return true;
    try {
      if (!(await processFile(file, exchange, context))) isUnfinished = true;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      isUnfinished = true;
      host.log('error', 'a file of the bank could not be processed and stays in the inbox', {
        error: error.name,
        file: hashText(file.name),
      });
    }
  }
  return isUnfinished;
}

/** False where the file may be unfinished. */
async function processFile(
  file: FolderFile,
  exchange: Exchange,
  context: InboxContext,
): Promise<boolean> {
  const { host, config, unreadable } = context;
  if (file.sizeBytes > config.fileBytesMax) {
    await quarantine(file, { exchange, host, refused: refuseLong(file, config) });
    return true;
  }
  const bytes = await exchange.inbox.read(file.name, config.fileBytesMax);
  const hash = createHash('sha256').update(bytes).digest('hex');
  const label = hash.slice(0, 12);
  const reading = await readMessage(bytes, { ...context, message: hash });
  if ('fault' in reading) {
    // A bank may write in place: the file is complete once it has not changed between two passes.
    const before = unreadable.get(file.name);
    const isFinal = before?.sizeBytes === file.sizeBytes && before.changedAtMs === file.changedAtMs;
    unreadable.set(file.name, file);
    if (!isFinal) return false;
    await quarantine(file, { exchange, host, refused: refuseUnread(bytes, reading) });
    return true;
  }
  const received = await recordMessage({ bytes, hash, reading }, context);
  await exchange.inbox.move(file.name, exchange.archive, `${label}-${cutName(file.name)}`);
  host.log('info', 'a file of the bank was processed', {
    file: label,
    message: reading.messageName,
    observations: reading.observations.length,
    problems: reading.problems.length,
    received,
  });
  return true;
}

/**
 * Processes a file again that was moved to the folder, after the database was restored to a moment before.
 * Of a file in quarantine only the exception is opened again, since a person may have dealt with it.
 */
export async function reprocessFile(
  { folder, file }: { readonly folder: 'archive' | 'quarantine'; readonly file: FolderFile },
  exchange: Exchange,
  context: InboxContext,
): Promise<void> {
  const { config, host } = context;
  const name = file.name.replace(movedPattern, '');
  if (file.name.startsWith(`${tooLong}-`) || file.sizeBytes > config.fileBytesMax) {
    await reportRefused(host, refuseLong({ ...file, name }, config, folder));
    return;
  }
  const bytes = await exchange[folder].read(file.name, config.fileBytesMax);
  const hash = createHash('sha256').update(bytes).digest('hex');
  const reading = await readMessage(bytes, { ...context, message: hash });
  if ('fault' in reading) {
    await reportRefused(host, refuseUnread(bytes, reading, folder));
  } else if (folder === 'archive') {
    await recordMessage({ bytes, hash, reading }, context);
  } else {
    const unread = { kind: 'unreadable', fault: 'it could not be read when it came' } as const;
    await reportRefused(host, refuseUnread(bytes, unread));
  }
}

const tooLong = 'too-long';
/** What precedes the name of a file that was moved to the archive or to quarantine. */
export const movedPattern = /^(?:[0-9a-f]{12}|too-long)-/;

/** The rail's records first, then the service's. */
async function recordMessage(
  {
    bytes,
    hash,
    reading,
  }: { bytes: Uint8Array; hash: string; reading: Exclude<Reading, { fault: string }> },
  { host, book, config }: InboxContext,
): Promise<'new' | 'known'> {
  const { problems, balances = [], heads = [] } = reading;
  await recordBalances({ host, config }, balances);
  await recordHeads({ host, config }, heads);
  const observations: RailObservation[] = [];
  for (const observation of reading.observations) {
    await book.apply(observation.reference, describeState(observation));
    const uetr = (await book.find(observation.reference))?.value.uetr ?? '';
    // The bank's own reference is what its statements are reconciled by.
    const isNamed = observation.providerReference !== undefined || uetr === '';
    observations.push(isNamed ? observation : { ...observation, providerReference: uetr });
  }
  return host.receive({ id: hash, channel: 'file', raw: bytes, observations, problems });
}

/** A file that is not applied, and the exception about it. */
type RefusedFile = {
  readonly raw: Uint8Array;
  readonly hash: string;
  readonly label: string;
  readonly problem: InboundProblem;
};

/** Its bytes are not read: name, size and time identify it. */
function refuseLong(
  { name, sizeBytes, changedAtMs }: FolderFile,
  { fileBytesMax }: InboxContext['config'],
  folder = 'quarantine',
): RefusedFile {
  const text = `${cutName(name)} ${sizeBytes} ${changedAtMs}`;
  const hash = createHash('sha256').update(text).digest('hex');
  const fault = `it is longer than fileBytesMax (${fileBytesMax} bytes)`;
  const detail = `file ${hash.slice(0, 12)} in the ${folder} folder: ${fault}`;
  const problem = makeProblem('unreadable', { name: [hash], detail });
  return { raw: Buffer.from(fault), hash, label: tooLong, problem };
}

function refuseUnread(
  raw: Uint8Array,
  { kind, fault }: Extract<Reading, { fault: string }>,
  folder = 'quarantine',
): RefusedFile {
  const hash = createHash('sha256').update(raw).digest('hex');
  const label = hash.slice(0, 12);
  const detail = `file ${label} in the ${folder} folder: ${fault}`;
  return { raw, hash, label, problem: makeProblem(kind, { name: [hash], detail }) };
}

/** Opens the exception before the move: after a crash in between the file is still in the inbox. */
async function quarantine(
  file: FolderFile,
  { exchange, host, refused }: { exchange: Exchange; host: RailHost; refused: RefusedFile },
): Promise<void> {
  const { label, problem } = refused;
  await reportRefused(host, refused);
  await exchange.inbox.move(file.name, exchange.quarantine, `${label}-${cutName(file.name)}`);
  const { detail, kind } = problem;
  host.log('error', 'a file of the bank was put into quarantine', { file: label, kind, detail });
}

async function reportRefused(host: RailHost, { raw, hash, problem }: RefusedFile): Promise<void> {
  await host.receive({ id: hash, channel: 'file', raw, observations: [], problems: [problem] });
}

type Reading =
  | (Findings & {
      readonly messageName: string;
      readonly balances?: readonly StatementBalance[];
      readonly heads?: readonly StatementHead[];
    })
  | { readonly kind: 'unreadable' | 'not_understood'; readonly fault: string };

/** Intraday reports are interim: every booked entry comes again in camt.054 or camt.053. */
const intradayReport = 'camt.052.';

async function readMessage(bytes: Uint8Array, context: MessageContext): Promise<Reading> {
  const document = parseDocument(bytes);
  if (!document.ok) return { kind: 'unreadable', fault: document.fault };
  const { messageName, content } = document;
  const formFault = {
    kind: 'unreadable',
    fault: `it does not have the form of ${messageName}`,
  } as const;
  if (messageName.startsWith('pain.002.') || messageName.startsWith('pacs.002.')) {
    const isOfCustomer = messageName.startsWith('pain.');
    const report = isOfCustomer ? readStatusReport(content) : readBankStatusReport(content);
    if (report === undefined) return formFault;
    return { messageName, ...(await observeStatusReport(report, context)) };
  }
  if (messageName.startsWith('camt.053.') || messageName.startsWith('camt.054.')) {
    const report = readAccountReport(content);
    if (report === undefined) return formFault;
    const balances = readBalances(content);
    const heads = readStatementHeads(content);
    return { messageName, balances, heads, ...(await observeAccountReport(report, context)) };
  }
  if (messageName.startsWith(intradayReport)) {
    return { messageName, observations: [], problems: [] };
  }
  return { kind: 'not_understood', fault: describeUnsupported(messageName) };
}

/** What a person does about messages that banks send about payments, and that are not read. */
const unsupported: readonly (readonly [prefix: string, what: string])[] = [
  [
    'pacs.004.',
    'a return of payments. It is not read: where no camt.053 or camt.054 reports the same return, record what ' +
      'came back by hand',
  ],
  [
    'camt.056.',
    "a request to return or cancel payments. It is not read: answer it at the bank, and wait for the bank's return " +
      'before money is refunded',
  ],
  [
    'camt.029.',
    'the answer to a request to cancel payments. It is not read: it moves no money, and a return follows in a ' +
      'camt.053 or camt.054',
  ],
];

function describeUnsupported(messageName: string): string {
  const [, what] = unsupported.find(([prefix]) => messageName.startsWith(prefix)) ?? [];
  return what === undefined
    ? `messages ${messageName} are not supported`
    : `${messageName}, ${what}, then close this exception`;
}

function describeState(observation: RailObservation): ReportedState {
  const { outcome, id, reason, code = '', amountMinor } = observation;
  const state = outcome === 'ready_for_pickup' ? 'accepted' : outcome;
  return { state, observationId: id, reason, code, amountMinor };
}

/** A file's name may be personal data. */
function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
