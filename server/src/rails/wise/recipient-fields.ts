import { findCountry } from '../../core/country.ts';
import type { Beneficiary, RecipientFault } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import { emptyBeneficiary } from '../kit/recipient.ts';

/** Our attributes and users in the keys of Wise's recipient accounts. */

export type Recipient = {
  readonly payer: PayerDeclaration;
  readonly countryCode: string;
  readonly currency: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly beneficiary: Beneficiary;
};

/** A value, with the attribute or the member of the user that it comes from. */
export type FieldSource = { readonly field: string; readonly value: string };

/** Keys whose value is an attribute; Wise writes such numbers without hyphens and spaces. */
const attributeKeys: Readonly<Record<string, string>> = {
  IBAN: 'BankAccountNumber',
  iban: 'BankAccountNumber',
  accountNumber: 'BankAccountNumber',
  clabe: 'BankAccountNumber',
  cardNumber: 'BankAccountNumber',
  BIC: 'SWIFT',
  bic: 'SWIFT',
  swiftCode: 'SWIFT',
  sortCode: 'BankRoutingNumber',
  abartn: 'BankRoutingNumber',
  ifscCode: 'BankRoutingNumber',
  bsbCode: 'BankRoutingNumber',
  institutionNumber: 'BankRoutingNumber',
  bankCode: 'BankRoutingNumber',
  transitNumber: 'BankAccountBranchNumber',
  branchCode: 'BankAccountBranchNumber',
  cpf: 'IdentificationNumber',
  taxId: 'IdentificationNumber',
  rut: 'IdentificationNumber',
  idDocumentNumber: 'IdentificationNumber',
  idDocumentType: 'IdentificationType',
};

/** Attributes that are written as they are. */
const plainKeys: Readonly<Record<string, string>> = {
  bankName: 'BankName',
  accountType: 'BankAccountType',
};

/** Attribute types that `attribute.KEY` may name: those that mean the same to every counterparty. */
export const assignableTypes: ReadonlySet<string> = new Set([
  'BankAccountBranchNumber',
  'BankAccountNumber',
  'BankAccountType',
  'BankCity',
  'BankName',
  'BankRoutingNumber',
  'BankState',
  'BillReferenceNumber',
  'BirthCountry',
  'Country',
  'EmploymentAddress',
  'EmploymentName',
  'EmploymentOccupation',
  'Gender',
  'IdentificationExpiration',
  'IdentificationNumber',
  'IdentificationType',
  'MaidenName',
  'PhoneNumber',
  'Relationship',
  'RemittanceReason',
  'SecondLastName',
  'SocialSecurity',
  'SourceOfFunds',
  'SWIFT',
]);

export const assignmentPrefix = 'attribute.';

export type AttributeSource = { readonly type: string; readonly isCompact: boolean };

/** The attribute that fills a key; undefined: something else does, or nothing. */
export function findAttribute(key: string, payer: PayerDeclaration): AttributeSource | undefined {
  if (payer.options[`field.${key}`] !== undefined) return undefined;
  const assigned = payer.options[`${assignmentPrefix}${key}`];
  if (assigned !== undefined) return { type: assigned, isCompact: false };
  const compact = attributeKeys[key];
  if (compact !== undefined) return { type: compact, isCompact: true };
  const plain = plainKeys[key];
  return plain === undefined ? undefined : { type: plain, isCompact: false };
}

/** Undefined for a key that the rail knows no source of; "" where the source is empty. */
export function readField(key: string, recipient: Recipient): FieldSource | undefined {
  const { payer, attributes } = recipient;
  const fixed = payer.options[`field.${key}`];
  if (fixed !== undefined) return { field: key, value: fixed };
  const attribute = findAttribute(key, payer);
  if (attribute === undefined) return readPerson(key, recipient);
  const value = attributes[attribute.type] ?? '';
  const written = attribute.isCompact ? value.replaceAll(/[\s-]/g, '') : value;
  return { field: attribute.type, value: written };
}

/** Whether the rail has a source for the key, regardless of its value. */
export function isKnownKey(key: string, payer: PayerDeclaration): boolean {
  const nowhere = {
    payer,
    countryCode: '',
    currency: '',
    attributes: {},
    beneficiary: emptyBeneficiary,
  };
  return readField(key, nowhere) !== undefined;
}

function readPerson(key: string, recipient: Recipient): FieldSource | undefined {
  const { beneficiary, attributes, countryCode } = recipient;
  const choose = (type: string, field: string, own: string): FieldSource =>
    (attributes[type] ?? '') === ''
      ? { field, value: own }
      : { field: type, value: attributes[type] ?? '' };
  switch (key) {
    case 'accountHolderName':
      return nameHolder(recipient);
    case 'legalType':
      return {
        field: 'business_name',
        value: beneficiary.businessName === '' ? 'PRIVATE' : 'BUSINESS',
      };
    case 'email':
      return { field: 'email', value: beneficiary.email };
    case 'dateOfBirth':
      return { field: 'date_of_birth', value: beneficiary.dateOfBirth };
    case 'phoneNumber': {
      const { mobileNumber } = beneficiary;
      return { field: 'mobile_number', value: mobileNumber === '' ? '' : `+${mobileNumber}` };
    }
    case 'address.country':
    case 'country': {
      // The country of the user's address; without one, that of the account.
      const own = findCountry(beneficiary.countryCode) ?? findCountry(countryCode);
      return { field: 'country', value: own?.alpha2 ?? '' };
    }
    case 'address.state':
      return { field: 'state_province', value: beneficiary.stateProvince };
    case 'address.city':
    case 'town':
      return choose('City', 'city', beneficiary.city);
    case 'address.postCode':
      return choose('PostalCode', 'postal_code', beneficiary.postalCode);
    case 'address.firstLine': {
      const { address1, address2 } = beneficiary;
      const own = [address1, address2].filter((line) => line !== '').join(', ');
      return choose('Address1', 'address1', own);
    }
    default:
      return undefined;
  }
}

