import { findCurrencyFault, listCurrencies } from '../../core/currency.ts';

/**
 * Currencies whose decimals at Adyen are not those of ISO 4217 (Adyen, currency codes and minor
 * units). The description of the Transfers API does not say which of the two it means, so that an
 * amount could be wrong by a factor of 100: they are not served.
 */
const otherScales: ReadonlySet<string> = new Set(['CLP', 'CVE', 'IDR', 'ISK']);

export function hasOtherScale(currency: string): boolean {
  return otherScales.has(currency);
}

export function listServedCurrencies(): string[] {
  return listCurrencies()
    .filter(({ isCrypto }) => !isCrypto)
    .filter(({ code }) => findCurrencyFault(code) === undefined && !hasOtherScale(code))
    .map(({ code }) => code);
}
