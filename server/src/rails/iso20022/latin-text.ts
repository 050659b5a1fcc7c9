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

/** Emoji, signs of currencies and trades: not transliterated, since the library would write a word. */
const symbols = /[^\P{S}\x00-\x7f]/gu;
/** Joiners and other characters without a form of their own. */
const invisible = /[\p{Cf}\ufe00-\ufe0f]/gu;

/**
 * A text of any script in those characters, cut to the length. Letters are transliterated and other
 * characters become spaces; "" where nothing is left. The result neither begins nor ends with a slash
 * and has no two in a row (the same guidelines), and does not begin like a SWIFT tag.
 */
export function toLatinText(text: string, lengthMax: number): string {
  const latin = anyAscii(prepare(text))
    .replaceAll(otherCharacters, (character) => replacements[character] ?? ' ')
    .replaceAll(/\/{2,}/g, '/');
  return trimText(trimText(latin).slice(0, lengthMax));
}

function prepare(text: string): string {
  return text.normalize('NFC').replaceAll(invisible, '').replaceAll(symbols, ' ');
}

/** An ideograph is a word by itself; letters of other scripts may be silent (an alef, a long vowel). */
const ideographs = /\p{Script=Han}/gu;
const words = /[\p{L}\p{N}\p{Co}\p{Cn}]+/gu;

/** Whether a part of a name cannot be written for a bank: a symbol, or a word of unknown letters. */
export function hasUnwritable(text: string): boolean {
  const visible = text.normalize('NFC').replaceAll(invisible, '');
  const units = [...(visible.match(ideographs) ?? []), ...(visible.match(words) ?? [])];
  return visible.search(symbols) !== -1 || units.some((unit) => anyAscii(unit) === '');
}

function trimText(text: string): string {
  return text
    .replaceAll(/ {2,}/g, ' ')
    .replace(/^[ /:-]+/, '')
    .replace(/(?<![ /])[ /]+$/, '');
}
