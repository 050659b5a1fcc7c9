/**
 * A person's name in the order of its culture: family name first in Hungary, Vietnam and East Asia
 * (CLDR, `nameOrderLocales` surnameFirst), and without spaces where it is written in Han or Hangul.
 */

const familyFirstCountries: ReadonlySet<string> = new Set(
  'HUN VNM CHN TWN HKG MAC JPN KOR PRK'.split(' '),
);
const familyFirstLanguages: ReadonlySet<string> = new Set('hu vi zh ja ko'.split(' '));
const unspaced = /^[\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}々]+$/u;

export type NameParts = { first_name: string; middle_name: string; last_name: string };

/** @param culture the country of residence, ISO 3166-1 alpha-3, and the language, ISO 639-1 */
export function formatRecipientName(
  { first_name: given, middle_name: middle, last_name: family }: NameParts,
  culture: { country: string; language: string },
): string {
  const parts = [family, middle, given].filter(Boolean);
  if (parts.every((part) => unspaced.test(part))) return parts.join('');
  const isFamilyFirst =
    familyFirstLanguages.has(culture.language) || familyFirstCountries.has(culture.country);
  return isFamilyFirst ? parts.join(' ') : [given, middle, family].filter(Boolean).join(' ');
}
