import { createHash } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { parseDocument } from '../../../src/rails/iso20022/xml.ts';
import {
  type AnswerHead,
  type Booking,
  writeContradiction,
  writeFileRefusal,
  writeNotification,
  writeStatement,
  writeStatusReport,
} from './bank-answers.ts';
import {
  type BankBooks,
  type BankFile,
  type BankOrder,
  getShare,
  openBankBooks,
} from './bank-books.ts';
import { type OrderFile, readInitiation, readSchemeMessage } from './read-order.ts';

/**
 * A bank for tests. It takes payment files out of `outbox`, records them in `bank`, and puts its
 * reports into `inbox`. Like a bank it rejects a second file of the same message id, and like most it
 * pays a repeated end-to-end id in another file: its record shows it. It may be killed at any moment
 * and continues where it was.
 *
 *     node bank-simulator.ts --folder X [--pause 200]
 *
 * `X/bank/options.json` configures its behavior and is read again before every turn.
 */

const ruleSchema = z.strictObject({
  /** All members must match; `share`: the part of all ids, from 0 to 1. */
  match: z
    .strictObject({
      endToEndId: z.string().optional(),
      account: z.string().optional(),
      amount: z.string().optional(),
      share: z.number().min(0).max(1).optional(),
    })
    .default({}),
  /** `silent`: paid without any report. `contradict`: reported as rejected, and then as paid. */
  decision: z.enum(['pay', 'reject', 'return', 'partial_return', 'silent', 'contradict']),
  reason: z.string().default('AC04'),
  /** Of a partial return. */
  returnedAmount: z.string().default('0.01'),
});

const optionsSchema = z.strictObject({
  /** The first that matches applies; without a match a payment is paid. */
  rules: z.array(ruleSchema).default([]),
  /** From the arrival of the file until its status; late for an instant payment after ten seconds. */
  statusAfterMs: z.number().default(0),
  settleAfterMs: z.number().default(0),
  /** From the arrival of the file, like `settleAfterMs`. */
  returnAfterMs: z.number().default(0),
  /** Charged for every payment and every return, decimal text; "": nothing. */
  charge: z.string().default(''),
  /** Every report is sent twice, under two names. */
  answersTwice: z.boolean().default(false),
  /** A statement (camt.053) repeats the notifications. */
  writesStatements: z.boolean().default(false),
});
export type BankOptions = z.input<typeof optionsSchema>;

export type BankSimulator = {
  readonly books: Pick<BankBooks, 'files' | 'secondCopies'>;
  /** Takes files from the outbox and sends the reports that are due. */
  advance(nowMs: number): Promise<void>;
};

export type BankPlaces = {
  readonly folder: string;
  /** In place of those of the folder; absolute. */
  readonly outbox?: string;
  readonly inbox?: string;
};

type Bank = {
  readonly outbox: string;
  readonly inbox: string;
  readonly own: string;
  readonly books: BankBooks;
};

export async function openBankSimulator(places: BankPlaces): Promise<BankSimulator> {
  const { folder, outbox = join(folder, 'outbox'), inbox = join(folder, 'inbox') } = places;
  const own = join(folder, 'bank');
  for (const path of [outbox, inbox, own, join(own, 'received')]) {
    await mkdir(path, { recursive: true });
  }
  const bank: Bank = { outbox, inbox, own, books: await openBankBooks(own) };
  return {
    books: bank.books,
    advance: async (nowMs) => {
      const options = optionsSchema.parse(await readOptions(own));
      await takeFiles(bank, { options, nowMs });
      for (const { messageId } of bank.books.files.values()) {
        await answerFile(bank, messageId, { options, nowMs });
      }
    },
  };
}

type Turn = { readonly options: z.output<typeof optionsSchema>; readonly nowMs: number };

/** Replaces the options from the next turn on. */
export async function setBankOptions(folder: string, options: BankOptions): Promise<void> {
  const own = join(folder, 'bank');
  await mkdir(own, { recursive: true });
  await writeWhole(own, { name: 'options.json', text: JSON.stringify(options) });
}

