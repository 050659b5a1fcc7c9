import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
  RecipientDraft,
} from '../contract/contract.ts';
import { readFunds } from './balances.ts';
import { openBankReferences } from './bank-references.ts';
import { findCutOff } from './calendar.ts';
import type { Config } from './config.ts';
import type { Exchange } from './exchange.ts';
import { checkExchange } from './exchange-check.ts';
import { type Files, openFiles } from './files.ts';
import { type InboxContext, processFiles } from './inbox.ts';
import { reportMissingStatements } from './missing-reports.ts';
import { createExchangeOpener } from './open-exchange.ts';
import { checkPayee } from './payee.ts';
import { openPaymentBook, type PaymentBook, startPayment, withdraw } from './payments.ts';
import { checkRecipient } from './recipient-check.ts';
import { recoverPayments } from './recovery.ts';
import { openSentFileGuard, type SentFileGuard } from './sent-files.ts';
import { draftTransfer, isInstantService } from './transfer.ts';

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
  const { verificationOfPayee } = config;
  return {
    ...(verificationOfPayee !== undefined && {
      checkPayee: (draft: RecipientDraft, context: CallContext) =>
        checkPayee(draft, context, { host, service: verificationOfPayee }),
    }),
    send: (instruction) => answerSafely(host, () => send(instruction, { config, host, book })),
    checkRecipient: (draft) => checkRecipient(draft, { config, payers: host.payers }),
    query: (instruction) =>
      answerSafely(
        host,
        // Nothing leaves without a record, and a later send of this reference makes one payment.
        async () => (await book.answer(instruction)) ?? { outcome: 'retry', reason: 'unreachable' },
      ),
    cancel: (instruction) =>
      answerSafely(host, () =>
        book.cancel(instruction, {
          tombstone: startPayment('rejected', instruction, { reason: 'cancelled' }),
          withdraw: (payment) => withdraw(payment, 'cancelled'),
        }),
      ),
    work: async ({ signal }) => {
      const parts = { config, host, openExchange, book, files, inbox, guard };
      const nextMs = await work(signal, parts);
      // Also while the bank cannot be reached.
      await reportMissingStatements({ host, config });
      return nextMs;
    },
    workIdleMs: config.pollSeconds * 1_000,
    findNextCutOff: (nowMs) =>
      config.schedule.cutOffs.length === 0 ? undefined : findCutOff(config.schedule, nowMs),
    readFunds: () => readFunds(host),
    recover: async (sinceMs, { signal }) => {
      await using exchange = await openExchange(signal);
      const parts = { host, config, book, files, inbox };
      return await recoverPayments(exchange, parts, { sinceMs, signal });
    },
    check: ({ signal }) => checkExchange(signal, { host, openExchange, guard }),
  };
}

/** When the store fails it is unknown what it holds, and so what will be sent. */
async function answerSafely(host: RailHost, call: () => Promise<RailAnswer>): Promise<RailAnswer> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    host.log('error', 'a payment could not be read or stored', { error: error.name });
    return { outcome: 'unknown', reason: 'no_answer' };
  }
}

async function send(
  instruction: Instruction,
  { config, host, book }: Pick<Parts, 'config' | 'host'> & { readonly book: PaymentBook },
): Promise<RailAnswer> {
  const known = await book.answer(instruction);
  if (known !== undefined) return known;
  const draft = draftTransfer(instruction, { config, payers: host.payers });
  const isInstant = draft.ok && isInstantService(draft.transfer.service);
  const { isNew, answer } = await book.enter(
    instruction,
    draft.ok
      ? startPayment('waiting', instruction, {
          dueAtMs: isInstant ? host.nowMs() : findCutOff(config.schedule, host.nowMs()),
          uetr: draft.transfer.uetr,
          answerMs: isInstant ? config.instant.answerSeconds * 1_000 : 0,
        })
      : startPayment('rejected', instruction, { reason: draft.faults[0].reason }),
  );
  // With cut-offs the next pass comes by itself; without, there is nothing to wait for.
  const isUrgent = isInstant || config.schedule.cutOffs.length === 0;
  if (isNew && draft.ok && isUrgent) host.wake();
  return answer;
}

type WorkParts = Parts & {
  readonly book: PaymentBook;
  readonly files: Files;
  readonly inbox: InboxContext;
  readonly guard: SentFileGuard;
};

/** Until the next pass where a file could not be finished, and where payments are due already. */
const unfinishedMs = 5_000;
const overdueMs = 500;

/**
 * Reads the bank's files before it sends any, since a report may concern a payment that still waits.
 * While the bank cannot be reached no file is closed, so that its payments can still be canceled.
 */
async function work(signal: AbortSignal, parts: WorkParts): Promise<number | undefined> {
  const { config, host, openExchange, book, inbox } = parts;
  const nextMs = host.nowMs() + config.pollSeconds * 1_000;
  let isUnfinished = false;
  try {
    await using exchange = await openExchange(signal);
    isUnfinished = await processFiles(exchange, inbox, signal);
    if (!(await sendDue(exchange, parts, signal))) return nextMs;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    host.log('error', 'the exchange with the bank failed', describeError(error));
    return nextMs;
  }
  const dueMs = await book.findNextDue();
  const answers = (await book.isAnswerAwaited(host.nowMs()))
    ? [host.nowMs() + config.instant.pollSeconds * 1_000]
    : [];
  const unfinished = isUnfinished ? [host.nowMs() + unfinishedMs] : [];
  // Payments that are due by now could not be closed, or were entered this moment.
  const due = dueMs === undefined ? [] : [Math.max(dueMs, host.nowMs() + overdueMs)];
  return Math.min(nextMs, ...due, ...unfinished, ...answers);
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
    host.log('error', 'nothing is sent: payment files were sent that the database does not know', {
      files: unknown.length,
      first: unknown[0]?.messageId ?? '',
    });
    return false;
  }
  // Files that an earlier pass closed leave before any other is closed.
  await files.deliver(exchange, signal);
  await files.closeDue(signal);
  await files.deliver(exchange, signal);
  return true;
}

/** Codes of the system, and messages of our own; a system's message may hold the name of a file. */
function describeError(error: Error): { error: string } {
  const code = 'code' in error ? error.code : undefined;
  if (typeof code === 'string' || typeof code === 'number') return { error: String(code) };
  return { error: error.message.slice(0, 200) };
}
