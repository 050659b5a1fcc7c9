import { isValidBIC } from 'ibantools';
import { isBicOfCountry } from '../../core/bank-countries.ts';
import { findCountry } from '../../core/country.ts';
import type { RecipientFault } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import type { Account } from './account.ts';
import { type ClearingMember, findClearingMember } from './codes.ts';
import { hasUnwritable, toLatinText } from './latin-text.ts';
import type { PaymentOrder } from './orders.ts';

/** The recipient of a transfer: bank, name and address, with their faults. */

/** `bic` is "" where the clearing code or the IBAN identifies the bank. */
export type Agent = {
  readonly bic: string;
  readonly clearing: ClearingMember | undefined;
  readonly name: string;
};

export type Address = {
  readonly street: string;
  /** The part of the street that does not fit; mostly "". */
  readonly building: string;
  readonly postalCode: string;
  readonly town: string;
  readonly subdivision: string;
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
};

type Fault = RecipientFault & { readonly reason: Reason };

function invalid(field: string, detail: string): Fault {
  return { field, code: 'invalid', reason: 'invalid_details', detail };
}

function missing(field: string, detail: string): Fault {
  return { field, code: 'missing', reason: 'invalid_details', detail };
}

export function readAgent(order: PaymentOrder): Agent {
  return {
    bic: (order.attributes['SWIFT'] ?? '').replaceAll(' ', '').toUpperCase(),
    clearing: findClearingMember(order.countryCode, order.attributes),
    name: toLatinText(order.attributes['BankName'] ?? '', 140),
  };
}

/** Countries whose IBANs begin, after the check digits, with the first four letters of the BIC. */
const countriesWithBicInIban = new Set(['GB', 'IE', 'NL']);

export function listAgentFaults(
  { bic, clearing }: Agent,
  about: { account: Account; country: string; isSepa: boolean },
): Fault[] {
  const { account, country, isSepa } = about;
  if (bic === '') {
    // An IBAN identifies its bank, any other account number does not.
    if (isSepa || clearing !== undefined || account.kind === 'iban') return [];
    const detail = "the recipient's bank is missing: a SWIFT/BIC, or the code of the bank";
    return [{ field: 'SWIFT', code: 'missing', reason: 'payer_unavailable', detail }];
  }
  if (!isValidBIC(bic)) return [invalid('SWIFT', 'the SWIFT/BIC is invalid')];
  const owner = account.kind === 'iban' ? account.iban.slice(0, 2) : country;
  const isOtherBank =
    account.kind === 'iban' &&
    countriesWithBicInIban.has(owner) &&
    account.iban.slice(4, 8) !== bic.slice(0, 4);
  if (isBicOfCountry(bic, owner) && !isOtherBank) return [];
  return [invalid('SWIFT', 'the SWIFT/BIC is of another bank than the account')];
}

/** The fields that the name is taken from, with their values. */
function listNames({ attributes, beneficiary }: PaymentOrder): readonly [string, string][] {
  const { firstName, middleName, lastName, businessName } = beneficiary;
  const holder = attributes['BankAccountName'] ?? '';
  if (holder !== '') return [['BankAccountName', holder]];
  if (businessName !== '') return [['business_name', businessName]];
  const names: [string, string][] = [
    ['first_name', firstName],
    ['middle_name', middleName],
    ['last_name', lastName],
  ];
  return names.filter(([, name]) => name !== '');
}

export function nameCreditor(order: PaymentOrder, lengthMax: number): string {
  const names = listNames(order).map(([, name]) => name);
  const name = toLatinText(names.join(' '), lengthMax);
  // A name that cannot be transliterated leaves punctuation alone.
  return /[A-Za-z0-9]/.test(name) ? name : '';
}

export function listNameFaults(order: PaymentOrder, creditorName: string): Fault[] {
  const names = listNames(order);
  const detail = 'it must consist of letters that can be written in Latin script';
  const faults = names
    .filter(([, name]) => hasUnwritable(name))
    .map(([field]) => invalid(field, detail));
  if (faults.length > 0 || creditorName !== '') return faults;
  const [field = 'last_name'] = names[0] ?? [];
  return [missing(field, "the recipient's name is missing")];
}

/** The texts of the recipient's address, with the fields that they come from. */
function listAddressTexts({ attributes, beneficiary }: PaymentOrder) {
  const isAsked = (attributes['Address1'] ?? '') !== '';
  const choose = (type: string, name: string, own: string): { field: string; text: string } => {
    const text = attributes[type] ?? '';
    return text === '' ? { field: name, text: own } : { field: type, text };
  };
  return {
    street: choose('Address1', 'address1', beneficiary.address1),
    // The second line of the user belongs to the user's first line.
    second: { field: 'address2', text: isAsked ? '' : beneficiary.address2 },
    postalCode: choose('PostalCode', 'postal_code', beneficiary.postalCode),
    town: choose('City', 'city', beneficiary.city),
    subdivision: { field: 'state_province', text: beneficiary.stateProvince },
  };
}

const streetLengthMax = 70;

/** Structured: since November 2026 banks accept no address without town and country. */
export function readAddress(order: PaymentOrder, alpha2: string): Address {
  const { street, second, postalCode, town, subdivision } = listAddressTexts(order);
  const lines = [street.text, second.text].filter((line) => line !== '').join(', ');
  const joined = toLatinText(lines, streetLengthMax + 1);
  const isFitting = joined.length <= streetLengthMax;
  return {
    street: isFitting ? joined : toLatinText(street.text, streetLengthMax),
    building: isFitting ? '' : toLatinText(second.text, 35),
    postalCode: toLatinText(postalCode.text, 16),
    town: toLatinText(town.text, 35),
    subdivision: toLatinText(subdivision.text, 35),
    country: findCountry(order.beneficiary.countryCode)?.alpha2 ?? alpha2,
  };
}

export function listAddressFaults(order: PaymentOrder, { town }: Address): Fault[] {
  const texts = listAddressTexts(order);
  const detail = 'it must consist of letters that can be written in Latin script';
  const faults = Object.values(texts)
    .filter(({ text }) => hasUnwritable(text))
    .map(({ field }) => invalid(field, detail));
  if (faults.some(({ field }) => field === texts.town.field) || town !== '') return faults;
  return [...faults, missing('city', 'banks need the town of the recipient')];
}
