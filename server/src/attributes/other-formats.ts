import { getCountry } from '../core/country.ts';
import { documentChecks } from './check-digits.ts';
import { type Check, type Choices, type Field, field, identification, words } from './field.ts';
import { phoneField } from './phone-numbers.ts';
import { getLegalFields } from './remittance-reasons.ts';

/** What cash, mobile wallets, deliveries, paper checks and bills need. */

/** Documents that only some countries issue, or know by another name; the passport is everywhere. */
const nationalDocuments: Readonly<Record<string, Choices>> = {
  ARG: { DNI: '' },
  BGD: { NID: 'national identity card' },
  BOL: { CEDULA: '' },
  BRA: { CPF: '', RG: '', CNH: 'driving licence' },
  CHL: { CEDULA: '' },
  CHN: { RESIDENT_ID: '' },
  COL: { CC: 'cédula de ciudadanía', CE: 'cédula de extranjería', PPT: '' },
  CRI: { CEDULA: '', DIMEX: '' },
  DOM: { CEDULA: '' },
  ECU: { CEDULA: '' },
  EGY: { NATIONAL_ID: '' },
  ESP: { DNI: '', NIE: '' },
  ETH: { FAYDA: 'national identity number', KEBELE: '' },
  GHA: { GHANA_CARD: '', VOTER_ID: '' },
  GTM: { DPI: '' },
  HND: { DNI: '' },
  HTI: { CIN: '', NIF: '' },
  IDN: { KTP: '' },
  IND: { AADHAAR: '', PAN: '', VOTER_ID: '' },
  JAM: { TRN: '', VOTER_ID: '' },
  JPN: { MY_NUMBER_CARD: '', RESIDENCE_CARD: '' },
  KEN: { NATIONAL_ID: '', ALIEN_ID: '' },
  KOR: { RESIDENT_CARD: '' },
  LKA: { NIC: '' },
  MAR: { CIN: '' },
  MEX: { INE: '', CURP: '', MATRICULA_CONSULAR: '' },
  MYS: { MYKAD: '' },
  NGA: { NIN: '', VOTER_ID: '', BVN: '' },
  NIC: { CEDULA: '' },
  NPL: { CITIZENSHIP: '' },
  PAK: { CNIC: '', NICOP: '' },
  PAN: { CEDULA: '' },
  PER: { DNI: '', CE: 'carné de extranjería' },
  PHL: { PHILSYS: '', UMID: '', SSS: '', POSTAL_ID: '' },
  PRY: { CEDULA: '' },
  RUS: { INTERNAL_PASSPORT: '' },
  RWA: { NATIONAL_ID: '' },
  SLV: { DUI: '' },
  THA: { NATIONAL_ID: '' },
  TUR: { KIMLIK: '' },
  TZA: { NIDA: '', VOTER_ID: '' },
  UGA: { NATIONAL_ID: '' },
  UKR: { ID_CARD: '' },
  URY: { CEDULA: '' },
  USA: { STATE_ID: '', GREEN_CARD: '' },
  VEN: { CEDULA: '' },
  VNM: { CCCD: 'citizen identity card' },
  ZAF: { NATIONAL_ID: '' },
};

function identityTypes(countryCode: string): Field {
  const national = nationalDocuments[countryCode] ?? { NATIONAL_ID: '' };
  const choices = { PASSPORT: '', ...national, DRIVING_LICENCE: '', RESIDENCE_PERMIT: '' };
  return field({ type: 'IdentificationType', label: 'Identity document', choices });
}

/** The passport and most cards have no check that holds everywhere; some national numbers do. */
const checkDocumentNumber: Check = (value, context) => {
  const kind = context.values.get('IdentificationType') ?? '';
  return documentChecks[`${context.countryCode} ${kind}`]?.(value, context);
};

const documentNumber = identification({
  label: 'Number of the document',
  pattern: '[0-9A-Z][0-9A-Z.\\/\\-]{2,28}[0-9A-Z]',
  hint: '4 to 30 digits or capital letters, without spaces',
  check: checkDocumentNumber,
});

const checkExpiration: Check = (value, { today }) =>
  value > today ? undefined : { code: 'expired', detail: 'The document has expired' };

const documentExpiration = field({
  type: 'IdentificationExpiration',
  label: 'Document valid until',
  isDate: true,
  hint: 'A date after today: YYYY-MM-DD',
  isOptional: true,
  check: checkExpiration,
});

