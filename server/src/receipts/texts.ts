import anyAscii from 'any-ascii';
import { findCurrency } from '../core/currency.ts';

/** The texts of a receipt: made safe to place, numbers grouped, times written, scripts changed. */

/** One text of the page, with the base direction of its paragraph (UAX 9, rules P2 and P3). */
export type ReceiptText = {
  text: string;
  direction: 'ltr' | 'rtl';
  /** Parts without a line break opportunity that may be wider than a column. */
  longWords: string[];
};

/** Longer values are cut with an ellipsis. Fields of the API are much shorter. */
const valueCharactersMax = 300;
/** A shorter part fits every column at the ordinary size, regardless of its letters. */
const longWordCharactersMin = 18;

export function shapeText(value: string): ReceiptText {
  const text = cleanText(value);
  return { text, direction: baseDirection(text), longWords: findLongWords(text) };
}

/**
 * Makes a text safe to place: well-formed, composed, on one line. Removes explicit directional
 * formatting (UAX 9, section 2), which could reorder an account number; keeps the joiners of Persian
 * and Indic names and the two directional marks.
 */
export function cleanText(value: string): string {
  const text = value
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\u202a-\u202e\u2066-\u2069\u206a-\u206f]/g, '')
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .replace(/[\p{Noncharacter_Code_Point}\p{Co}]/gu, '\ufffd')
    .trim();
  const characters = Array.from(text);
  if (characters.length <= valueCharactersMax) return text;
  return `${characters.slice(0, valueCharactersMax - 1).join('')}…`;
}

const strongPattern = /\p{L}|\u200e|\u200f/u;
const rightToLeftPattern =
  /[\u200f\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}\p{sc=Thaana}\p{sc=Nko}\p{sc=Adlam}\p{sc=Samaritan}\p{sc=Mandaic}\p{sc=Hanifi_Rohingya}]/u;

function baseDirection(text: string): 'ltr' | 'rtl' {
  const strong = strongPattern.exec(text)?.[0];
  return strong !== undefined && rightToLeftPattern.test(strong) ? 'rtl' : 'ltr';
}

/** Scripts without spaces break between characters or by dictionary, so they are excluded. */
const unbrokenPattern = new RegExp(
  '[^\\s\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}]' +
    `{${longWordCharactersMin},}`,
  'gu',
);

function findLongWords(text: string): string[] {
  return [...new Set(text.match(unbrokenPattern) ?? [])];
}

/** National currencies show all their minor digits (200 USD as 200.00). */
export function padToScale(amount: string, currencyCode: string): string {
  const currency = findCurrency(currencyCode);
  const match = /^(-?\d+)(?:\.(\d+))?$/.exec(amount);
  if (match === null || currency === undefined || currency.isCrypto || currency.scale === 0) {
    return amount;
  }
  return `${match[1]}.${(match[2] ?? '').padEnd(currency.scale, '0')}`;
}

/** Groups the integer digits by three with commas, on the text, so that no digit is lost. */
export function groupDigits(amount: string): string {
  const match = /^(-?)(\d+)(\.\d+)?$/.exec(amount);
  if (match === null) return cleanText(amount);
  const grouped = (match[2] ?? '').replace(/\B(?=(?:\d{3})+$)/g, ',');
  return `${match[1]}${grouped}${match[3] ?? ''}`;
}

const timePattern =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:Z|\+00:00)?$/;

export function formatTime(time: string): string {
  const match = timePattern.exec(time);
  if (match === null) return time;
  const [, year, month, day, hour, minute, second] = match;
  return `${year}-${month}-${day} ${hour}:${minute}:${second ?? '00'} UTC`;
}

export function timeParts(time: string): number[] | null {
  const match = timePattern.exec(time);
  if (match === null || Number.isNaN(Date.parse(time))) return null;
  return match.slice(1, 7).map((part) => Number(part ?? '0'));
}

/** Changes every text of a value, at any depth. */
export function mapTexts<Value>(value: Value, change: (text: string) => string): Value {
  return JSON.parse(JSON.stringify(value), (_key, member: unknown) =>
    typeof member === 'string' ? change(member) : member,
  ) as Value;
}

/** Scripts without a base font; with the digits and punctuation that Arabic and East Asia share. */
const otherScripts =
  /(?:[^\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Devanagari}\p{sc=Common}\p{sc=Inherited}]|[\u0600-\u06ff\u3000-\u30ff\uff01-\uff9f])+/gu;

/** Writes other scripts in Latin letters, for receipts without their fonts. */
export function transliterate(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(otherScripts, (part) =>
      anyAscii(part.replaceAll(/[\p{sc=Han}\p{sc=Hangul}]/gu, '$& ')).trim(),
    );
}
