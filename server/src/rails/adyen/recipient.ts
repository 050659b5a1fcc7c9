import anyAscii from 'any-ascii';
import { findCountry } from '../../core/country.ts';
import type { Instruction, RecipientDraft, RecipientFault } from '../contract/contract.ts';

/**
 * Name and address of a recipient (`PartyIdentification`), in the characters that the description of
 * the Transfers API permits. Letters of other scripts are transliterated; a name of which nothing can
 * be written is refused.
 */

export type PersonDraft = Pick<RecipientDraft, 'beneficiary'> & {
  readonly attributes: Readonly<Record<string, string>>;
};

export type Address = {
  readonly country: string;
  readonly city?: string;
  readonly line1?: string;
  readonly line2?: string;
  readonly postalCode?: string;
  readonly stateOrProvince?: string;
};

const notInFullName = /[^A-Za-z0-9,.;:/\\+&!?@()"' -]/g;
const notInPersonName = /[^A-Za-z./ -]/g;
const notInAddress = /[^A-Za-z0-9./#,():;[\]&\\| -]/g;
const notInPostalCode = /[^A-Za-z0-9 ]/g;

/** Emoji, signs of currencies and trades: not transliterated, since the library would write a word. */
const symbols = /[^\P{S}\x00-\x7f]/gu;

function write(text: string, notPermitted: RegExp): string {
  return anyAscii(text.normalize('NFC').replaceAll(symbols, ' '))
    .replaceAll(notPermitted, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
}

/** Banks take no longer names; the description has no limit. */
const fullNameMax = 140;

/** "" where nothing of it can be written. */
export function writeFullName({ beneficiary, attributes }: PersonDraft): string {
  const { firstName, middleName, lastName, businessName } = beneficiary;
  const person = [firstName, middleName, lastName].filter((part) => part !== '').join(' ');
  const holder = attributes['BankAccountName'] ?? '';
  const name = write(holder || businessName || person, notInFullName);
  return /[A-Za-z0-9]/.test(name) ? name.slice(0, fullNameMax).trim() : '';
}

export function isOrganization({ beneficiary }: Pick<Instruction, 'beneficiary'>): boolean {
  return beneficiary.businessName !== '';
}

/** First and last name, for cards. */
export function writePersonName({ beneficiary }: PersonDraft): {
  readonly firstName: string;
  readonly lastName: string;
} {
  const readName = (text: string): string => {
    const name = write(text, notInPersonName);
    return /[A-Za-z]/.test(name) ? name : '';
  };
  return { firstName: readName(beneficiary.firstName), lastName: readName(beneficiary.lastName) };
}

type AddressResult =
  | { readonly ok: true; readonly address: Address }
  | { readonly ok: false; readonly faults: readonly RecipientFault[] };

/**
 * The whole address, or what is missing of it: street, city of three letters or more, and in the US
 * and Canada the postal code and the two letters of the state.
 */
export function writeAddress({ beneficiary, attributes }: PersonDraft): AddressResult {
  const country = findCountry(beneficiary.countryCode)?.alpha2;
  const line1 = write(attributes['Address1'] || beneficiary.address1, notInAddress);
  const line2 = attributes['Address1'] ? '' : write(beneficiary.address2, notInAddress);
  const city = write(attributes['City'] || beneficiary.city, notInAddress);
  const code = write(attributes['PostalCode'] || beneficiary.postalCode, notInPostalCode);
  // An American ZIP+4 is written as its five digits.
  const postalCode = country === 'US' ? code.slice(0, 5) : code.slice(0, 10);
  const state = beneficiary.stateProvince.toUpperCase();
  const isStateNeeded = country === 'US' || country === 'CA';
  const isPostalCodeFit = country === 'US' ? /^\d{5}$/.test(postalCode) : postalCode.length >= 3;
  const faults: RecipientFault[] = [];
  const need = (field: string, isFit: boolean, detail: string): void => {
    if (!isFit) faults.push({ field, code: 'missing', detail });
  };
  need('country', country !== undefined, 'the country of the recipient is required');
  need('address1', line1 !== '', 'the street address of the recipient is required');
  need('city', city.length >= 3, 'the city of the recipient is required, of 3 letters or more');
  if (isStateNeeded) {
    need('postal_code', isPostalCodeFit, 'the postal code of the recipient is required');
    const detail = 'the state or province of the recipient is required, as two letters';
    need('state_province', /^[A-Z]{2}$/.test(state), detail);
  }
  if (faults.length > 0 || country === undefined) return { ok: false, faults };
  const address = {
    country,
    line1,
    ...(line2 !== '' && { line2 }),
    city,
    ...(isPostalCodeFit && { postalCode }),
    ...(isStateNeeded && { stateOrProvince: state }),
  };
  return { ok: true, address };
}

/**
 * The address with its street on two lines, which the description requires for cards: street and
 * number, else the last word. Undefined where there is only one word.
 */
export function splitLines(address: Address): Address | undefined {
  if (address.line2 !== undefined) return address;
  const line = address.line1 ?? '';
  const number = line.startsWith(' ') ? -1 : line.search(/ \d/);
  const [, line1, line2] =
    /^(\d\S*) (\S.*)$/.exec(line) ??
    (number > 0 ? [line, line.slice(0, number), line.slice(number + 1)] : undefined) ??
    /^(\S.*) (\S+)$/.exec(line) ??
    [];
  return line1 === undefined || line2 === undefined ? undefined : { ...address, line1, line2 };
}
