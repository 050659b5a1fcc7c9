import { getCountrySpecifications, isSEPACountry } from 'ibantools';
import { bicNeighbours, ibanOwners, isBicOfCountry } from '../core/bank-countries.ts';
import { getCountry } from '../core/country.ts';
import { checkBic, checkIban } from './check-digits.ts';
import { account, type Check, type Field, field } from './field.ts';

/**
 * Accounts that are named by an IBAN, with each country's own structure from the IBAN registry,
 * and the SWIFT/BIC form that reaches every bank of the world.
 */

const structures = getCountrySpecifications();

/**
 * In the registry, yet their people pay each other by other numbers than the IBAN, which
 * `bank-formats` knows; the IBAN is used there for money in euro from abroad, if at all.
 */
const localNumbersFirst = new Set(['BR', 'GB', 'NI', 'RU']);

/** Registered since the library's flag was set (Burundi 2021, Djibouti 2022, Falklands 2023), and Iran. */
const registeredSince = new Set(['BI', 'DJ', 'FK', 'IR']);

/** The two letters that the IBANs of a country begin with; undefined when it has none. */
export function findIbanOwner(countryCode: string): string | undefined {
  const { alpha2 } = getCountry(countryCode);
  const owner = ibanOwners[alpha2] ?? alpha2;
  const structure = structures[owner];
  if (!structure?.bban_regexp) return undefined;
  return structure.IBANRegistry || registeredSince.has(owner) ? owner : undefined;
}

/** Whether money in the country's own currency goes to an IBAN. */
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

/** A BIC names its country in the fifth and sixth letter; it has to be that of the account. */
const checkBicOfIban: Check = (value, context) => {
  const problem = checkBic(value, context);
  if (problem !== undefined) return problem;
  const iban = context.values.get('BankAccountNumber') ?? '';
  const isNamed = /^[A-Z]{2}[0-9]{2}[A-Z0-9]{10,}$/.test(iban);
  if (!isNamed) return undefined;
  return isBicOfCountry(value, iban.slice(0, 2))
    ? undefined
    : { code: 'bank_mismatch', detail: 'The SWIFT/BIC is of another country than the account' };
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
    hint: `The 8 or 11 characters of the bank's SWIFT/BIC in ${name}`,
    isOptional,
    check: checkBicOfIban,
    sampleStart: `OTLY${alpha2}22`,
  });
}

/** An account number whose form nobody but the bank knows: SWIFT's field 59 holds 34 characters. */
export const internationalAccount: Field = account({
  pattern: '[0-9A-Z][0-9A-Z\\/\\-]{2,32}[0-9A-Z]',
  hint: '4 to 34 digits or capital letters, as the bank writes it, without spaces',
});
