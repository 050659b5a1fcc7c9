import { element, optionalText, textElement } from '../../../src/rails/iso20022/xml.ts';
import type { BankFile, BankOrder } from './bank-books.ts';

/** The reports of the simulated bank: pain.002.001.11, pacs.002.001.11, camt.054.001.08, camt.053.001.08. */

export type AnswerHead = { readonly id: string; readonly atMs: number };

function writeDocument(name: string, body: string): string {
  const xmlns = `urn:iso:std:iso:20022:tech:xsd:${name}`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('Document', [body], { xmlns })}\n`;
}

function formatTime(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}

function writeHeader({ id, atMs }: AnswerHead): string {
  return element('GrpHdr', [textElement('MsgId', id), textElement('CreDtTm', formatTime(atMs))]);
}

function writeReason(code: string): string {
  return element('StsRsnInf', [element('Rsn', [textElement('Cd', code)])]);
}

/** A bank that takes messages of a scheme answers with those of the scheme. */
function writeReport(messageName: string, parts: readonly string[]): string {
  return messageName.startsWith('pacs.')
    ? writeDocument('pacs.002.001.11', element('FIToFIPmtStsRpt', parts))
    : writeDocument('pain.002.001.11', element('CstmrPmtStsRpt', parts));
}

/** Refuses a file as a whole. */
export function writeFileRefusal(
  head: AnswerHead,
  file: { messageId: string; messageName: string; code: string },
): string {
  const group = element('OrgnlGrpInfAndSts', [
    textElement('OrgnlMsgId', file.messageId),
    textElement('OrgnlMsgNmId', file.messageName),
    textElement('GrpSts', 'RJCT'),
    writeReason(file.code),
  ]);
  return writeReport(file.messageName, [writeHeader(head), group]);
}

/**
 * One status for the file where all payments are accepted, else one for each payment. An instant payment
 * always has its own.
 */
export function writeStatusReport(head: AnswerHead, file: BankFile): string {
  const reported = file.orders.filter(({ decision }) => decision !== 'silent');
  const isAccepted = file.orders.every(
    ({ decision, isInstant }) => decision !== 'silent' && !isRejected(decision) && !isInstant,
  );
  return writeStatuses(head, file, { reported, isAccepted });
}

/** Reports as paid what was reported as rejected. */
export function writeContradiction(head: AnswerHead, file: BankFile): string {
  const reported = file.orders
    .filter(({ decision }) => decision === 'contradict')
    .map((order) => ({ ...order, decision: 'pay' as const, isInstant: true }));
  return writeStatuses(head, file, { reported, isAccepted: false });
}

function isRejected(decision: BankOrder['decision']): boolean {
  return decision === 'reject' || decision === 'contradict';
}

function writeStatuses(
  head: AnswerHead,
  file: BankFile,
  { reported, isAccepted }: { reported: readonly BankOrder[]; isAccepted: boolean },
): string {
  const groups = Map.groupBy(reported, ({ paymentInformationId }) => paymentInformationId);
  const isOfScheme = file.messageName.startsWith('pacs.');
  const details = isOfScheme
    ? reported.map((order) => writeTransactionStatus(order, 'IntrBkSttlmAmt'))
    : [...groups].map(([id, orders]) =>
        element('OrgnlPmtInfAndSts', [
          textElement('OrgnlPmtInfId', id),
          ...orders.map((order) => writeTransactionStatus(order, 'InstdAmt')),
        ]),
      );
  const group = element('OrgnlGrpInfAndSts', [
    textElement('OrgnlMsgId', file.messageId),
    textElement('OrgnlMsgNmId', file.messageName),
    // One payment has no partial status.
    isOfScheme ? undefined : textElement('GrpSts', isAccepted ? 'ACCP' : 'PART'),
  ]);
  return writeReport(file.messageName, [writeHeader(head), group, ...(isAccepted ? [] : details)]);
}

function writeTransactionStatus(
  order: BankOrder,
  amountName: 'InstdAmt' | 'IntrBkSttlmAmt',
): string {
  const isRefused = isRejected(order.decision);
  const accepted = order.isInstant ? 'ACSC' : 'ACSP';
  const amount = textElement(amountName, order.amount, { Ccy: order.currency });
  return element('TxInfAndSts', [
    textElement('OrgnlEndToEndId', order.endToEndId),
    textElement('TxSts', isRefused ? 'RJCT' : accepted),
    isRefused ? writeReason(order.reason) : undefined,
    element('OrgnlTxRef', [amountName === 'InstdAmt' ? element('Amt', [amount]) : amount]),
  ]);
}

export type Booking = {
  readonly order: BankOrder;
  readonly direction: 'debit' | 'credit';
  readonly amount: string;
  /** Why it came back; "" for a debit. */
  readonly reason: string;
  /** The bank's number for it. */
  readonly number: string;
  /** The bank's charge, in the account's currency; "" for none. */
  readonly charge: string;
};

export function writeNotification(head: AnswerHead, bookings: readonly Booking[]): string {
  const reports = writeByAccount(bookings, (account, some, index) =>
    element('Ntfctn', [
      textElement('Id', `${head.id}-${index + 1}`),
      textElement('CreDtTm', formatTime(head.atMs)),
      writeAccount(account),
      ...some.map((booking) => writeEntry(booking, head.atMs)),
    ]),
  );
  return writeDocument(
    'camt.054.001.08',
    element('BkToCstmrDbtCdtNtfctn', [writeHeader(head), ...reports]),
  );
}

export function writeStatement(head: AnswerHead, bookings: readonly Booking[]): string {
  const reports = writeByAccount(bookings, (account, some, index) =>
    element('Stmt', [
      textElement('Id', `${head.id}-${index + 1}`),
      textElement('CreDtTm', formatTime(head.atMs)),
      writeAccount(account),
      element('Bal', [
        element('Tp', [element('CdOrPrtry', [textElement('Cd', 'CLBD')])]),
        textElement('Amt', '1000000.00', { Ccy: some[0]?.order.currency ?? 'EUR' }),
        textElement('CdtDbtInd', 'CRDT'),
        element('Dt', [textElement('Dt', formatTime(head.atMs).slice(0, 10))]),
      ]),
      ...some.map((booking) => writeEntry(booking, head.atMs)),
    ]),
  );
  return writeDocument(
    'camt.053.001.08',
    element('BkToCstmrStmt', [writeHeader(head), ...reports]),
  );
}

function writeByAccount(
  bookings: readonly Booking[],
  write: (account: string, some: readonly Booking[], index: number) => string,
): string[] {
  const groups = Map.groupBy(bookings, ({ order }) => order.debtorAccount);
  return [...groups].map(([account, some], index) => write(account, some, index));
}

function writeAccount(account: string): string {
  const isIban = /^[A-Z]{2}\d{2}/.test(account);
  return element('Acct', [
    element('Id', [
      isIban ? textElement('IBAN', account) : element('Othr', [textElement('Id', account)]),
    ]),
  ]);
}

function writeEntry(booking: Booking, atMs: number): string {
  const { order, direction, amount, reason, number, charge } = booking;
  const day = formatTime(atMs).slice(0, 10);
  return element('Ntry', [
    textElement('Amt', amount, { Ccy: order.currency }),
    textElement('CdtDbtInd', direction === 'debit' ? 'DBIT' : 'CRDT'),
    element('Sts', [textElement('Cd', 'BOOK')]),
    element('BookgDt', [textElement('Dt', day)]),
    element('ValDt', [textElement('Dt', day)]),
    textElement('AcctSvcrRef', number),
    element('BkTxCd', [
      element('Domn', [
        textElement('Cd', 'PMNT'),
        element('Fmly', [
          textElement('Cd', 'ICDT'),
          textElement('SubFmlyCd', direction === 'debit' ? 'ESCT' : 'RRTN'),
        ]),
      ]),
    ]),
    element('NtryDtls', [
      element('TxDtls', [
        element('Refs', [
          optionalText('AcctSvcrRef', number),
          textElement('EndToEndId', order.endToEndId),
        ]),
        textElement('Amt', amount, { Ccy: order.currency }),
        textElement('CdtDbtInd', direction === 'debit' ? 'DBIT' : 'CRDT'),
        charge === '' ? undefined : writeCharge(charge, order.currency),
        reason === ''
          ? undefined
          : element('RtrInf', [element('Rsn', [textElement('Cd', reason)])]),
      ]),
    ]),
  ]);
}

function writeCharge(charge: string, currency: string): string {
  return element('Chrgs', [
    element('Rcrd', [
      textElement('Amt', charge, { Ccy: currency }),
      textElement('CdtDbtInd', 'DBIT'),
      textElement('ChrgInclInd', 'false'),
    ]),
  ]);
}
