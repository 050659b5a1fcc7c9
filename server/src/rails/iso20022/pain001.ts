import { createHash } from 'node:crypto';
import { formatFixedAmount } from '../kit/amounts.ts';
import { type Config, type Debtor, isEeaCountry } from './config.ts';
import { toLatinText } from './latin-text.ts';
import { sumTransfers, writeAddress, writeDetails } from './message-parts.ts';
import { isSepaService, type Transfer } from './transfer.ts';
import { element, optionalText, textElement, writeDocument } from './xml.ts';

/**
 * Customer credit transfer initiation, pain.001.001.09 and .10: the elements that both versions have,
 * in the order of both, within the stricter rules that banks publish for SEPA. `xsd.external.test.ts`
 * validates such files against the schemas of ISO 20022.
 */

export type PaymentGroup = {
  /** PmtInfId. */
  readonly id: string;
  readonly debtor: Debtor;
  readonly currency: string;
  readonly transfers: readonly Transfer[];
};

export type PaymentFile = {
  readonly messageId: string;
  readonly createdAtMs: number;
  /** YYYY-MM-DD. */
  readonly executionDay: string;
  readonly groups: readonly PaymentGroup[];
};

/**
 * One group per debtor account, currency, service, charge bearer and category of purpose, in a fixed order. The ids are
 * functions of the references alone: after a restore from backup the same payments get the same ids,
 * and the bank recognizes a file that it has had already.
 */
export function groupTransfers(
  transfers: readonly Transfer[],
  { prefix }: { prefix: string },
): Pick<PaymentFile, 'messageId' | 'groups'> {
  const ordered = transfers.toSorted((left, right) => (left.reference < right.reference ? -1 : 1));
  const hash = createHash('sha256').update(ordered.map(({ reference }) => reference).join('\n'));
  const messageId = `${prefix}-${hash.digest('hex').slice(0, messageHashLength)}`;
  const byName = Map.groupBy(ordered, ({ debtor, currency, service, chargeBearer, category }) =>
    [debtor.key, currency, service, chargeBearer, category].join(' ').trimEnd(),
  );
  const groups: PaymentGroup[] = [];
  for (const name of [...byName.keys()].toSorted()) {
    const members = byName.get(name) ?? [];
    const [first] = members;
    if (first === undefined) continue;
    const id = `${messageId}-${groups.length + 1}`;
    groups.push({ id, debtor: first.debtor, currency: first.currency, transfers: members });
  }
  return { messageId, groups };
}

/** 80 bits. With the longest prefix and the number of a group an id has 34 of 35 characters. */
const messageHashLength = 20;

export function writePaymentFile(file: PaymentFile, config: Config): string {
  const transfers = file.groups.flatMap((group) => group.transfers);
  const { initiatingParty, version } = config;
  const header = element('GrpHdr', [
    textElement('MsgId', file.messageId),
    textElement('CreDtTm', `${new Date(file.createdAtMs).toISOString().slice(0, 19)}Z`),
    textElement('NbOfTxs', String(transfers.length)),
    textElement('CtrlSum', sumTransfers(transfers)),
    element('InitgPty', [
      textElement('Nm', toLatinText(initiatingParty.name, 70)),
      initiatingParty.id === ''
        ? undefined
        : element('Id', [
            element('OrgId', [element('Othr', [textElement('Id', initiatingParty.id)])]),
          ]),
    ]),
  ]);
  const groups = file.groups.map((group) => writeGroup(group, { file, config }));
  const body = element('CstmrCdtTrfInitn', [header, ...groups]);
  return writeDocument(version, body);
}

function writeGroup(
  group: PaymentGroup,
  { file, config }: { file: PaymentFile; config: Config },
): string {
  const { debtor, transfers } = group;
  const [first] = transfers;
  if (first === undefined) throw new Error(`the group ${group.id} is empty`);
  return element('PmtInf', [
    textElement('PmtInfId', group.id),
    textElement('PmtMtd', 'TRF'),
    textElement('BtchBookg', String(config.batchBooking)),
    textElement('NbOfTxs', String(transfers.length)),
    textElement('CtrlSum', sumTransfers(transfers)),
    writePaymentType(first),
    element('ReqdExctnDt', [textElement('Dt', file.executionDay)]),
    element('Dbtr', [
      textElement('Nm', toLatinText(debtor.name, 70)),
      writeDebtorAddress(group, config.version),
    ]),
    element('DbtrAcct', [
      element('Id', [writeAccount(debtor.iban, debtor.account)]),
      optionalText('Ccy', debtor.accountCurrency),
    ]),
    element('DbtrAgt', [element('FinInstnId', [writeDebtorBank(debtor)])]),
    textElement('ChrgBr', first.chargeBearer),
    ...transfers.map(writeTransfer),
  ]);
}

