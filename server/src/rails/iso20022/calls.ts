import type { Instruction, RailAnswer, RailCalls, RailHost } from '../contract/contract.ts';
import { openBankReferences } from './bank-references.ts';
import { findCutOff } from './calendar.ts';
import type { Config } from './config.ts';
import type { Exchange } from './exchange.ts';
import { checkExchange } from './exchange-check.ts';
import { type Files, openFiles } from './files.ts';
import { type InboxContext, takeInFiles } from './inbox.ts';
import { createExchangeOpener } from './open-exchange.ts';
import { answerFor, isSameOrder, openPaymentBook, type PaymentBook } from './payments.ts';
import { checkRecipient } from './recipient-check.ts';
import { recoverPayments } from './recovery.ts';
import { openSentFileGuard, type SentFileGuard } from './sent-files.ts';
import { draftTransfer } from './transfer.ts';

/** The calls of a configured rail of bank files. */

type Parts = {
  readonly config: Config;
  readonly host: RailHost;
  readonly openExchange: (signal: AbortSignal) => Promise<Exchange>;
};

export function createCalls(config: Config, host: RailHost): RailCalls {
  const openExchange = createExchangeOpener(config, host);
  const book = openPaymentBook(host);
  const files = openFiles({ host, config, book });
  const bankReferences = openBankReferences(host);
  const inbox: InboxContext = { host, config, book, files, bankReferences, unreadable: new Map() };
  const guard = openSentFileGuard({ host, config, files });
  return {
    send: (instruction) => answerSafely(host, () => send(instruction, { config, host, book })),
    checkRecipient: (draft) => checkRecipient(draft, { config, payers: host.payers }),
    query: (instruction) => answerSafely(host, () => query(instruction, { host, book })),
    cancel: (instruction) => answerSafely(host, () => cancel(instruction, { host, book })),
    work: ({ signal }) => work(signal, { config, host, openExchange, book, files, inbox, guard }),
    workIdleMs: config.pollSeconds * 1_000,
    recover: async (sinceMs, { signal }) => {
      await using exchange = await openExchange(signal);
      const parts = { host, config, book, files, inbox };
      return await recoverPayments(exchange, parts, { sinceMs, signal });
    },
    check: ({ signal }) => checkExchange(signal, { host, openExchange, guard }),
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
    : await book.enterRejected(instruction, draft.faults[0].reason);
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
  readonly guard: SentFileGuard;
};

/** How soon to look again where something could not be finished. */
const soonMs = 5_000;
const againMs = 500;

/**
 * First what the bank says, then what it is told: an answer may concern a payment that still waits.
 * While the bank cannot be reached no file is closed, so that its payments can still be cancelled.
 */
async function work(signal: AbortSignal, parts: WorkParts): Promise<number | undefined> {
  const { config, host, openExchange, book, inbox } = parts;
  const nextMs = host.nowMs() + config.pollSeconds * 1_000;
  let isUnfinished = false;
  try {
    await using exchange = await openExchange(signal);
    isUnfinished = await takeInFiles(exchange, inbox, signal);
    if (!(await sendDue(exchange, parts, signal))) return nextMs;
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

/** False where nothing may leave. */
async function sendDue(
  exchange: Exchange,
  { host, files, guard }: WorkParts,
  signal: AbortSignal,
): Promise<boolean> {
  if (!(await files.hasDue())) return true;
  const unknown = await guard.listUnknown(exchange);
  if (unknown.length > 0) {
    host.log('error', 'nothing is sent: this database does not know payment files that left', {
      files: unknown.length,
      first: unknown[0]?.messageId ?? '',
    });
    return false;
  }
  // What an earlier pass closed leaves before anything else is closed.
  await files.deliver(exchange, signal);
  await files.closeDue(signal);
  await files.deliver(exchange, signal);
  return true;
}

/** Codes of the system and of our own; a message may hold the name of a file. */
function describeError(error: Error): { error: string } {
  const code = 'code' in error ? error.code : undefined;
  if (typeof code === 'string' || typeof code === 'number') return { error: String(code) };
  return { error: error.message.slice(0, 200) };
}
