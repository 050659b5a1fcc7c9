import { compareAbjad } from './abjad.ts';
import { isSameGivenName } from './given-names.ts';
import type { NameWord } from './names.ts';
import { findSyllableKey } from './syllables.ts';

/** The similarity of two words, and of words written as one. */

/** Below it two words do not match. */
export const wordSimilarityMin = 0.82;
/** A word and its initial. */
const initialSimilarity = 0.9;
/** How much of the difference equal skeletons remove. */
const skeletonPull = 0.6;
/** Too many names share a shorter skeleton. */
const skeletonLengthMin = 3;
/** Words equal in simplified spelling only, or compared by consonants only. */
const plainOnly = 0.98;
const consonantsOnly = 0.97;
export const abjadOnly = 0.98;
const syllableSimilarity = 0.9;
/** Two words for one line of business. */
const sameMeaning = 0.95;
/** Two forms of one given name, see `given-names.ts`. */
export const sameGivenName = 0.93;
/** Jaro-Winkler rates a short word too similar to a much longer one that begins alike. */
const lengthsApartMax = 2;
const costPerLetterApart = 0.06;

/** Jaro-Winkler with the usual prefix scale of 0.1 over four letters; 0 to 1. */
export function compareLetters(left: string, right: string): number {
  if (left === right) return 1;
  const jaro = compareJaro(left, right);
  let prefix = 0;
  while (prefix < 4 && prefix < left.length && left[prefix] === right[prefix]) prefix += 1;
  return jaro + prefix * 0.1 * (1 - jaro);
}

function compareJaro(left: string, right: string): number {
  const reach = Math.max(0, Math.floor(Math.max(left.length, right.length) / 2) - 1);
  const isTaken: boolean[] = [];
  const found: string[] = [];
  for (let index = 0; index < left.length; index += 1) {
    const end = Math.min(right.length, index + reach + 1);
    for (let other = Math.max(0, index - reach); other < end; other += 1) {
      if (isTaken[other] === true || left[index] !== right[other]) continue;
      isTaken[other] = true;
      found.push(left[index] ?? '');
      break;
    }
  }
  if (found.length === 0) return 0;
  let moved = 0;
  let place = 0;
  for (let other = 0; other < right.length; other += 1) {
    if (isTaken[other] !== true) continue;
    if (found[place] !== right[other]) moved += 1;
    place += 1;
  }
  const count = found.length;
  return (count / left.length + count / right.length + (count - moved / 2) / count) / 3;
}

/** A searched word meets the same listed words in most of its candidates. */
const compared = new WeakMap<NameWord, WeakMap<NameWord, number>>();

/** The similarity of two words, 0 to 1. */
export function compareWords(left: NameWord, right: NameWord): number {
  if (left.text === right.text) return 1;
  const known = compared.get(left) ?? new WeakMap<NameWord, number>();
  const present = known.get(right);
  if (present !== undefined) return present;
  const similarity = compareTexts(left, right);
  known.set(right, similarity);
  compared.set(left, known);
  return similarity;
}

function compareTexts(left: NameWord, right: NameWord): number {
  if (left.kind === 'initial' || right.kind === 'initial') {
    return left.text[0] === right.text[0] ? initialSimilarity : 0;
  }
  if (left.meaning !== undefined && left.meaning === right.meaning) return sameMeaning;
  // Numbers, as in the names of brigades and companies, must be equal.
  if (/\d/.test(left.text) || /\d/.test(right.text)) return 0;
  if (left.abjad !== undefined) return compareAbjad(left.abjad, right.text) * abjadOnly;
  if (right.abjad !== undefined) return compareAbjad(right.abjad, left.text) * abjadOnly;
  if (left.isSyllable === true || right.isSyllable === true)
    return isSameSyllable(left.text, right.text) ? syllableSimilarity : 0;
  if (isWithoutVowels(left.text) || isWithoutVowels(right.text)) {
    return compareLetters(left.skeleton, right.skeleton) * consonantsOnly;
  }
  const similarity = Math.max(
    compareLetters(left.text, right.text),
    compareLetters(left.plain, right.plain) * plainOnly,
  );
  const isSameSkeleton =
    left.skeleton === right.skeleton && left.skeleton.length >= skeletonLengthMin;
  const pulled = isSameSkeleton ? similarity + (1 - similarity) * skeletonPull : similarity;
  const lengthsApart = Math.abs(left.text.length - right.text.length);
  const byLetters = pulled - Math.max(0, lengthsApart - lengthsApartMax) * costPerLetterApart;
  return isSameGivenName(left.text, right.text) ? Math.max(sameGivenName, byLetters) : byLetters;
}

function isSameSyllable(left: string, right: string): boolean {
  const key = findSyllableKey(left);
  return key !== undefined && key === findSyllableKey(right);
}

/** As in names from Arabic or Hebrew script, which omits most vowels. */
function isWithoutVowels(text: string): boolean {
  return text.length > 1 && !/[aeiou]/.test(text.slice(1));
}
