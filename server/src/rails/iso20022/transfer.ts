import { getCountrySpecifications, isSEPACountry, isValidBIC, isValidIBAN } from 'ibantools';
import { z } from 'zod';
import { findCountry } from '../../core/country.ts';
import { findCurrency } from '../../core/currency.ts';
import type { Instruction } from '../contract.ts';
import type { PayerDeclaration } from '../declarations.ts';
import type { Reason } from '../reasons.ts';
import { type ClearingMember, findClearingMember, findIn, findPurpose } from './codes.ts';
import type { Config, Debtor } from './config.ts';
import { toLatinText } from './latin-text.ts';

/** The credit transfer that follows from an instruction, or why there is none. */

export type Service = 'sepa' | 'cross_border';

export type Transfer = {
  readonly reference: string;
  readonly service: Service;
  readonly debtor: Debtor;
  readonly currency: string;
  readonly amountMinor: bigint;
  readonly creditorName: string;
  /** Undefined where nothing is known, and inside SEPA, where banks need none. */
  readonly creditorAddress: Address | undefined;
  readonly account:
    | { readonly kind: 'iban'; readonly iban: string }
    | { readonly kind: 'other'; readonly id: string };
  /** The bank of the creditor; `bic` is "" where the clearing names it, or the IBAN alone does. */
  readonly agent: {
    readonly bic: string;
    readonly clearing: ClearingMember | undefined;
    readonly name: string;
  };
  readonly chargeBearer: 'SLEV' | 'DEBT' | 'CRED' | 'SHAR';
  readonly purpose: { readonly code: string } | { readonly proprietary: string } | undefined;
  readonly originator: string;
  readonly remittance: string;
};

export type Address = {
  readonly street: string;
  readonly postalCode: string;
  readonly town: string;
  readonly subdivision: string;
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
};

/** What of an instruction is needed until it is in a file. */
export type PaymentOrder = Pick<
  Instruction,
  | 'reference'
  | 'payerKey'
  | 'countryCode'
  | 'currency'
  | 'amountMinor'
  | 'attributes'
  | 'beneficiary'
  | 'originator'
>;

/** As the rail's memory keeps it. */
export const storedOrderSchema = z.object({
  reference: z.string(),
  payerKey: z.string(),
  countryCode: z.string(),
  currency: z.string(),
  amountMinor: z.string().transform((text) => BigInt(text)),
  attributes: z.record(z.string(), z.string()),
  beneficiary: z.object({
    firstName: z.string(),
    middleName: z.string(),
    lastName: z.string(),
    businessName: z.string(),
    address1: z.string(),
    address2: z.string(),
    city: z.string(),
    stateProvince: z.string(),
    postalCode: z.string(),
    countryCode: z.string(),
    email: z.string(),
    mobileNumber: z.string(),
    dateOfBirth: z.string(),
  }),
  originator: z.object({ accountId: z.string(), name: z.string() }),
});

export function storeOrder(order: PaymentOrder): z.input<typeof storedOrderSchema> {
  const { reference, payerKey, countryCode, currency, attributes, originator } = order;
  return {
    reference,
    payerKey,
    countryCode,
    currency,
    amountMinor: order.amountMinor.toString(),
    attributes: { ...attributes },
    // Neither bank nor rail needs to know how to reach the person, or their age.
    beneficiary: { ...order.beneficiary, email: '', mobileNumber: '', dateOfBirth: '' },
    originator: { ...originator },
  };
}

export type Draft =
  | { readonly ok: true; readonly transfer: Transfer }
  | { readonly ok: false; readonly reason: Reason };

export type DraftSettings = {
  readonly config: Config;
  readonly payers: readonly PayerDeclaration[];
};

/** The most that a SEPA credit transfer carries: 999,999,999.99 euro. */
const sepaAmountMinorMax = 99_999_999_999n;

