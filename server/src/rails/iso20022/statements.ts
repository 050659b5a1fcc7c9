import { getCurrency } from '../../core/currency.ts';
import { parseAmount } from '../../core/money.ts';
import type { Charge, RailHost, RailObservation } from '../contract.ts';
import type { Reason } from '../reasons.ts';
import type { AccountReport, BookedEntry, Money } from './camt.ts';
import { findStatusOutcome, getReason, isDuplicateCode } from './codes.ts';
import type { Config } from './config.ts';
import type { Files, StoredFile } from './files.ts';
import type { Status, StatusReport, TransactionStatus } from './pain002.ts';
import type { Payment, PaymentBook } from './payments.ts';

/**
 * From what a message of the bank says to what follows for payments. The same message gives the same
 * observations however often it is read, and messages that tell the same fact name it alike, so that
 * a statement repeats a notification without effect.
 */

export type StatementContext = {
  readonly host: Pick<RailHost, 'log' | 'nowMs'>;
  readonly config: Config;
  readonly book: PaymentBook;
  readonly files: Pick<Files, 'find'>;
};

/** What a status report says of each payment: its own status, else its group's, else the file's. */
export async function observeStatusReport(
  report: StatusReport,
  context: StatementContext,
): Promise<RailObservation[]> {
  const { host, files } = context;
  const atMs = readInstant(report.createdAt, host.nowMs());
  const file = await files.find(report.originalMessageId);
  const statuses = file === undefined ? new Map<string, Status>() : spreadStatuses(report, file);
  if (file === undefined) {
    host.log('warn', 'a status report is about a file that is not ours', {});
  }
  const observations: RailObservation[] = [];
  const single = new Set<string>();
  for (const transaction of listTransactions(report, file)) {
    const { endToEndId: reference } = transaction;
    if (!isReference(reference) || transaction.status === '') continue;
    single.add(reference);
    if (!(await isAboutThatPayment(transaction, { context, file }))) continue;
    observations.push(...observeStatus(reference, { ...transaction, atMs, host }));
  }
  for (const [reference, status] of statuses) {
    if (single.has(reference)) continue;
    observations.push(
      ...observeStatus(reference, { ...status, providerReference: '', atMs, host }),
    );
  }
  return observations;
}

function listTransactions(
  { group, payments }: StatusReport,
  file: StoredFile | undefined,
): TransactionStatus[] {
  return payments.flatMap((payment) => {
    const isCopy = isSecondCopy([payment, group], file);
    return payment.transactions.map((one) => ({
      ...one,
      code: isCopy ? secondCopy : findCode(one, [payment, group]),
    }));
  });
}

const secondCopy = 'DUPL';

/**
 * A file that may have gone out twice, refused as a whole: whatever the bank calls it, it may be the
 * second one that it refused.
 */
function isSecondCopy(above: readonly Status[], file: StoredFile | undefined): boolean {
  const isRefused = above.some(({ status }) => findStatusOutcome(status) === 'rejected');
  return isRefused && file !== undefined && file.deliveries > 1;
}

/**
 * A bank may say why only where it refuses the whole, and no more than RJCT below. That the whole is
 * a second copy goes before what else is said of a part: the first copy's part may be paid.
 */
function findCode(own: Status, above: readonly Status[]): string {
  if (findStatusOutcome(own.status) !== 'rejected') return own.code;
  const refusing = above.filter(({ status }) => findStatusOutcome(status) === 'rejected');
  const codes = [own, ...refusing].map(({ code }) => code).filter((code) => code !== '');
  return codes.find(isDuplicateCode) ?? codes[0] ?? '';
}

/** The statuses of the upper levels, by the payments that the file held. */
function spreadStatuses(report: StatusReport, file: StoredFile): Map<string, Status> {
  const statuses = new Map<string, Status>();
  const spread = (status: Status, groupId: string | undefined): void => {
    if (findStatusOutcome(status.status) === undefined) return;
    const told = isSecondCopy([status], file) ? { ...status, code: secondCopy } : status;
    for (const { id, references } of file.groups) {
      if (groupId !== undefined && id !== groupId) continue;
      for (const reference of references) statuses.set(reference, told);
    }
  };
  spread(report.group, undefined);
  for (const payment of report.payments) {
    const { id, status } = payment;
    spread({ status, code: findCode(payment, [report.group]) }, id);
  }
  return statuses;
}

/**
 * False where the bank answers to another file or another amount than this payment had: then it is
 * not known what it means, and nothing follows. A reference that nobody knows goes before a person.
 */
async function isAboutThatPayment(
  transaction: TransactionStatus,
  { context, file }: { context: StatementContext; file: StoredFile | undefined },
): Promise<boolean> {
  const { book, host } = context;
  const { endToEndId: reference, amount } = transaction;
  const payment = await book.find(reference);
  if (payment === undefined) return true;
  const isInFile = file?.groups.some(({ references }) => references.includes(reference)) ?? false;
  if (!isInFile) {
    host.log('error', 'a status report names a payment with a file it was not in', { reference });
    return false;
  }
  if (amount === undefined || isSameAmount(payment, amount)) return true;
  host.log('error', 'a status report names another amount than was ordered', { reference });
  return false;
}

