import anyAscii from 'any-ascii';

/**
 * Under which terms a recipient is found by name. The database has them as keyed hashes only (decision
 * 37), so that a search finds equal terms and nothing in between.
 */

/** More than real names have; the rest of a longer name is not found. */
const partsMax = 16;
const prefixLettersMin = 3;
const prefixLettersMax = 8;

/** The combining marks of Latin, Greek and Cyrillic, of Hebrew and of Arabic. Others are vowels. */
const marks = /[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]/g;

function fold(name: string): string {
  return name.normalize('NFKD').replace(marks, '').normalize('NFC');
}

function splitWords(folded: string): string[] {
  const latin = anyAscii(folded).toLowerCase().replaceAll(/['`"]/g, '');
  return latin.split(/[^a-z0-9]+/).filter((word) => word !== '');
}

/**
 * The parts of a name in a search, in lower-case Latin letters without marks. Chinese characters and
 * Korean syllables are parts, because the end of the family name is not marked.
 */
export function readNameParts(name: string): string[] {
  const parts = fold(name).replaceAll(/[\p{Script=Han}\p{Script=Hangul}]/gu, ' $& ');
  return [...new Set(splitWords(parts))];
}

/**
 * The parts of first and last name, whole and by their first three to eight letters; of Chinese and
 * Korean names also the syllables together, as they are written in Latin letters.
 */
export function listNameTerms(person: { first_name: string; last_name: string }): string[] {
  const names = [person.first_name, person.last_name];
  const parts = new Set(
    names.flatMap((name) => [...readNameParts(name), ...splitWords(fold(name))]),
  );
  const terms = [...parts].slice(0, partsMax).flatMap((part) => [part, ...listPrefixes(part)]);
  return [...new Set(terms)];
}

function listPrefixes(part: string): string[] {
  const prefixes: string[] = [];
  for (let end = prefixLettersMin; end < part.length && end <= prefixLettersMax; end += 1) {
    prefixes.push(part.slice(0, end));
  }
  return prefixes;
}