export function draftTransfer(order: PaymentOrder, { config, payers }: DraftSettings): Draft {
  const options = payers.find(({ key }) => key === order.payerKey)?.options ?? {};
  const debtor = config.debtors.find(({ key, currencies }) =>
    options['debtor'] === undefined
      ? currencies.includes(order.currency)
      : key === options['debtor'] && currencies.includes(order.currency),
  );
  const currency = findCurrency(order.currency);
  if (debtor === undefined || currency === undefined || currency.isCrypto) {
    return refuse('currency_refused');
  }
  const country = findCountry(order.countryCode);
  if (country === undefined) return refuse('payer_unavailable');
  if (order.amountMinor <= 0n) return refuse('amount_refused');
  const account = readAccount(order.attributes['BankAccountNumber'] ?? '', country.alpha2);
  if (account === undefined) return refuse('invalid_details');
  const service = chooseService(order, { debtor, account, wanted: options['service'] });
  const isSepa = service === 'sepa';
  if (isSepa && order.amountMinor > sepaAmountMinorMax) return refuse('amount_refused');
  const creditorName = nameCreditor(order, isSepa ? 70 : 140);
  if (creditorName === '') return refuse('invalid_details');
  const agent = readAgent(order);
  if (agent === undefined) return refuse('invalid_details');
  if (!isSepa && agent.bic === '' && agent.clearing === undefined) {
    // An IBAN names its bank, any other account number does not.
    if (account.kind !== 'iban') return refuse('payer_unavailable');
  }
  const bearer = options['chargeBearer'];
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
      creditorAddress: isSepa ? undefined : readAddress(order, country.alpha2),
      account,
      agent,
      chargeBearer: isSepa ? 'SLEV' : isChargeBearer(bearer) ? bearer : config.chargeBearer,
      purpose: readPurpose(order, { config, isSepa }),
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

function refuse(reason: Reason): Draft {
  return { ok: false, reason };
}

function isChargeBearer(text: string | undefined): text is 'DEBT' | 'CRED' | 'SHAR' {
  return text === 'DEBT' || text === 'CRED' || text === 'SHAR';
}

const specifications = getCountrySpecifications();

/** Undefined where the text cannot be an account of the country. */
function readAccount(text: string, alpha2: string): Transfer['account'] | undefined {
  const id = text.replaceAll(' ', '').toUpperCase();
  if (isValidIBAN(id)) return { kind: 'iban', iban: id };
  const owner = id.slice(0, 2);
  const wantsToBeIban = /^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/.test(id);
  // What looks like an IBAN of its country and is none has a wrong digit, and must not be paid as it is.
  if (wantsToBeIban && owner === alpha2 && specifications[owner]?.IBANRegistry) return undefined;
  return /^[A-Z0-9][A-Z0-9/-]{0,33}$/.test(id) ? { kind: 'other', id } : undefined;
}

/** An account number as it is compared and written. */
export function normalizeAccount(text: string | undefined): string {
  return (text ?? '').replaceAll(' ', '').toUpperCase();
}

function chooseService(
  order: PaymentOrder,
  choice: { debtor: Debtor; account: Transfer['account']; wanted: string | undefined },
): Service {
  const { debtor, account, wanted } = choice;
  const isPossible =
    order.currency === 'EUR' &&
    account.kind === 'iban' &&
    isSEPACountry(account.iban.slice(0, 2)) &&
    debtor.iban !== '' &&
    isSEPACountry(debtor.iban.slice(0, 2));
  return isPossible && wanted !== 'cross_border' ? 'sepa' : 'cross_border';
}

function nameCreditor(order: PaymentOrder, lengthMax: number): string {
  const { firstName, middleName, lastName, businessName } = order.beneficiary;
  const holder = order.attributes['BankAccountName'] ?? '';
  const person = [firstName, middleName, lastName].filter((part) => part !== '').join(' ');
  const name = toLatinText(holder || businessName || person, lengthMax);
  // Punctuation alone is what is left of a name that could not be written.
  return /[A-Za-z0-9]/.test(name) ? name : '';
}

/** Undefined where a BIC is given that is none. */
function readAgent(order: PaymentOrder): Transfer['agent'] | undefined {
  const bic = (order.attributes['SWIFT'] ?? '').replaceAll(' ', '').toUpperCase();
  if (bic !== '' && !isValidBIC(bic)) return undefined;
  return {
    bic,
    clearing: findClearingMember(order.countryCode, order.attributes),
    name: toLatinText(order.attributes['BankName'] ?? '', 140),
  };
}

/** Structured, with town and country: what banks ask for instead of lines of address. */
function readAddress(order: PaymentOrder, alpha2: string): Address {
  const { attributes, beneficiary } = order;
  const residence = findCountry(beneficiary.countryCode)?.alpha2 ?? alpha2;
  const street = attributes['Address1'] ?? beneficiary.address1;
  return {
    street: toLatinText(street, 70),
    postalCode: toLatinText(attributes['PostalCode'] ?? beneficiary.postalCode, 16),
    town: toLatinText(attributes['City'] ?? beneficiary.city, 35),
    subdivision: toLatinText(beneficiary.stateProvince, 35),
    country: residence,
  };
}

function readPurpose(
  order: PaymentOrder,
  { config, isSepa }: { config: Config; isSepa: boolean },
): Transfer['purpose'] {
  const given = order.attributes['RemittanceReason'] ?? '';
  if (given === '') return undefined;
  const code = findIn(config.purposeCodes, given) ?? findPurpose(given);
  if (code !== undefined) return { code };
  const proprietary = toLatinText(given, 35);
  // SEPA knows the codes of ISO alone.
  return isSepa || proprietary === '' ? undefined : { proprietary };
}