function isSameAmount(
  { value: { order } }: Payment,
  amount: { text: string; currency: string },
): boolean {
  const parsed = parseAmount(amount.text, getCurrency(order.currency));
  return amount.currency === order.currency && parsed.ok && parsed.minor === order.amountMinor;
}

function observeStatus(
  reference: string,
  said: Status & {
    providerReference: string;
    atMs: number;
    host: Pick<RailHost, 'log'>;
  },
): RailObservation[] {
  const { status, code, providerReference, atMs, host } = said;
  const outcome = findStatusOutcome(status);
  if (outcome === undefined) {
    host.log('warn', 'a status report has a status that is not known', { reference });
    return [];
  }
  const base = {
    id: `${reference}:${status}:${code}`,
    reference,
    atMs,
    ...(providerReference === '' ? {} : { providerReference }),
    code: code === '' ? status : code,
  };
  if (outcome !== 'rejected') return [{ ...base, outcome }];
  if (isDuplicateCode(code)) {
    // A second copy was refused, and the first may be paid: the payment itself is open as before.
    host.log('warn', 'the bank refused a second copy', { reference, code });
    return [{ ...base, outcome: 'accepted', reason: 'duplicate' }];
  }
  const reason: Reason = status === 'CANC' ? 'recalled' : getReason(code);
  return [{ ...base, outcome: 'rejected', reason }];
}

/** What was booked on our accounts, as payments that left and came back. */
export async function observeAccountReport(
  report: AccountReport,
  context: StatementContext,
): Promise<RailObservation[]> {
  const { config, host } = context;
  const accounts = new Set(
    config.debtors.map(({ iban, account }) => iban || account.replaceAll(' ', '')),
  );
  const observations: RailObservation[] = [];
  const seen = new Map<string, number>();
  for (const entry of report.entries) {
    if (!accounts.has(entry.account)) {
      host.log('warn', 'an entry is on an account that is not ours', {});
      continue;
    }
    const atMs = readInstant(entry.bookedAt || report.createdAt, host.nowMs());
    const found =
      entry.batch === undefined
        ? await observeEntry(entry, { context, atMs })
        : await observeBatch(entry, { context, atMs });
    for (const observation of found) {
      // Two equal returns of a payment in one message are two; the same in the next message are these.
      const count = (seen.get(observation.id) ?? 0) + 1;
      seen.set(observation.id, count);
      observations.push(
        count === 1 ? observation : { ...observation, id: `${observation.id}:${count}` },
      );
    }
  }
  return observations;
}

type EntryContext = { readonly context: StatementContext; readonly atMs: number };

async function observeEntry(
  entry: BookedEntry,
  { context, atMs }: EntryContext,
): Promise<RailObservation[]> {
  const { endToEndId: reference, direction } = entry;
  if (!isReference(reference)) return [];
  const payment = await context.book.find(reference);
  if (entry.isCharge) return payment === undefined ? [] : observeCharge(entry, { payment, atMs });
  if (direction === 'debit') {
    // The undoing of a credit is none of ours.
    if (entry.isReturn) return [];
    if (payment !== undefined && isTooSmall(entry, payment)) {
      context.host.log('error', 'less was debited than a payment has', { reference });
      return [];
    }
    return [describeDebit(entry, { payment, atMs })];
  }
  // Money that comes in without being a return of something is somebody else's payment.
  if (payment === undefined && !entry.isReturn) return [];
  return [describeReturn(entry, { payment, atMs })];
}

/** A charge booked under the payment's reference, for one; with charges added a debit may be larger. */
function isTooSmall({ booked }: BookedEntry, { value: { order } }: Payment): boolean {
  return booked?.currency === order.currency && booked.amountMinor < order.amountMinor;
}

type Match = { readonly payment: Payment | undefined; readonly atMs: number };

function describeDebit(entry: BookedEntry, { payment, atMs }: Match): RailObservation {
  const { endToEndId: reference, providerReference } = entry;
  const amountMinor = readAmount(entry, payment);
  return {
    id: `${reference}:debit:${providerReference || entry.bookedAt.slice(0, 10)}`,
    reference,
    outcome: 'paid',
    atMs,
    ...(amountMinor === undefined ? {} : { amountMinor }),
    ...(providerReference === '' ? {} : { providerReference }),
    charges: describeCharges(entry, 'debit'),
  };
}