function writePaymentType({ service, category }: Transfer): string | undefined {
  const children = [
    isSepaService(service) ? element('SvcLvl', [textElement('Cd', 'SEPA')]) : undefined,
    service === 'sepa_instant' ? element('LclInstrm', [textElement('Cd', 'INST')]) : undefined,
    category === '' ? undefined : element('CtgyPurp', [textElement('Cd', category)]),
  ];
  return children.every((child) => child === undefined) ? undefined : element('PmtTpInf', children);
}

/**
 * With town and country, or none: banks accept no other address. The forms that banks published for
 * SEPA in version 09 have no town, so that the address is left out there, unless a recipient outside
 * of the European Economic Area requires it.
 */
function writeDebtorAddress(
  { debtor, transfers }: PaymentGroup,
  version: Config['version'],
): string | undefined {
  const isWithin = transfers.every(
    ({ service, account }) =>
      isSepaService(service) && account.kind === 'iban' && isEeaCountry(account.iban.slice(0, 2)),
  );
  if (debtor.country === '' || (isWithin && version === 'pain.001.001.09')) return undefined;
  return element('PstlAdr', [
    textElement('TwnNm', toLatinText(debtor.town, 35)),
    textElement('Ctry', debtor.country),
  ]);
}

function writeDebtorBank(debtor: Debtor): string {
  if (debtor.bic !== '') return textElement('BICFI', debtor.bic);
  return element('Othr', [textElement('Id', 'NOTPROVIDED')]);
}

function writeAccount(iban: string, other: string): string {
  if (iban !== '') return textElement('IBAN', iban);
  return element('Othr', [
    textElement('Id', other),
    element('SchmeNm', [textElement('Cd', 'BBAN')]),
  ]);
}

function writeTransfer(transfer: Transfer): string {
  const { account, creditorAddress, originator } = transfer;
  return element('CdtTrfTxInf', [
    // Banks that reject a payment unread name it by InstrId alone.
    element('PmtId', [
      textElement('InstrId', transfer.reference),
      textElement('EndToEndId', transfer.reference),
      optionalText('UETR', transfer.uetr),
    ]),
    element('Amt', [
      textElement('InstdAmt', formatFixedAmount(transfer.amountMinor, transfer.currency), {
        Ccy: transfer.currency,
      }),
    ]),
    originator === '' ? undefined : element('UltmtDbtr', [textElement('Nm', originator)]),
    writeAgent(transfer),
    element('Cdtr', [
      textElement('Nm', transfer.creditorName),
      creditorAddress === undefined ? undefined : writeAddress(creditorAddress),
    ]),
    element('CdtrAcct', [
      element('Id', [
        account.kind === 'iban' ? writeAccount(account.iban, '') : writeAccount('', account.id),
      ]),
    ]),
    ...writeDetails(transfer),
  ]);
}

function writeAgent({ agent, service }: Transfer): string | undefined {
  const { bic, clearing, name } = agent;
  if (isSepaService(service)) {
    // Inside SEPA the IBAN suffices; a BIC that the stricter form does not allow is left out.
    const isKnownForm = /^[A-Z]{6}[A-Z2-9][A-NP-Z0-9](?:[A-Z0-9]{3})?$/.test(bic);
    return isKnownForm
      ? element('CdtrAgt', [element('FinInstnId', [textElement('BICFI', bic)])])
      : undefined;
  }
  if (bic === '' && clearing === undefined) return undefined;
  return element('CdtrAgt', [
    element('FinInstnId', [
      optionalText('BICFI', bic),
      clearing === undefined
        ? undefined
        : element('ClrSysMmbId', [
            element('ClrSysId', [textElement('Cd', clearing.system)]),
            textElement('MmbId', clearing.member),
          ]),
      optionalText('Nm', name),
    ]),
  ]);
}
