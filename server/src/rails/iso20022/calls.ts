import type { Instruction, RailAnswer, RailCalls, RailHost } from '../contract.ts';
import { findCutOff } from './calendar.ts';
import type { Config } from './config.ts';
import { openDirectory } from './directory.ts';
import type { OpenExchange } from './exchange.ts';
import { type Files, openFiles } from './files.ts';
import { type InboxContext, takeInFiles } from './inbox.ts';
import { answerFor, isSameOrder, openPaymentBook, type PaymentBook } from './payments.ts';
import { draftTransfer } from './transfer.ts';

/** The calls of a configured rail of bank files. */

type Parts = {
  readonly config: Config;
  readonly host: RailHost;
  readonly openExchange: OpenExchange;
};

export function createCalls(config: Config, host: RailHost): RailCalls {
  const openExchange = chooseExchange(config);
  const book = openPaymentBook(host);
  const files = openFiles({ host, config, book });
  const inbox: InboxContext = { host, config, book, files, unreadable: new Map() };
  return {
    send: (instruction) => answerSafely(host, () => send(instruction, { config, host, book })),
    query: (instruction) => answerSafely(host, () => query(instruction, { host, book })),
    cancel: (instruction) => answerSafely(host, () => cancel(instruction, { host, book })),
    work: ({ signal }) => work(signal, { config, host, openExchange, book, files, inbox }),
    workIdleMs: config.pollSeconds * 1_000,
    check: ({ signal }) => check(signal, openExchange),
  };
}

function chooseExchange({ exchange }: Config): OpenExchange {
  if (exchange.mode === 'directory') return () => openDirectory(exchange);
  return async (signal) => {
    const { openSftp } = await import('./sftp.ts');
    return openSftp(exchange, signal);
  };
}

/** When our own memory fails it is not known what it holds, and so what will be sent. */
async function answerSafely(host: RailHost, call: () => Promise<RailAnswer>): Promise<RailAnswer> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    host.log('error', 'a payment could not be looked up or kept', { error: error.name });
    return { outcome: 'unknown', reason: 'no_answer' };
  }
}

type SendParts = Pick<Parts, 'config' | 'host'> & { readonly book: PaymentBook };

async function send(instruction: Instruction, parts: SendParts): Promise<RailAnswer> {
  const { config, host, book } = parts;
  const known = await answerKnown(instruction, parts);
  if (known !== undefined) return known;
  const draft = draftTransfer(instruction, { config, payers: host.payers });
  const nowMs = host.nowMs();
  const isEntered = draft.ok
    ? await book.enter(instruction, findCutOff(config.schedule, nowMs))
    : await book.enterRejected(instruction, draft.reason);
  // With cut-offs the next pass comes by itself; without, there is nothing to wait for.
  if (isEntered && draft.ok && config.schedule.cutOffs.length === 0) host.wake();
  const answer = await answerKnown(instruction, parts);
  return answer ?? { outcome: 'unknown', reason: 'no_answer' };
}

async function query(
  instruction: Instruction,
  parts: Pick<SendParts, 'host' | 'book'>,
): Promise<RailAnswer> {
  const known = await answerKnown(instruction, parts);
  // Nothing leaves without a record, and a later send of this reference makes one payment.
  return known ?? { outcome: 'retry', reason: 'unreachable' };
}

async function cancel(
  instruction: Instruction,
  parts: Pick<SendParts, 'host' | 'book'>,
): Promise<RailAnswer> {
  const { book } = parts;
  const payment = await book.find(instruction.reference);
  // A record of its own keeps a send that is still under way from becoming a payment.
  if (payment === undefined) await book.enterRejected(instruction, 'cancelled');
  else if (isSameOrder(payment, instruction)) await book.withdraw(payment, 'cancelled');
  const answer = await answerKnown(instruction, parts);
  return answer ?? { outcome: 'unknown', reason: 'no_answer' };
}

async function answerKnown(
  instruction: Instruction,
  { host, book }: Pick<SendParts, 'host' | 'book'>,
): Promise<RailAnswer | undefined> {
  const payment = await book.find(instruction.reference);
  if (payment === undefined) return undefined;
  if (isSameOrder(payment, instruction)) return answerFor(payment, host.nowMs());
  const { reference } = instruction;
  host.log('error', 'a reference came again with another amount or account', { reference });
  return { outcome: 'unknown', reason: 'duplicate' };
}

type WorkParts = Parts & {
  readonly book: PaymentBook;
  readonly files: Files;
  readonly inbox: InboxContext;
};

/** How soon to look again where something could not be finished. */
const soonMs = 5_000;
const againMs = 500;

/**
 * First what the bank says, then what it is told: an answer may concern a payment that still waits.
 * While the bank cannot be reached no file is closed, so that its payments can still be cancelled.
 */
async function work(signal: AbortSignal, parts: WorkParts): Promise<number | undefined> {
  const { config, host, openExchange, book, files, inbox } = parts;
  const nextMs = host.nowMs() + config.pollSeconds * 1_000;
  let isUnfinished = false;
  try {
    const exchange = await openExchange(signal);
    try {
      isUnfinished = await takeInFiles(exchange, inbox, signal);
      // What an earlier pass closed leaves before anything else is closed.
      await files.deliver(exchange, signal);
      await files.closeDue(signal);
      await files.deliver(exchange, signal);
    } finally {
      await exchange.close();
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    host.log('error', 'the exchange with the bank failed', describeError(error));
    return nextMs;
  }
  const dueMs = await book.findNextDue();
  const soon = isUnfinished ? [host.nowMs() + soonMs] : [];
  // What is due by now could not be closed, or came this very moment.
  const due = dueMs === undefined ? [] : [Math.max(dueMs, host.nowMs() + againMs)];
  return Math.min(nextMs, ...due, ...soon);
}

/** Codes of the system and of our own; a message may hold the name of a file. */
function describeError(error: Error): { error: string } {
  const code = 'code' in error ? error.code : undefined;
  if (typeof code === 'string' || typeof code === 'number') return { error: String(code) };
  return { error: error.message.slice(0, 200) };
}

async function check(signal: AbortSignal, openExchange: OpenExchange): Promise<readonly string[]> {
  try {
    const exchange = await openExchange(signal);
    try {
      await exchange.list();
    } finally {
      await exchange.close();
    }
    return [];
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return [`the exchange with the bank does not work: ${error.message}`];
  }
}
