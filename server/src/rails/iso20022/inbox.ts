import { createHash } from 'node:crypto';
import type { RailHost, RailObservation } from '../contract.ts';
import { readAccountReport } from './camt.ts';
import type { Exchange, InboxFile } from './exchange.ts';
import { readStatusReport } from './pain002.ts';
import type { Standing } from './payments.ts';
import { observeAccountReport, observeStatusReport, type StatementContext } from './statements.ts';
import { parseDocument } from './xml.ts';

/**
 * The files that the bank leaves. First the payments' own records follow what a file says, then it
 * is heard, then put away. A crash in between repeats the whole, which changes nothing twice; and
 * nothing that was heard as refused can still be waiting here to be sent.
 */

export type InboxContext = StatementContext & {
  readonly host: RailHost;
  /** Names of files that could not be read, with how they looked: they may have been unfinished. */
  readonly unreadable: Map<string, string>;
};

/** True where a file should be looked at again soon. */
export async function takeInFiles(
  exchange: Exchange,
  context: InboxContext,
  signal: AbortSignal,
): Promise<boolean> {
  const { host, unreadable } = context;
  const files = await exchange.list();
  const names = new Set(files.map(({ name }) => name));
  for (const name of unreadable.keys()) if (!names.has(name)) unreadable.delete(name);
  let isUnfinished = false;
  for (const file of files) {
    if (signal.aborted) return true;
    try {
      if (!(await takeIn(file, exchange, context))) isUnfinished = true;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      isUnfinished = true;
      host.log('error', 'a file of the bank could not be taken in, and stays', {
        error: error.name,
        file: hashText(file.name),
      });
    }
  }
  return isUnfinished;
}

/** False where it may still be in the making. */
async function takeIn(
  file: InboxFile,
  exchange: Exchange,
  context: InboxContext,
): Promise<boolean> {
  const { host, config, unreadable } = context;
  if (file.sizeBytes > config.fileBytesMax) {
    await setAside(file, { exchange, host, label: 'too-long', fault: 'it is too long' });
    return true;
  }
  const bytes = await exchange.read(file.name, config.fileBytesMax);
  const hash = createHash('sha256').update(bytes).digest('hex');
  const label = hash.slice(0, 12);
  const reading = await readMessage(bytes, context);
  if ('fault' in reading) {
    // A bank that writes in place would be seen in the middle of it: once more, unchanged, it is final.
    const isFinal = unreadable.get(file.name) === file.changedAt;
    unreadable.set(file.name, file.changedAt);
    if (isFinal) await setAside(file, { exchange, host, label, fault: reading.fault });
    return isFinal;
  }
  const { observations } = reading;
  for (const observation of observations) {
    await context.book.apply(observation.reference, describeStanding(observation));
  }
  const answer = await host.hear({ id: hash, channel: 'file', raw: bytes, observations });
  await exchange.archive(file.name, label);
  host.log('info', 'a file of the bank was taken in', {
    file: label,
    message: reading.messageName,
    observations: observations.length,
    heard: answer,
  });
  return true;
}

async function setAside(
  file: InboxFile,
  aside: { exchange: Exchange; host: RailHost; label: string; fault: string },
): Promise<void> {
  const { exchange, host, label, fault } = aside;
  await exchange.quarantine(file.name, label);
  host.log('error', 'a file of the bank was put into quarantine', { file: label, fault });
}

type Reading =
  | { readonly messageName: string; readonly observations: RailObservation[] }
  | { readonly fault: string };

async function readMessage(bytes: Uint8Array, context: StatementContext): Promise<Reading> {
  const document = parseDocument(bytes);
  if (!document.ok) return { fault: document.fault };
  const { messageName, content } = document;
  if (messageName.startsWith('pain.002.')) {
    const report = readStatusReport(content);
    if (report === undefined) return { fault: `it has not the form of ${messageName}` };
    return { messageName, observations: await observeStatusReport(report, context) };
  }
  if (messageName.startsWith('camt.053.') || messageName.startsWith('camt.054.')) {
    const report = readAccountReport(content);
    if (report === undefined) return { fault: `it has not the form of ${messageName}` };
    return { messageName, observations: await observeAccountReport(report, context) };
  }
  return { fault: `nothing is done with ${messageName}` };
}

function describeStanding(observation: RailObservation): Standing {
  const { outcome, id, reason, code = '', amountMinor } = observation;
  const state = outcome === 'ready_for_pickup' ? 'accepted' : outcome;
  return { state, observationId: id, reason, code, amountMinor };
}

/** A file's name may say whose statement it is. */
function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
