import { getCountrySpecifications, isSEPACountry } from 'ibantools';
import { bicNeighbours, ibanOwners, isBicOfCountry } from '../core/bank-countries.ts';
import { getCountry } from '../core/country.ts';
import { checkBic, checkIban } from './check-digits.ts';
import { account, type Check, type Field, field } from './field.ts';

/**
 * Accounts with an IBAN, with each country's structure from the IBAN registry, and accounts with a
 * SWIFT/BIC.
 */

const structures = getCountrySpecifications();

/**
 * In the registry, but domestic payments use other account numbers (see `bank-formats`); the IBAN
 * is used for euro payments from abroad, if at all.
 */
const localNumbersFirst = new Set(['BR', 'GB', 'NI', 'RU']);

/** Registered after the library's data (Burundi 2021, Djibouti 2022, Falklands 2023), and Iran. */
const registeredSince = new Set(['BI', 'DJ', 'FK', 'IR']);

/** The first two letters of a country's IBANs; undefined if it has none. */
export function findIbanOwner(countryCode: string): string | undefined {
  const { alpha2 } = getCountry(countryCode);
  const owner = ibanOwners[alpha2] ?? alpha2;
  const structure = structures[owner];
  if (!structure?.bban_regexp) return undefined;
  return structure.IBANRegistry || registeredSince.has(owner) ? owner : undefined;
}

/** Whether payments in the country's own currency use the IBAN. */
export function usesIban(countryCode: string): boolean {
  const owner = findIbanOwner(countryCode);
  return owner !== undefined && !localNumbersFirst.has(owner);
}

export function isSepa(countryCode: string): boolean {
  const owner = findIbanOwner(countryCode);
  return owner !== undefined && isSEPACountry(owner);
}

/** The structure of an IBAN after its country and check digits, as a pattern without anchors. */
function getBasicStructure(owner: string): string {
  const structure = structures[owner]?.bban_regexp ?? '';
  return structure.replace(/^\^/, '').replace(/\$$/, '');
}

export function ibanField(owner: string): Field {
  const length = structures[owner]?.chars ?? 34;
  return account({
    label: 'IBAN',
    pattern: `${owner}[0-9]{2}${getBasicStructure(owner)}`,
    hint: `An IBAN of ${length} characters beginning with ${owner}, in capitals, without spaces`,
    check: checkIban,
  });
}

/** The country of a BIC, its fifth and sixth letter, must be that of the account. */
const checkBicOfIban: Check = (value, context) => {
  const problem = checkBic(value, context);
  if (problem !== undefined) return problem;
  const iban = context.values.get('BankAccountNumber') ?? '';
  const isIban = /^[A-Z]{2}[0-9]{2}[A-Z0-9]{10,}$/.test(iban);
  if (!isIban) return undefined;
  return isBicOfCountry(value, iban.slice(0, 2))
    ? undefined
    : { code: 'bank_mismatch', detail: 'The SWIFT/BIC must be of the same country as the IBAN' };
};

/** A SWIFT/BIC (ISO 9362) of the country. */
export function swiftField(countryCode: string, isOptional: boolean): Field {
  const { alpha2, name } = getCountry(countryCode);
  const countries = [alpha2, ...(bicNeighbours[alpha2] ?? [])];
  const pattern = countries.length === 1 ? alpha2 : `(?:${countries.join('|')})`;
  return field({
    type: 'SWIFT',
    label: 'SWIFT/BIC',
    pattern: `[A-Z]{4}${pattern}[A-Z0-9]{2}(?:[A-Z0-9]{3})?`,
    hint: `The SWIFT/BIC of the bank in ${name}: 8 or 11 characters`,
    isOptional,
    check: checkBicOfIban,
    sampleStart: `OTLY${alpha2}22`,
  });
}

/** An account number of unknown form; SWIFT's field 59 holds 34 characters. */
export const internationalAccount: Field = account({
  pattern: '[0-9A-Z][0-9A-Z\\/\\-]{2,32}[0-9A-Z]',
  hint: '4 to 34 digits or capital letters, without spaces',
});
