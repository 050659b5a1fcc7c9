import { formatSecondsZ } from '../core/clock.ts';
import { type Currency, getCurrency } from '../core/currency.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import { element, optionalText, textElement } from '../rails/iso20022/xml.ts';
import { endOf, formatDay, startOf } from './period.ts';
import type { Statement, StatementEntry } from './statements.ts';

/**
 * Statements as ISO 20022 camt.053.001.08 (Bank To Customer Statement). Identifiers are UUIDs without
 * dashes, because the message allows 34 or 35 characters.
 */

const namespace = 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08';
/** ActiveOrHistoricCurrencyCode is a code of ISO 4217; ActiveOrHistoricCurrencyAndAmount has five. */
const scaleMax = 5;

/** Whether amounts of the currency fit the message: cryptocurrencies do not. */
export function hasCamt053(currencyCode: string): boolean {
  const { isCrypto, scale } = getCurrency(currencyCode);
  return !isCrypto && scale <= scaleMax;
}

/** External bank transaction codes (domain, family, sub-family) of each kind of journal. */
const transactionCodes: Readonly<Record<StatementEntry['kind'], readonly string[]>> = {
  fund: ['PMNT', 'RCDT', 'OTHR'],
  adjust_credit: ['PMNT', 'MCOP', 'ADJT'],
  adjust_debit: ['PMNT', 'MDOP', 'ADJT'],
  commit: ['PMNT', 'ICDT', 'OTHR'],
  refund: ['PMNT', 'ICDT', 'RPCR'],
  return: ['PMNT', 'ICDT', 'RRTN'],
  reserve: ['CAMT', 'ACCB', 'OTHR'],
  release: ['CAMT', 'ACCB', 'OTHR'],
};
const feeCode = ['PMNT', 'ICDT', 'CHRG'];

/** @param environmentName is named in the header, where no money moved. */
export async function* writeCamt053(
  statement: Statement,
  environmentName: 'staging' | 'live',
): AsyncGenerator<string> {
  const { currency: code, period, openingBalance, closingBalance } = statement;
  const currency = getCurrency(code);
  const id = shorten(statement.id);
  const createdAt = textElement('CreDtTm', formatSecondsZ(endOf(period)));
  const note = environmentName === 'staging' ? 'TEST - no money moved' : '';
  const header = [textElement('MsgId', id), createdAt, optionalText('AddtlInf', note)];
  yield '<?xml version="1.0" encoding="UTF-8"?>\n';
  yield `<Document xmlns="${namespace}"><BkToCstmrStmt>${element('GrpHdr', header)}<Stmt>`;
  const last = new Date(endOf(period).getTime() - 1000);
  yield [
    textElement('Id', id),
    createdAt,
    element('FrToDt', [
      textElement('FrDtTm', formatSecondsZ(startOf(period))),
      textElement('ToDtTm', formatSecondsZ(last)),
    ]),
    element('Acct', [
      element('Id', [element('Othr', [textElement('Id', shorten(statement.balanceToken))])]),
      textElement('Ccy', code),
    ]),
    writeBalance('OPBD', openingBalance, { currency, day: period.firstDay }),
    writeBalance('CLBD', closingBalance, { currency, day: period.lastDay }),
    writeSummary(statement, currency),
  ].join('');
  for await (const entries of statement.entries()) {
    yield entries.map((entry) => writeEntry(entry, currency)).join('');
  }
  yield '</Stmt></BkToCstmrStmt></Document>\n';
}

function shorten(uuid: string): string {
  return uuid.replaceAll('-', '');
}

function writeBalance(
  code: 'OPBD' | 'CLBD',
  minor: bigint,
  { currency, day }: { currency: Currency; day: string },
): string {
  return element('Bal', [
    element('Tp', [element('CdOrPrtry', [textElement('Cd', code)])]),
    ...writeMoney(minor, currency),
    element('Dt', [textElement('Dt', day)]),
  ]);
}

function magnitude(minor: bigint): bigint {
  return minor < 0n ? -minor : minor;
}

function writeMoney(minor: bigint, currency: Currency): string[] {
  return [
    textElement('Amt', formatAmount(magnitude(minor), currency), { Ccy: currency.code }),
    textElement('CdtDbtInd', minor < 0n ? 'DBIT' : 'CRDT'),
  ];
}

function writeSummary(statement: Statement, currency: Currency): string {
  const { credits, creditTotal, debits, debitTotal } = statement;
  const net = creditTotal - debitTotal;
  const count = (entries: bigint, sum: bigint): string[] => [
    textElement('NbOfNtries', String(entries)),
    textElement('Sum', formatAmount(sum, currency)),
  ];
  return element('TxsSummry', [
    element('TtlNtries', [
      ...count(credits + debits, creditTotal + debitTotal),
      element('TtlNetNtry', [
        textElement('Amt', formatAmount(magnitude(net), currency)),
        textElement('CdtDbtInd', net < 0n ? 'DBIT' : 'CRDT'),
      ]),
    ]),
    element('TtlCdtNtries', count(credits, creditTotal)),
    element('TtlDbtNtries', count(debits, debitTotal)),
  ]);
}

function writeEntry(entry: StatementEntry, currency: Currency): string {
  const { kind, counterpart, posted_at: postedAt } = entry;
  const isReversal = kind === 'refund' || kind === 'return';
  const [domain = '', family = '', subFamily = ''] =
    counterpart === 'fees' ? feeCode : transactionCodes[kind];
  return element('Ntry', [
    textElement('NtryRef', entry.reference),
    ...writeMoney(entry.amount, currency),
    isReversal ? textElement('RvslInd', 'true') : undefined,
    element('Sts', [textElement('Cd', 'BOOK')]),
    element('BookgDt', [textElement('DtTm', formatSecondsZ(postedAt))]),
    element('ValDt', [textElement('Dt', formatDay(postedAt))]),
    textElement('AcctSvcrRef', shorten(entry.journal_id)),
    element('BkTxCd', [
      element('Domn', [
        textElement('Cd', domain),
        element('Fmly', [textElement('Cd', family), textElement('SubFmlyCd', subFamily)]),
      ]),
      element('Prtry', [textElement('Cd', kind), textElement('Issr', 'outlay')]),
    ]),
    writeDetails(entry),
  ]);
}

/** Replaces characters that XML cannot hold (XML 1.0, production 2). */
function keepXmlText(text: string): string {
  return text.replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd');
}

/** The payout or the batch that the entry belongs to. */
function writeDetails({ payout_id: payout, batch_id: batch, ...entry }: StatementEntry) {
  if (payout !== null) {
    const transfer = optionalText('Ustrd', keepXmlText(entry.client_transfer_id ?? ''));
    return element('NtryDtls', [
      element('TxDtls', [
        element('Refs', [textElement('EndToEndId', shorten(payout))]),
        transfer === undefined ? undefined : element('RmtInf', [transfer]),
        textElement('AddtlTxInf', formatToken('payout', payout)),
      ]),
    ]);
  }
  if (batch === null) return undefined;
  const details = [textElement('AddtlTxInf', formatToken('batch', batch))];
  return element('NtryDtls', [element('TxDtls', details)]);
}
