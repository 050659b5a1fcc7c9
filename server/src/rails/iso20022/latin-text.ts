import anyAscii from 'any-ascii';

/**
 * The characters that every bank of a SEPA payment must pass on: letters without marks, digits and
 * `/ - ? : ( ) . , ' +` and space (European Payments Council, implementation guidelines for
 * customer-to-bank credit transfers, 1.4). SWIFT's set x is the same.
 */
const otherCharacters = /[^A-Za-z0-9/\-?:().,'+ ]/g;

const replacements: Readonly<Record<string, string>> = {
  '&': '+',
  _: '-',
  '"': "'",
  '`': "'",
  '[': '(',
  ']': ')',
  '{': '(',
  '}': ')',
  ';': ',',
  '@': '(at)',
};

/**
 * A text of any script in those characters, at most so long. Letters are transliterated; what has no
 * counterpart becomes a space. "" where nothing is left. A text neither begins nor ends with a slash
 * and has no two in a row (the same guidelines), and does not begin like a SWIFT tag.
 */
export function toLatinText(text: string, lengthMax: number): string {
  const latin = anyAscii(text.normalize('NFC'))
    .replaceAll(otherCharacters, (character) => replacements[character] ?? ' ')
    .replaceAll(/\/{2,}/g, '/');
  return trimText(trimText(latin).slice(0, lengthMax));
}

function trimText(text: string): string {
  return text
    .replaceAll(/ {2,}/g, ' ')
    .replace(/^[ /:-]+/, '')
    .replace(/[ /]+$/, '');
}