function nameHolder({ attributes, beneficiary }: Recipient): FieldSource {
  const holder = attributes['BankAccountName'] ?? '';
  if (holder !== '') return { field: 'BankAccountName', value: holder };
  const { businessName, firstName, middleName, lastName } = beneficiary;
  if (businessName !== '') return { field: 'business_name', value: businessName };
  const names = [firstName, middleName, lastName].filter((name) => name !== '');
  return { field: 'last_name', value: names.join(' ') };
}

/**
 * What a currency's accounts are made of, by the recipient types of Wise, where that is certain from
 * its description (POST /v1/accounts) and guides. The requirements of the route decide at the sending;
 * this table refuses earlier.
 */
export const accountKeys: Readonly<Record<string, readonly string[]>> = {
  AUD: ['bsbCode', 'accountNumber'],
  CAD: ['institutionNumber', 'transitNumber', 'accountNumber'],
  CHF: ['IBAN'],
  DKK: ['IBAN'],
  EUR: ['IBAN'],
  GBP: ['sortCode', 'accountNumber'],
  GEL: ['IBAN'],
  INR: ['ifscCode', 'accountNumber'],
  MXN: ['clabe'],
  NOK: ['IBAN'],
  NZD: ['accountNumber'],
  PKR: ['IBAN'],
  PLN: ['IBAN'],
  RON: ['IBAN'],
  SEK: ['IBAN'],
  USD: ['abartn', 'accountNumber', 'accountType'],
};

const addressKeys = ['address.country', 'address.city', 'address.postCode', 'address.firstLine'];

/**
 * "Recipient address data is required only if target currency is USD, PHP, THB or TRY, or if the source
 * currency is USD or AUD" (POST /v1/accounts).
 */
const addressTargets: ReadonlySet<string> = new Set(['USD', 'PHP', 'THB', 'TRY']);
const addressSources: ReadonlySet<string> = new Set(['USD', 'AUD']);

/** Countries of which an address has a state (POST /v1/accounts: "State (US, Canada, Brazil)"). */
const stateCountries: ReadonlySet<string> = new Set(['US', 'CA', 'BR']);

function listKeys(recipient: Recipient, sourceCurrency: string): readonly string[] {
  const { currency } = recipient;
  const keys = [...(accountKeys[currency] ?? [])];
  if (addressTargets.has(currency) || addressSources.has(sourceCurrency)) {
    keys.push(...addressKeys);
    const country = readField('address.country', recipient)?.value ?? '';
    if (stateCountries.has(country)) keys.push('address.state');
  }
  return keys;
}

/** The characters that POST /v1/accounts permits in an account holder's name. */
const namePattern = /^[0-9A-Za-zÀ-ÖØ-öø-ÿ\-_()'*,.\s]+$/;

function findNameFault(
  { field, value }: FieldSource,
  isBusiness: boolean,
): RecipientFault | undefined {
  const fault = (code: RecipientFault['code'], detail: string) => ({ field, code, detail });
  if (value === '') return fault('missing', "the recipient's name is required");
  if (!namePattern.test(value)) {
    return fault('invalid', "the name may have Latin letters, digits, spaces and -_()'*,. only");
  }
  if (isBusiness) {
    return value.trim().length > 1 ? undefined : fault('invalid', 'the name must be in full');
  }
  if (/\d/.test(value)) return fault('invalid', 'the name of a person must not have digits');
  const names = value.split(/\s+/).filter((name) => name !== '');
  const isFull = names.length > 1 && [names[0], names.at(-1)].every((name = '') => name.length > 1);
  return isFull
    ? undefined
    : fault('invalid', 'first and last name are required, each with more than one character');
}

/** Faults of the name, which the description of POST /v1/accounts names for every form. */
export function listNameFaults(recipient: Recipient): readonly RecipientFault[] {
  const holder = readField('accountHolderName', recipient) ?? nameHolder(recipient);
  const fault = findNameFault(holder, recipient.beneficiary.businessName !== '');
  return fault === undefined ? [] : [fault];
}

/** Every fault that the configuration and the draft show where no form of the payer was read yet. */
export function listRecipientFaults(
  recipient: Recipient,
  options: { readonly sourceCurrency: string; readonly hasAttributes: boolean },
): readonly RecipientFault[] {
  const faults = [...listNameFaults(recipient)];
  if (!options.hasAttributes) return faults;
  for (const key of listKeys(recipient, options.sourceCurrency)) {
    const source = readField(key, recipient);
    if (source === undefined || source.value !== '') continue;
    faults.push({
      field: source.field,
      code: 'missing',
      detail: 'the payer needs it for accounts in this currency',
    });
  }
  return faults;
}
