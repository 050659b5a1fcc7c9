import { findCurrency, getCurrency } from '../../core/currency.ts';
import { parseAmount } from '../../core/money.ts';
import type { RailHost, RailObservation } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import {
  cleanCode,
  findStatusOutcome,
  getReason,
  isDuplicateCode,
  isMixedStatus,
} from './codes.ts';
import type { StoredFile } from './files.ts';
import {
  type Findings,
  findPayment,
  isPayoutReference,
  isReference,
  makeProblem,
  moneyOf,
  readInstant,
  type StatementContext,
} from './findings.ts';
import {
  cleanReference,
  type Status,
  type StatusReport,
  type TransactionStatus,
} from './pain002.ts';
import type { Payment } from './payments.ts';

/**
 * The outcome that a status report (pain.002) has for each payment: its own status, else its group's,
 * else the file's. The same report gives the same findings however often it is read.
 */
export async function observeStatusReport(
  report: StatusReport,
  context: StatementContext,
): Promise<Findings> {
  const file = await context.files.find(report.originalMessageId);
  const atMs = readInstant(report.createdAt, context.host.nowMs());
  const findings: Findings = { observations: [], problems: [] };
  findings.problems.push(...listReportProblems(report, file));
  const single = new Set<string>();
  for (const transaction of listTransactions(report, file)) {
    if (transaction.status === '') continue;
    const payment = await findReportedPayment(transaction, { context, file });
    const { endToEndId, instructionId } = transaction;
    const named = [endToEndId, instructionId].find((one) => isReference(one)) ?? '';
    const reference = payment?.value.order.reference ?? named;
    if (reference !== '') single.add(reference);
    const about = { report, payment, file, reference };
    const fault = findTransactionFault(transaction, about);
    if (fault === undefined) {
      if (payment !== undefined) {
        await context.bankReferences.note(transaction.providerReference, reference);
      }
      findings.observations.push(
        ...observeStatus(reference, { ...transaction, atMs, host: context.host }),
      );
    } else {
      const { kind, detail } = fault;
      const { status, code } = transaction;
      const name = [report.originalMessageId, endToEndId, instructionId, status, code, detail];
      const money = payment === undefined ? readReportedAmount(transaction) : moneyOf(payment);
      findings.problems.push(makeProblem(kind, { name, detail, money }));
    }
  }
  if (file === undefined) return findings;
  for (const [reference, status] of spreadStatuses(report, file)) {
    if (single.has(reference)) continue;
    findings.observations.push(
      ...observeStatus(reference, { ...status, providerReference: '', atMs, host: context.host }),
    );
  }
  return findings;
}

/** What is wrong with the report as a whole. */
function listReportProblems(report: StatusReport, file: StoredFile | undefined) {
  const { originalMessageId, group, payments } = report;
  const fileName = cleanReference(originalMessageId) || '(no id)';
  const problems = [];
  if (file === undefined) {
    const detail = `status report ${describeStatus(group)} about file ${fileName}, which this rail did not write`;
    problems.push(makeProblem('unmatched', { name: [originalMessageId, group.status], detail }));
  }
  const levels = [
    { ...group, id: '' },
    ...payments.map(({ id, status, code }) => ({ id, status, code })),
  ];
  for (const level of levels) {
    const { id, status } = level;
    const isGroupOfFile = file?.groups.some((one) => one.id === id) ?? true;
    if (id !== '' && status !== '' && !isGroupOfFile) {
      const detail = `status ${describeStatus(level)} of a batch that is not in file ${fileName}`;
      problems.push(makeProblem('unmatched', { name: [originalMessageId, id, status], detail }));
    }
    if (status === '' || isMixedStatus(status)) continue;
    if (findStatusOutcome(status) !== undefined) continue;
    const what = id === '' ? `file ${fileName}` : `a batch of file ${fileName}`;
    const detail = `unknown status ${describeStatus(level)} of ${what}`;
    problems.push(makeProblem('not_understood', { name: [originalMessageId, id, status], detail }));
  }
  const isSilent = levels.every(({ status }) => status === '');
  const hasTransactions = payments.some(({ transactions }) =>
    transactions.some(({ status }) => status !== ''),
  );
  if (isSilent && !hasTransactions) {
    const detail = `the status report about file ${fileName} has no status`;
    problems.push(makeProblem('not_understood', { name: [originalMessageId, 'none'], detail }));
  }
  return problems;
}

function describeStatus({ status, code }: Status): string {
  const name = cleanCode(status) || '(none)';
  return code === '' ? name : `${name} ${code}`;
}

type ReportedTransaction = TransactionStatus & { readonly paymentInformationId: string };

function listTransactions(
  { group, payments }: StatusReport,
  file: StoredFile | undefined,
): ReportedTransaction[] {
  return payments.flatMap((payment) => {
    const isCopy = isSecondCopy([payment, group], file);
    return payment.transactions.map((one) => ({
      ...one,
      paymentInformationId: payment.id,
      code: isCopy ? secondCopy : findCode(one, [payment, group]),
    }));
  });
}