async function readOptions(own: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(join(own, 'options.json'), 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
}

async function writeWhole(
  folder: string,
  { name, text }: { name: string; text: string },
): Promise<void> {
  const unfinished = join(folder, `.${name}.part`);
  const handle = await open(unfinished, 'w');
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(unfinished, join(folder, name));
}

async function takeFiles(bank: Bank, turn: Turn): Promise<void> {
  const names = (await readdir(bank.outbox)).filter((name) => /^[^.].*\.xml$/.test(name));
  for (const name of names.toSorted()) await takeFile(bank, name, turn);
  // Killed between the move and the record of it.
  for (const { messageId, isTaken } of bank.books.files.values()) {
    if (!isTaken) await bank.books.add({ kind: 'taken', messageId });
  }
}

async function takeFile(bank: Bank, name: string, turn: Turn): Promise<void> {
  const { books, outbox, own } = bank;
  const bytes = await readFile(join(outbox, name));
  const hash = createHash('sha256').update(bytes).digest('hex');
  const order = readOrderFile(bytes, turn);
  const { messageId } = order;
  const known = books.files.get(messageId);
  const isSecondCopy = known !== undefined && (known.isTaken || known.hash !== hash);
  const move = (): Promise<void> =>
    rename(join(outbox, name), join(own, 'received', `${hash.slice(0, 12)}-${name}`));
  if (order.fault !== '' || isSecondCopy) {
    const code = isSecondCopy ? 'DU01' : order.fault;
    const id = `${code}-${hash.slice(0, 10)}`;
    const head = { id, atMs: turn.nowMs };
    await send(bank, { id, text: writeFileRefusal(head, { ...order, code }) }, turn);
    if (isSecondCopy) {
      await books.add({ kind: 'second_copy', messageId, isSame: known.hash === hash });
    }
    await move();
    return;
  }
  if (known === undefined) {
    const { messageName, orders } = order;
    await books.add({ kind: 'file', messageId, messageName, hash, atMs: turn.nowMs, orders });
  }
  await move();
  await books.add({ kind: 'taken', messageId });
}

function readOrderFile(bytes: Uint8Array, { options }: Turn): OrderFile {
  const nothing = { messageId: 'NOTPROVIDED', messageName: 'NOTPROVIDED', orders: [] };
  const document = parseDocument(bytes);
  if (!document.ok) return { ...nothing, fault: 'FF01' };
  const { messageName, content } = document;
  const read = messageName.startsWith('pacs.008.') ? readSchemeMessage : readInitiation;
  const message = read(content);
  if (message === undefined) return { ...nothing, fault: 'FF01' };
  const { messageId, count, transfers } = message;
  const orders = transfers.map((transfer): BankOrder => {
    const rule = options.rules.find(({ match }) => isMatch(match, transfer));
    const { decision = 'pay', reason = '', returnedAmount = '' } = rule ?? {};
    return { ...transfer, decision, reason, returnedAmount };
  });
  const fault = count === String(orders.length) ? '' : 'AM19';
  return { messageId, messageName, orders, fault };
}

function isMatch(
  match: z.output<typeof ruleSchema>['match'],
  order: Pick<BankOrder, 'endToEndId' | 'account' | 'amount'>,
): boolean {
  const { endToEndId, account, amount, share } = match;
  if (endToEndId !== undefined && endToEndId !== order.endToEndId) return false;
  if (account !== undefined && account !== order.account) return false;
  if (amount !== undefined && amount !== order.amount) return false;
  return share === undefined || getShare(order.endToEndId) < share;
}

/** Sends the reports that are due, in order: status, debits, returns, statement. */
async function answerFile(bank: Bank, messageId: string, turn: Turn): Promise<void> {
  const { books } = bank;
  const { options, nowMs } = turn;
  const file = books.files.get(messageId);
  if (file === undefined || !file.isTaken) return;
  const reported = file.orders.filter(
    ({ decision }) => decision !== 'silent' && decision !== 'reject',
  );
  const debits = reported.map((order): Booking => describeDebit(order, options.charge));
  const returns = reported
    .filter(({ decision }) => decision === 'return' || decision === 'partial_return')
    .map((order) => describeReturn(order, options.charge));
  const steps: readonly {
    answer: string;
    afterMs: number;
    isNeeded: boolean;
    write: (head: AnswerHead) => string;
  }[] = [
    {
      answer: 'status',
      afterMs: options.statusAfterMs,
      isNeeded: file.orders.some(({ decision }) => decision !== 'silent'),
      write: (head) => writeStatusReport(head, file),
    },
    {
      answer: 'contradiction',
      afterMs: options.settleAfterMs,
      isNeeded: file.orders.some(({ decision }) => decision === 'contradict'),
      write: (head) => writeContradiction(head, file),
    },
    {
      answer: 'debits',
      afterMs: options.settleAfterMs,
      isNeeded: debits.length > 0,
      write: (head) => writeNotification(head, debits),
    },
    {
      answer: 'returns',
      afterMs: options.returnAfterMs,
      isNeeded: returns.length > 0,
      write: (head) => writeNotification(head, returns),
    },
    {
      answer: 'statement',
      afterMs: Math.max(options.settleAfterMs, options.returnAfterMs),
      isNeeded: options.writesStatements && debits.length > 0,
      write: (head) => writeStatement(head, [...debits, ...returns]),
    },
  ];
  for (const { answer, afterMs, isNeeded, write } of steps) {
    if (!isNeeded || file.answers.has(answer) || nowMs < file.atMs + afterMs) continue;
    const id = nameAnswer(file, answer);
    await send(bank, { id, text: write({ id, atMs: nowMs }) }, turn);
    await books.add({ kind: 'answered', messageId, answer });
  }
}

/** At most 33 characters, so that a number can follow. */
function nameAnswer({ hash }: BankFile, answer: string): string {
  return `${answer}-${hash.slice(0, 20)}`;
}

function describeDebit(order: BankOrder, charge: string): Booking {
  const number = `D${hashOrder(order)}`;
  return { order, direction: 'debit', amount: order.amount, reason: '', number, charge };
}

function describeReturn(order: BankOrder, charge: string): Booking {
  const isPartial = order.decision === 'partial_return';
  const amount = isPartial ? order.returnedAmount : order.amount;
  const number = `R${hashOrder(order)}`;
  return { order, direction: 'credit', amount, reason: order.reason, number, charge };
}

function hashOrder({ endToEndId, paymentInformationId }: BankOrder): string {
  const hash = createHash('sha256').update(`${paymentInformationId} ${endToEndId}`);
  return hash.digest('hex').slice(0, 16);
}

async function send(
  { inbox }: Bank,
  { id, text }: { id: string; text: string },
  { options }: Turn,
): Promise<void> {
  await writeWhole(inbox, { name: `${id}.xml`, text });
  if (options.answersTwice) await writeWhole(inbox, { name: `${id}-2.xml`, text });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      folder: { type: 'string' },
      pause: { type: 'string', default: '200' },
    },
  });
  if (values.folder === undefined) throw new Error('--folder is missing');
  const pauseMs = Number(values.pause);
  const bank = await openBankSimulator({ folder: values.folder });
  const end = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => end.abort());
  process.stdout.write('The bank is open\n');
  while (!end.signal.aborted) {
    await bank.advance(Math.floor(performance.timeOrigin + performance.now()));
    await sleep(pauseMs);
  }
}

if (import.meta.main) await main();
