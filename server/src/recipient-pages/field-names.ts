import type { AttributeType, Requirement } from '../attributes/field.ts';
import type { DeliveryType } from '../rails/contract/declarations.ts';

/**
 * Which text names a field or a choice on the pages of recipients. The labels of the API are English;
 * what a country calls its numbers (CLABE, IBAN, IFSC) stays as it is in every language.
 */

/** Labels whose meaning the texts have, by the key of the text. */
const plainLabels: Readonly<Record<string, string>> = {
  'Account number': 'accountNumber',
  'Account number or Pix key': 'accountNumber',
  'UnionPay card number': 'cardNumber',
  'Account ID at the payment provider': 'providerAccount',
  'Bank code': 'bankCode',
  'Bank and branch code': 'bankCode',
  'Branch code': 'branchCode',
  'Branch number': 'branchCode',
  'Bank name': 'bankName',
  'Account type': 'accountType',
  'Name of the account holder in Chinese characters': 'holderChinese',
  'Name of the account holder in katakana': 'holderKatakana',
  'Mobile number': 'mobileNumber',
  'Mobile wallet number': 'mobileWallet',
  'Mobile number for the courier': 'courierNumber',
  'Identity document': 'documentType',
  'Document number': 'documentNumber',
  'Document valid until': 'documentExpiry',
  'Identification number': 'idNumber',
  'Street address': 'street',
  'Street address of the recipient': 'street',
  City: 'city',
  'City of the recipient': 'city',
  'State or province': 'state',
  'Postal code': 'postalCode',
  'Bill reference number': 'billReference',
  'Purpose of payment': 'purpose',
  'Relationship of the sender to the recipient': 'relationship',
  'Source of the funds': 'sourceOfFunds',
};

/** Where the label is a term of a country. */
const typeKeys: Partial<Record<AttributeType, string>> = {
  BankAccountNumber: 'accountNumber',
  BankRoutingNumber: 'bankCode',
  BankAccountBranchNumber: 'branchCode',
  SWIFT: 'bankCode',
  IdentificationNumber: 'idNumber',
};

/** `text`: a key `field.…` of the texts; the label itself where nothing else names it. */
export function nameField(
  { type, label }: Pick<Requirement, 'type' | 'label'>,
  deliveryType: DeliveryType,
): { text: string; term: string } {
  const plain = plainLabels[label];
  if (plain !== undefined) return { text: `field.${plain}`, term: '' };
  const key = deliveryType === 'CRYPTOCURRENCY' ? 'walletAddress' : typeKeys[type];
  const inner = /\(([^()]+)\)$/.exec(label)?.[1];
  return {
    text: key === undefined ? '' : `field.${key}`,
    term: (inner ?? label).replace(' or ', ' / '),
  };
}

/** Words of the API, which have a text of their own. */
const words: Readonly<Record<string, string>> = {
  PASSPORT: 'passport',
  NATIONAL_ID: 'nationalId',
  RESIDENT_ID: 'nationalId',
  DRIVING_LICENCE: 'drivingLicence',
  RESIDENCE_PERMIT: 'residencePermit',
  VOTER_ID: 'voterId',
  CHECKING: 'checking',
  CURRENT: 'checking',
  CORRIENTE: 'checking',
  SAVINGS: 'savings',
  AHORRO: 'savings',
  PAYMENT: 'paymentAccount',
  FAMILY_SUPPORT: 'family',
  SALARY: 'salary',
  SERVICES: 'services',
  GOODS: 'goods',
  EDUCATION: 'education',
  MEDICAL: 'medical',
  GIFT: 'gift',
  PROPERTY: 'property',
  OTHER: 'other',
  SELF: 'self',
  SPOUSE: 'spouse',
  PARENT: 'parent',
  CHILD: 'child',
  SIBLING: 'sibling',
  OTHER_RELATIVE: 'relative',
  FRIEND: 'friend',
  EMPLOYER: 'employer',
  CUSTOMER: 'customer',
  BUSINESS: 'business',
  SALE: 'sale',
  LOAN: 'loan',
};

/** Codes of authorities, shown beside their text. */
const codes: Readonly<Record<string, string>> = {
  FAM: 'family',
  SAL: 'salary',
  CHC: 'charity',
  PMS: 'consulting',
  ITS: 'computing',
  IFS: 'information',
  TTS: 'services',
  GDE: 'goods',
  STR: 'travel',
  CGODDR: 'goods',
  CSTRDR: 'services',
  COCADR: 'family',
  P1301: 'family',
  P1302: 'gift',
  P1303: 'charity',
  P1401: 'salary',
  P0802: 'computing',
  P1006: 'consulting',
  P1007: 'advertising',
  P1099: 'services',
  P0102: 'goods',
  '0101': 'invoice',
  '0105': 'gift',
  '0106': 'family',
  '0109': 'savings',
  '0203': 'salary',
  '400': 'charity',
  '401': 'gift',
  '416': 'family',
};

/** `text`: a key `choice.…`, or "" for a name that is the same in every language. */
export function nameChoice(value: string): { text: string; isCode: boolean } {
  const word = words[value];
  if (word !== undefined) return { text: `choice.${word}`, isCode: false };
  const code = codes[value];
  return code === undefined
    ? { text: '', isCode: false }
    : { text: `choice.${code}`, isCode: true };
}