function describeReturn(entry: BookedEntry, { payment, atMs }: Match): RailObservation {
  const { endToEndId: reference, providerReference, code } = entry;
  const amountMinor = readAmount(entry, payment);
  const name = [providerReference || entry.bookedAt.slice(0, 10), amountMinor ?? 'all'].join(':');
  return {
    id: `${reference}:return:${name}`,
    reference,
    outcome: 'returned',
    reason: code === '' ? 'sent_back' : getReason(code),
    atMs,
    ...(code === '' ? {} : { code }),
    ...(amountMinor === undefined ? {} : { amountMinor }),
    ...(providerReference === '' ? {} : { providerReference }),
    charges: describeCharges(entry, `return:${name}`),
  };
}

/** A charge booked by itself changes nothing about where the payment stands. */
function observeCharge(
  entry: BookedEntry,
  { payment, atMs }: { payment: Payment; atMs: number },
): RailObservation[] {
  if (entry.direction !== 'debit' || entry.booked === undefined) return [];
  const { endToEndId: reference, booked } = entry;
  const name = `${entry.providerReference || entry.bookedAt.slice(0, 10)}:${booked.amountMinor}`;
  const isPaid = payment.state === 'paid' || payment.state === 'returned';
  return [
    {
      id: `${reference}:charge:${name}`,
      reference,
      outcome: isPaid ? 'paid' : 'accepted',
      atMs,
      charges: [{ id: `charge:${name}`, kind: 'bank', ...booked }],
    },
  ];
}

function describeCharges({ charges }: BookedEntry, name: string): Charge[] {
  return charges.map(({ currency, amountMinor }, index) => ({
    id: `${name}:${index + 1}:${currency}:${amountMinor}`,
    kind: 'bank',
    currency,
    amountMinor,
  }));
}

/**
 * What left or came back in the payment's currency, before charges: those that the bank took out of
 * a return are counted as charges, so that return and charges together are what moved. Undefined
 * where the entry does not say it in that currency.
 */
function readAmount(entry: BookedEntry, payment: Payment | undefined): bigint | undefined {
  const { booked, instructed, direction } = entry;
  const currency = payment?.value.order.currency ?? booked?.currency;
  if (booked !== undefined && booked.currency === currency) {
    const included = sumIncluded(entry, booked);
    const grossMinor =
      direction === 'debit' ? booked.amountMinor - included : booked.amountMinor + included;
    return grossMinor > 0n ? grossMinor : undefined;
  }
  return instructed?.currency === currency ? instructed?.amountMinor : undefined;
}

function sumIncluded({ charges }: BookedEntry, { currency }: Money): bigint {
  return charges
    .filter((charge) => charge.isIncluded && charge.currency === currency)
    .reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
}

/**
 * A debit for a whole batch is one for each of its payments, if count and sum are those of the
 * payments that were not refused before; else nobody can say whose they are, and single answers count.
 */
async function observeBatch(
  entry: BookedEntry,
  { context, atMs }: EntryContext,
): Promise<RailObservation[]> {
  const { book, files, host } = context;
  const { batch, booked } = entry;
  if (batch === undefined || entry.direction !== 'debit' || entry.isReturn || entry.isCharge) {
    return [];
  }
  const file = (await files.find(batch.id)) ?? (await files.find(batch.id.replace(/-\d+$/, '')));
  const groups = file?.groups ?? [];
  const group = groups.find(({ id }) => id === batch.id);
  const references = (group === undefined ? groups : [group]).flatMap((one) => one.references);
  if (references.length === 0) return [];
  const payments: Payment[] = [];
  for (const reference of references) {
    const payment = await book.find(reference);
    if (payment !== undefined && payment.state !== 'rejected') payments.push(payment);
  }
  const sum = payments.reduce((total, { value }) => total + value.order.amountMinor, 0n);
  const isOneCurrency = payments.every(({ value }) => value.order.currency === booked?.currency);
  const isCount = batch.count === '' || batch.count === String(payments.length);
  if (!isOneCurrency || !isCount || sum !== booked?.amountMinor) {
    host.log('error', 'a batch was booked with another count or sum than its payments have', {});
    return [];
  }
  return payments.map(({ value: { order } }) => ({
    id: `${order.reference}:debit:${batch.id}`,
    reference: order.reference,
    outcome: 'paid' as const,
    atMs,
  }));
}

/** The characters that ISO 20022 ids may have inside SEPA; and the words that banks put for nothing. */
function isReference(text: string): boolean {
  return /^[A-Za-z0-9+?/:().,' -]{1,35}$/.test(text) && !['NOTPROVIDED', 'NONREF'].includes(text);
}

/** A time without an offset is taken as UTC; one that cannot be read, or lies ahead, as now. */
function readInstant(text: string, nowMs: number): number {
  const hasOffset = /(?:Z|[+-]\d{2}:\d{2})$/.test(text) || !text.includes('T');
  const atMs = Date.parse(hasOffset ? text : `${text}Z`);
  return Number.isNaN(atMs) ? nowMs : Math.min(atMs, nowMs);
}
