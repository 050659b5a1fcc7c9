import { isSEPACountry } from 'ibantools';
import { findCountry } from '../../core/country.ts';
import { findCurrency, getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import type { RecipientFault } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import type { Reason } from '../contract/reasons.ts';
import { type Account, readAccount } from './account.ts';
import { type Config, type Debtor, isEeaCountry } from './config.ts';
import { toLatinText } from './latin-text.ts';
import type { PaymentOrder } from './orders.ts';
import {
  deriveUetr,
  listReportingFaults,
  type Purpose,
  type RegulatoryReport,
  readCategory,
  readPurpose,
  readRegulatoryReport,
} from './purpose.ts';
import {
  type Address,
  type Agent,
  listAddressFaults,
  listAgentFaults,
  listNameFaults,
  nameCreditor,
  readAddress,
  readAgent,
} from './recipient.ts';

/** The credit transfer of an instruction, or the faults for which there is none. */

export const services = ['scheme', 'sepa_instant', 'sepa', 'cross_border'] as const;
export type Service = (typeof services)[number];

export type Transfer = {
  readonly reference: string;
  readonly service: Service;
  readonly debtor: Debtor;
  readonly currency: string;
  readonly amountMinor: bigint;
  readonly creditorName: string;
  /** Undefined inside SEPA, where banks need none. */
  readonly creditorAddress: Address | undefined;
  readonly account: Account;
  readonly agent: Agent;
  readonly chargeBearer: 'SLEV' | 'DEBT' | 'CRED' | 'SHAR';
  readonly purpose: Purpose | undefined;
  /** CtgyPurp, or "". */
  readonly category: string;
  readonly regulatoryReport: RegulatoryReport | undefined;
  /** "" where the form of the bank has no place for it. */
  readonly uetr: string;
  readonly originator: string;
  readonly remittance: string;
};

/** A fault, with the reason that the payout gets. */
export type DraftFault = RecipientFault & { readonly reason: Reason };

export type Draft =
  | { readonly ok: true; readonly transfer: Transfer }
  | { readonly ok: false; readonly faults: readonly [DraftFault, ...DraftFault[]] };

export type DraftSettings = {
  readonly config: Config;
  readonly payers: readonly PayerDeclaration[];
};

/** Of a SEPA credit transfer, in euro. */
const sepaAmountMax = '999999999.99';
/** Digits of an amount in the messages, before and after the decimal point. */
const amountDigitsMax = 18;

export function draftTransfer(order: PaymentOrder, { config, payers }: DraftSettings): Draft {
  const options = payers.find(({ key }) => key === order.payerKey)?.options ?? {};
  const debtor = findDebtor(order.currency, { config, wanted: options['debtor'] });
  if (debtor === undefined) {
    const detail = 'no debtor account of the rail is configured for this currency';
    return refuse({ field: 'currency', code: 'not_served', reason: 'currency_refused', detail });
  }
  const country = findCountry(order.countryCode);
  if (country === undefined) {
    const detail = 'the country is unknown';
    return refuse({ field: 'country', code: 'not_served', reason: 'payer_unavailable', detail });
  }
  const account = readAccount(order.attributes['BankAccountNumber'], country.alpha2);
  if ('fault' in account) {
    // Without the account the service is unknown, and so whether an address is needed.
    const name = nameCreditor(order, 140);
    return { ok: false, faults: [account.fault, ...listNameFaults(order, name)] };
  }
  const agent = readAgent(order);
  const service =
    config.scheme === undefined
      ? chooseService(order, { debtor, account, wanted: options['service'] })
      : chooseScheme(order, { account, agent });
  if (service === undefined) return refuse(config.scheme === undefined ? notInstant : notOfScheme);
  const isSepa = isSepaService(service);
  const creditorName = nameCreditor(order, isSepa ? 70 : 140);
  const address = readAddress(order, country.alpha2);
  const [fault, ...others] = [
    ...listAmountFaults(order.amountMinor, { service, config }),
    ...listDebtorFaults(debtor, account),
    ...listAgentFaults(agent, { account, country: country.alpha2, isSepa }),
    ...listNameFaults(order, creditorName),
    ...(isSepa ? [] : listAddressFaults(order, address)),
    ...(isSepa ? [] : listReportingFaults(order, config)),
  ];
  if (fault !== undefined) return { ok: false, faults: [fault, ...others] };
  const originator = toLatinText(order.originator.name, 70);
  return {
    ok: true,
    transfer: {
      reference: order.reference,
      service,
      debtor,
      currency: order.currency,
      amountMinor: order.amountMinor,
      creditorName,
      creditorAddress: isSepa ? undefined : address,
      account,
      agent,
      chargeBearer: chooseBearer(options['chargeBearer'], { service, config }),
      purpose: readPurpose(order, { config, isSepa }),
      category: readCategory(order, config),
      regulatoryReport: isSepa ? undefined : readRegulatoryReport(order, config),
      uetr: deriveUetr(order.reference, { service, config }),
      originator,
      remittance: toLatinText(
        config.remittanceText
          .replaceAll('{reference}', order.reference)
          .replaceAll('{originator}', originator),
        140,
      ),
    },
  };
}

function refuse(fault: DraftFault): Draft {
  return { ok: false, faults: [fault] };
}

function findDebtor(
  code: string,
  { config, wanted }: { config: Config; wanted: string | undefined },
): Debtor | undefined {
  const currency = findCurrency(code);
  if (currency === undefined || currency.isCrypto) return undefined;
  return config.debtors.find(
    ({ key, currencies }) => (wanted ?? key) === key && currencies.includes(code),
  );
}

/** Inside a scheme each party pays its own bank. */
function chooseBearer(
  wanted: string | undefined,
  { service, config }: { service: Service; config: Config },
): Transfer['chargeBearer'] {
  if (service !== 'cross_border') return 'SLEV';
  return isChargeBearer(wanted) ? wanted : config.chargeBearer;
}

function isChargeBearer(text: string | undefined): text is 'DEBT' | 'CRED' | 'SHAR' {
  return text === 'DEBT' || text === 'CRED' || text === 'SHAR';
}

/**
 * Banks need the payer's address on transfers that leave the European Economic Area (Regulation (EU)
 * 2023/1113, articles 4 and 5). The configuration lets a debtor in it have none.
 */
function listDebtorFaults({ country }: Debtor, account: Account): DraftFault[] {
  const isWithin = account.kind === 'iban' && isEeaCountry(account.iban.slice(0, 2));
  if (country !== '' || isWithin) return [];
  const detail = 'the debtor account has no address, which banks need outside of the EEA';
  return [{ field: 'country', code: 'not_served', reason: 'payer_unavailable', detail }];
}

function listAmountFaults(
  amountMinor: bigint,
  { service, config }: { service: Service; config: Config },
): DraftFault[] {
  const max = findAmountMax({ service, config });
  const isTooLong = amountMinor.toString().length > amountDigitsMax;
  const isTooLarge =
    max !== undefined && amountMinor > getAmountMinor(max.amount, getCurrency(max.currency));
  if (amountMinor > 0n && !isTooLong && !isTooLarge) return [];
  const detail =
    max === undefined
      ? `the amount must be positive and have at most ${amountDigitsMax} digits`
      : `the amount must be 0.01 to ${max.amount} ${max.currency}`;
  return [{ field: 'amount', code: 'amount_refused', reason: 'amount_refused', detail }];
}

function findAmountMax({ service, config }: { service: Service; config: Config }) {
  const { instant, scheme } = config;
  if (service === 'scheme') {
    const { amountMax = '' } = scheme ?? {};
    return amountMax === '' ? undefined : { amount: amountMax, currency: 'USD' };
  }
  if (!isSepaService(service)) return undefined;
  const own = service === 'sepa_instant' ? instant.amountMax : '';
  return { amount: own === '' ? sepaAmountMax : own, currency: 'EUR' };
}

/** Inside SEPA, where the rules and the schema of its messages apply. */
export function isSepaService(service: Service): boolean {
  return service === 'sepa' || service === 'sepa_instant';
}

/** Confirmed within seconds: due at once, alone in its file, and unknown after silence. */
export function isInstantService(service: Service): boolean {
  return service === 'sepa_instant' || service === 'scheme';
}

const notOfScheme: DraftFault = {
  field: 'BankRoutingNumber',
  code: 'not_served',
  reason: 'payer_unavailable',
  detail: 'the scheme pays US dollars to accounts of the United States with a routing number',
};

function chooseScheme(
  order: PaymentOrder,
  { account, agent }: { account: Account; agent: Agent },
): Service | undefined {
  const isServed = order.currency === 'USD' && order.countryCode === 'USA';
  return isServed && account.kind === 'other' && agent.clearing?.system === 'USABA'
    ? 'scheme'
    : undefined;
}

/**
 * Countries that joined SEPA after the library's data: Albania, Moldova, Montenegro and North
 * Macedonia, operational in October 2025, and Serbia on May 5, 2026 (European Payments Council,
 * geographical scope of the schemes; National Bank of Serbia, "SEPA in the Republic of Serbia").
 */
const joinedSepa: ReadonlySet<string> = new Set(['AL', 'MD', 'ME', 'MK', 'RS']);

/** Whether accounts with these first letters of an IBAN are reached by SEPA credit transfers. */
function isSepaIban(iban: string): boolean {
  const owner = iban.slice(0, 2);
  return isSEPACountry(owner) || joinedSepa.has(owner);
}

/** The banks of the countries that joined late take part in the credit transfer scheme first. */
function isInstantIban(iban: string): boolean {
  return isSEPACountry(iban.slice(0, 2));
}

const notInstant: DraftFault = {
  field: 'BankAccountNumber',
  code: 'not_served',
  reason: 'payer_unavailable',
  detail: 'an instant payment must be in euro, to an IBAN of a country of SEPA',
};

/** Undefined where an instant payment is wanted and impossible: it never goes another way. */
function chooseService(
  order: PaymentOrder,
  choice: { debtor: Debtor; account: Account; wanted: string | undefined },
): Service | undefined {
  const { debtor, account, wanted } = choice;
  const isEuro = order.currency === 'EUR' && account.kind === 'iban';
  if (wanted === 'instant') {
    const isPossible = isEuro && [account.iban, debtor.iban].every(isInstantIban);
    return isPossible ? 'sepa_instant' : undefined;
  }
  const isPossible = isEuro && [account.iban, debtor.iban].every(isSepaIban);
  return isPossible && wanted !== 'cross_border' ? 'sepa' : 'cross_border';
}
