import { getCountry } from '../core/country.ts';
import { africanBanks } from './bank-formats-africa.ts';
import { americanBanks } from './bank-formats-americas.ts';
import { asianBanks } from './bank-formats-asia.ts';
import { europeanBanks } from './bank-formats-europe.ts';
import { oceanianBanks } from './bank-formats-oceania.ts';
import {
  findIbanOwner,
  ibanField,
  internationalAccount,
  isSepa,
  swiftField,
  usesIban,
} from './bank-iban.ts';
import { bankName, type Field, optional, words } from './field.ts';
import { getLegalFields } from './remittance-reasons.ts';

const localBanks: Readonly<Record<string, readonly Field[]>> = {
  ...africanBanks,
  ...americanBanks,
  ...asianBanks,
  ...europeanBanks,
  ...oceanianBanks,
};

/** Territories whose banks belong to the payment system of another country. */
const systemOwners: Readonly<Record<string, string>> = {
  ASM: 'USA',
  GUM: 'USA',
  MNP: 'USA',
  PRI: 'USA',
  UMI: 'USA',
  VIR: 'USA',
  CCK: 'AUS',
  CXR: 'AUS',
  HMD: 'AUS',
  NFK: 'AUS',
  GGY: 'GBR',
  IMN: 'GBR',
  JEY: 'GBR',
};

/** The form of accounts without an IBAN in the country's own currency, if known. */
export function findLocalFormat(countryCode: string): readonly Field[] | undefined {
  return localBanks[systemOwners[countryCode] ?? countryCode];
}

/** In the registry, but not used for payments from abroad. */
const noIbanFromAbroad = new Set(['NI', 'RU']);

/** In Panama the US dollar is legal tender, and accounts are kept in it. */
function isNational(countryCode: string, { currency }: { currency: string }): boolean {
  if (countryCode === 'PAN' && currency === 'USD') return true;
  return currency === getCountry(countryCode).currency;
}

function getAccountFields(
  countryCode: string,
  { currency }: { currency: string },
): readonly Field[] {
  const owner = findIbanOwner(countryCode);
  if (isNational(countryCode, { currency })) {
    const local = findLocalFormat(countryCode);
    if (local !== undefined && !usesIban(countryCode)) return local;
    if (owner !== undefined) return [ibanField(owner), swiftField(countryCode, true)];
  }
  if (owner !== undefined && !noIbanFromAbroad.has(owner)) {
    // Inside SEPA the IBAN alone routes a payment in euro (regulation (EU) 260/2012).
    const isSwiftOptional = currency === 'EUR' && isSepa(countryCode);
    return [ibanField(owner), swiftField(countryCode, isSwiftOptional)];
  }
  return [
    swiftField(countryCode, false),
    internationalAccount,
    optional(bankName),
    words({ type: 'Address1', label: 'Street address of the recipient', isOptional: true }),
    words({ type: 'City', label: 'City of the recipient', isOptional: true }),
  ];
}

/** The fields of a bank deposit, with those that the law of the country requires. */
export function getBankFields(
  countryCode: string,
  options: { currency: string },
): readonly Field[] {
  return [...getAccountFields(countryCode, options), ...getLegalFields(countryCode)];
}
