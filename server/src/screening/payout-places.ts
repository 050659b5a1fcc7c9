import { getCountryCode, isValidIBAN } from './bank-identifiers.ts';
import type { Hit } from './hit.ts';

/** The countries of a payment, compared with those that the operator blocks. */

/** Stands for a list in hits of a country that the operator blocks; the entry is the country. */
const blockedCountriesList = 'blocked_countries';

/** How each country is known, and its ISO 3166-1 alpha-3 code. */
export type Place = { readonly known: string; readonly country: string };

type Payment = {
  /** Where the payout is delivered; "" where it is unknown. */
  readonly destinationCountry: string;
  readonly recipientCountry: string;
  readonly accountNumber: string;
  readonly bankCodes: readonly string[];
};

export function listPlaces(payment: Payment): Place[] {
  const { destinationCountry, recipientCountry, accountNumber, bankCodes } = payment;
  const places = [
    { known: 'destination', country: destinationCountry },
    { known: 'recipient', country: recipientCountry },
    {
      known: 'account number',
      country: isValidIBAN(accountNumber) ? getCountryCode(accountNumber.slice(0, 2)) : '',
    },
    ...bankCodes.map((code) => ({ known: 'bank', country: getCountryCode(code.slice(4, 6)) })),
  ];
  return places.filter(({ country }) => country !== '');
}

/** One hit for each blocked country. */
export function findBlockedPlaces(places: readonly Place[], blocked: ReadonlySet<string>): Hit[] {
  const found = new Map<string, Place>();
  for (const place of places) {
    if (blocked.has(place.country) && !found.has(place.country)) found.set(place.country, place);
  }
  return [...found.values()].map(({ known, country }) => ({
    list: blockedCountriesList,
    entryId: country,
    entryHash: '',
    name: `payments to ${country} are blocked`,
    kind: 'organisation',
    programmes: [],
    scorePermille: 1000,
    matchedOn: {
      field: 'country',
      listedName: known,
      quality: 'primary',
      dateOfBirth: 'unknown',
      country: 'same',
    },
  }));
}