/** Cash is paid out to who shows the document. */
export function getCashFields(countryCode: string): readonly Field[] {
  return [
    identityTypes(countryCode),
    documentNumber,
    documentExpiration,
    phoneField(countryCode, { label: 'Mobile number', isOptional: true }),
    ...getLegalFields(countryCode),
  ];
}

export function getMobileWalletFields(countryCode: string): readonly Field[] {
  return [
    phoneField(countryCode, { label: 'Mobile wallet number', isOptional: false }),
    ...getLegalFields(countryCode),
  ];
}

const streetAddress = words({
  type: 'Address1',
  label: 'Street address',
  hint: 'Street and number, or how to find the house',
});
const city = words({ type: 'City', label: 'City', hint: 'City, town or village' });

/** Postal code forms (Universal Postal Union, addressing systems) of the larger destinations. */
const postalCodes: Readonly<Record<string, string>> = {
  ARG: '[A-Z]?[0-9]{4}(?:[A-Z]{3})?',
  AUS: '[0-9]{4}',
  BGD: '[0-9]{4}',
  BRA: '[0-9]{5}-?[0-9]{3}',
  CAN: '[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]',
  CHN: '[0-9]{6}',
  COL: '[0-9]{6}',
  CRI: '[0-9]{5}',
  DEU: '[0-9]{5}',
  DOM: '[0-9]{5}',
  ECU: '[0-9]{6}',
  ESP: '[0-9]{5}',
  FRA: '[0-9]{5}',
  GBR: '[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2}',
  GTM: '[0-9]{5}',
  HND: '[0-9]{5}',
  IDN: '[0-9]{5}',
  IND: '[1-9][0-9]{5}',
  ITA: '[0-9]{5}',
  JPN: '[0-9]{3}-?[0-9]{4}',
  KEN: '[0-9]{5}',
  KOR: '[0-9]{5}',
  LKA: '[0-9]{5}',
  MAR: '[0-9]{5}',
  MEX: '[0-9]{5}',
  MYS: '[0-9]{5}',
  NPL: '[0-9]{5}',
  PAK: '[0-9]{5}',
  PER: '[0-9]{5}',
  PHL: '[0-9]{4}',
  POL: '[0-9]{2}-[0-9]{3}',
  RUS: '[0-9]{6}',
  SLV: '[0-9]{4}',
  THA: '[0-9]{5}',
  TUR: '[0-9]{5}',
  UKR: '[0-9]{5}',
  USA: '[0-9]{5}(?:-[0-9]{4})?',
  VNM: '[0-9]{5,6}',
  ZAF: '[0-9]{4}',
};

/** Countries where a letter does not arrive without the code; elsewhere people often have none. */
const postalCodeNeeded = new Set(
  'AUS BRA CAN CHN DEU ESP FRA GBR IND ITA JPN KOR MEX POL RUS TUR UKR USA'.split(' '),
);

function postalCode(countryCode: string): Field {
  const pattern = postalCodes[countryCode];
  return field({
    type: 'PostalCode',
    label: 'Postal code',
    pattern: pattern ?? '[0-9A-Z](?:[0-9A-Z \\-]{0,10}[0-9A-Z])?',
    hint: `The postal code as written in ${getCountry(countryCode).name}`,
    isOptional: !postalCodeNeeded.has(countryCode),
  });
}

export function getHomeFields(countryCode: string): readonly Field[] {
  return [
    streetAddress,
    city,
    postalCode(countryCode),
    phoneField(countryCode, { label: 'Mobile number for the courier', isOptional: false }),
    ...getLegalFields(countryCode),
  ];
}

/** A paper check is mailed; addresses include the state in countries that have states. */
export function getPaperCheckFields(countryCode: string): readonly Field[] {
  return [
    streetAddress,
    city,
    words({ type: 'BankState', label: 'State or province', isOptional: true }),
    postalCode(countryCode),
    phoneField(countryCode, { label: 'Mobile number', isOptional: true }),
    ...getLegalFields(countryCode),
  ];
}

export const billFields: readonly Field[] = [
  field({
    type: 'BillReferenceNumber',
    label: 'Reference number of the bill',
    pattern: '[0-9A-Z][0-9A-Z.\\/\\-]{2,46}[0-9A-Z]',
    hint: '4 to 48 digits or capital letters, as printed on the bill, without spaces',
  }),
];