/** By our references, by the bank's, or as the only payment of its group. */
async function findReportedPayment(
  transaction: ReportedTransaction,
  { context, file }: { context: StatementContext; file: StoredFile | undefined },
): Promise<Payment | undefined> {
  const { endToEndId, instructionId, providerReference, paymentInformationId } = transaction;
  const { book, bankReferences } = context;
  const named = await findPayment(book, [endToEndId, instructionId]);
  if (named !== undefined) return named;
  // It names a payment of another rail.
  if (isReference(endToEndId) || isReference(instructionId)) return undefined;
  const owner = await bankReferences.find(providerReference);
  if (owner !== undefined) return book.find(owner);
  const group = file?.groups.find(({ id }) => id === paymentInformationId);
  const [only, ...others] = group?.references ?? [];
  return only === undefined || others.length > 0 ? undefined : book.find(only);
}

type Fault = { readonly kind: 'unmatched' | 'not_understood'; readonly detail: string };

/** Why a status cannot be applied to its payment; undefined where it can. */
function findTransactionFault(
  transaction: ReportedTransaction,
  about: {
    report: StatusReport;
    payment: Payment | undefined;
    file: StoredFile | undefined;
    reference: string;
  },
): Fault | undefined {
  const { payment, file, reference, report } = about;
  const { amount } = transaction;
  const what = `status ${describeStatus(transaction)}`;
  const fileName = cleanReference(report.originalMessageId) || '(no id)';
  if (payment === undefined && !isPayoutReference(reference)) {
    const detail = `${what} in a report about file ${fileName} matches no payment of this rail`;
    return { kind: 'unmatched', detail };
  }
  if (findStatusOutcome(transaction.status) === undefined) {
    return { kind: 'not_understood', detail: `unknown ${what} of payment ${reference}` };
  }
  if (payment === undefined) return undefined;
  const isInFile = file?.groups.some(({ references }) => references.includes(reference)) ?? false;
  if (!isInFile) {
    const detail = `${what} of payment ${reference} names file ${fileName}, which does not hold it`;
    return { kind: 'unmatched', detail };
  }
  if (amount === undefined || isSameAmount(payment, amount)) return undefined;
  const detail = `${what} of payment ${reference} names another amount than was sent`;
  return { kind: 'unmatched', detail };
}

function isSameAmount(
  { value: { order } }: Payment,
  amount: { text: string; currency: string },
): boolean {
  const parsed = parseAmount(amount.text, getCurrency(order.currency));
  return amount.currency === order.currency && parsed.ok && parsed.minor === order.amountMinor;
}

function readReportedAmount({ amount }: TransactionStatus) {
  const currency = amount && findCurrency(amount.currency);
  if (amount === undefined || currency === undefined) return undefined;
  const parsed = parseAmount(amount.text, currency);
  return parsed.ok ? { currency: currency.code, amountMinor: parsed.minor } : undefined;
}

const secondCopy = 'DUPL';

/**
 * Whether a file that may have left twice was rejected as a whole: regardless of the code, the bank may
 * have rejected the second copy.
 */
function isSecondCopy(above: readonly Status[], file: StoredFile | undefined): boolean {
  const isRefused = above.some(({ status }) => findStatusOutcome(status) === 'rejected');
  return isRefused && file !== undefined && file.deliveries > 1;
}

/**
 * A bank may give the reason only where it rejects the whole, and just RJCT below. A code for a second
 * copy of the whole takes precedence over the code of a part, since the first copy's part may be paid.
 */
function findCode(own: Status, above: readonly Status[]): string {
  if (findStatusOutcome(own.status) !== 'rejected') return own.code;
  const refusing = above.filter(({ status }) => findStatusOutcome(status) === 'rejected');
  const codes = [own, ...refusing].map(({ code }) => code).filter((code) => code !== '');
  return codes.find(isDuplicateCode) ?? codes[0] ?? '';
}

/** The statuses of file and groups, for each payment that the file holds. */
function spreadStatuses(report: StatusReport, file: StoredFile): Map<string, Status> {
  const statuses = new Map<string, Status>();
  const spread = (status: Status, groupId: string | undefined): void => {
    if (findStatusOutcome(status.status) === undefined) return;
    const effective = isSecondCopy([status], file) ? { ...status, code: secondCopy } : status;
    for (const { id, references } of file.groups) {
      if (groupId !== undefined && id !== groupId) continue;
      for (const reference of references) statuses.set(reference, effective);
    }
  };
  spread(report.group, undefined);
  for (const payment of report.payments) {
    const { id, status } = payment;
    spread({ status, code: findCode(payment, [report.group]) }, id);
  }
  return statuses;
}

function observeStatus(
  reference: string,
  reported: Status & {
    providerReference: string;
    atMs: number;
    host: Pick<RailHost, 'log'>;
  },
): RailObservation[] {
  const { status, code, providerReference, atMs, host } = reported;
  const outcome = findStatusOutcome(status);
  if (outcome === undefined) return [];
  const base = {
    id: `${reference}:${status}:${code}`,
    reference,
    atMs,
    ...(providerReference === '' ? {} : { providerReference }),
    code: code === '' ? status : code,
  };
  if (outcome !== 'rejected') return [{ ...base, outcome }];
  if (isDuplicateCode(code)) {
    // The first copy may be paid: the payment stays open.
    host.log('warn', 'the bank rejected a second copy', { reference, code });
    return [{ ...base, outcome: 'accepted', reason: 'duplicate' }];
  }
  const reason: Reason = status === 'CANC' ? 'recalled' : getReason(code);
  return [{ ...base, outcome: 'rejected', reason }];
}
