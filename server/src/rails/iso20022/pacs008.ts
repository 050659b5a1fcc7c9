import { formatFixedAmount } from '../kit/amounts.ts';
import type { Config } from './config.ts';
import { toLatinText } from './latin-text.ts';
import { sumTransfers, writeAddress, writeDetails } from './message-parts.ts';
import type { PaymentFile } from './pain001.ts';
import type { Transfer } from './transfer.ts';
import { element, optionalText, textElement, writeDocument } from './xml.ts';

/**
 * Credit transfers between banks, pacs.008.001.09, in the shapes of FedNow and RTP: a bank that is a
 * member takes them from us and passes them on in its own name. One message has one payment.
 */

type Scheme = NonNullable<Config['scheme']>;

type Profile = {
  /** ExternalCashClearingSystem1Code. */
  readonly clearingSystem: string;
  readonly serviceLevel: string;
  /** Proprietary. */
  readonly localInstrument: string;
};

const profiles: Readonly<Record<Scheme['profile'], Profile>> = {
  fednow: { clearingSystem: 'FDN', serviceLevel: '', localInstrument: 'FDNA' },
  rtp: { clearingSystem: 'TCH', serviceLevel: 'SDVA', localInstrument: 'STANDARD' },
};

export function writeSchemeMessage(file: PaymentFile, scheme: Scheme): string {
  const [group] = file.groups;
  const [transfer, ...others] = file.groups.flatMap(({ transfers }) => transfers);
  if (group === undefined || transfer === undefined || others.length > 0)
    throw new Error(`the message ${file.messageId} must hold one payment`);
  const { clearingSystem } = profiles[scheme.profile];
  const header = element('GrpHdr', [
    textElement('MsgId', file.messageId),
    textElement('CreDtTm', `${new Date(file.createdAtMs).toISOString().slice(0, 19)}Z`),
    textElement('NbOfTxs', '1'),
    textElement('CtrlSum', sumTransfers([transfer])),
    element('SttlmInf', [
      textElement('SttlmMtd', 'CLRG'),
      element('ClrSys', [textElement('Cd', clearingSystem)]),
    ]),
  ]);
  const body = element('FIToFICstmrCdtTrf', [header, writeTransfer(transfer, { file, scheme })]);
  return writeDocument('pacs.008.001.09', body);
}

function writeTransfer(
  transfer: Transfer,
  { file, scheme }: { file: PaymentFile; scheme: Scheme },
): string {
  const { reference, currency, amountMinor, debtor, creditorAddress, originator } = transfer;
  const { clearing } = transfer.agent;
  const { account } = transfer;
  if (clearing === undefined || account.kind !== 'other')
    throw new Error(`the payment ${reference} names no account of the scheme`);
  const ourBank = writeMember(scheme.routingNumber);
  const theirBank = writeMember(clearing.member);
  return element('CdtTrfTxInf', [
    element('PmtId', [
      textElement('InstrId', reference),
      textElement('EndToEndId', reference),
      textElement('TxId', reference),
      textElement('UETR', transfer.uetr),
    ]),
    writePaymentType(transfer, profiles[scheme.profile]),
    textElement('IntrBkSttlmAmt', formatFixedAmount(amountMinor, currency), { Ccy: currency }),
    textElement('IntrBkSttlmDt', file.executionDay),
    textElement('ChrgBr', transfer.chargeBearer),
    element('InstgAgt', [ourBank]),
    element('InstdAgt', [theirBank]),
    originator === '' ? undefined : element('UltmtDbtr', [textElement('Nm', originator)]),
    element('Dbtr', [
      textElement('Nm', toLatinText(debtor.name, 140)),
      element('PstlAdr', [
        textElement('TwnNm', toLatinText(debtor.town, 35)),
        textElement('Ctry', debtor.country),
      ]),
    ]),
    element('DbtrAcct', [writeOther(debtor.account)]),
    element('DbtrAgt', [ourBank]),
    element('CdtrAgt', [theirBank]),
    element('Cdtr', [
      textElement('Nm', transfer.creditorName),
      creditorAddress === undefined ? undefined : writeAddress(creditorAddress),
    ]),
    element('CdtrAcct', [writeOther(account.id)]),
    ...writeDetails(transfer),
  ]);
}

function writePaymentType({ category }: Transfer, profile: Profile): string {
  const { serviceLevel, localInstrument } = profile;
  return element('PmtTpInf', [
    serviceLevel === '' ? undefined : element('SvcLvl', [textElement('Cd', serviceLevel)]),
    element('LclInstrm', [textElement('Prtry', localInstrument)]),
    category === '' ? undefined : element('CtgyPurp', [optionalText('Cd', category)]),
  ]);
}

function writeMember(routingNumber: string): string {
  return element('FinInstnId', [
    element('ClrSysMmbId', [
      element('ClrSysId', [textElement('Cd', 'USABA')]),
      textElement('MmbId', routingNumber),
    ]),
  ]);
}

function writeOther(account: string): string {
  return element('Id', [element('Othr', [textElement('Id', account)])]);
}
