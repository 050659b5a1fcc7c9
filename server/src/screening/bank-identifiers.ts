import iso3166 from 'i18n-iso-countries/index.js';
import { electronicFormatIBAN, isValidIBAN as isIban, isValidBIC } from 'ibantools';

/** Identifiers of banks and accounts: BIC (ISO 9362) and IBAN (ISO 13616). */

/** The text as a BIC in capital letters; undefined for other codes of banks. */
export function findBic(code: string): string | undefined {
  const text = code.replaceAll(/\s/g, '').toUpperCase();
  return isValidBIC(text) ? text : undefined;
}

export function isValidIBAN(number: string): boolean {
  return isIban(electronicFormatIBAN(number) ?? '');
}

/** ISO 3166-1 alpha-3; "" for an unknown alpha-2 code. */
export function getCountryCode(alpha2: string): string {
  return iso3166.alpha2ToAlpha3(alpha2.toUpperCase()) ?? '';
}
