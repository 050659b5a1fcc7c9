/**
 * Names written so that a comparison misses them: letters of another script that look like Latin
 * ones, and digits in place of letters. The pairs are the Cyrillic, Greek and Armenian letters that
 * have the shape of one Latin letter (after the confusables of Unicode, UTS #39); a word of any
 * other mixture is found by its scripts alone.
 */

export type Disguise = 'mixed_scripts' | 'digits_in_word';

const shapes: Readonly<Record<string, string>> = {
  // Cyrillic
  ...pairs('асԁеҽһіїјӏорԛгѕуѵԝхү', 'acdeehiijlopqrsyvwxy'),
  ...pairs('АВСԀЕНІЇЈКӀМОРԚЅТУѴԜХҮ', 'abcdehiijklmopqstyvwxy'),
  // Greek
  ...pairs('αβεϲγηικνοορτυωχϳμσ', 'abecyniknooptuwxjuo'),
  ...pairs('ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳ', 'abezhikmnoptyxcj'),
  // Armenian
  ...pairs('ԁօոսհցքյզ', 'donuhgfjq'),
  ...pairs('ՍՕԼՏ', 'uols'),
};

const digitShapes: Readonly<Record<string, string>> = {
  0: 'o',
  1: 'i',
  3: 'e',
  4: 'a',
  5: 's',
  7: 't',
  8: 'b',
};

function pairs(foreign: string, latin: string): Record<string, string> {
  const letters = Array.from(latin);
  return Object.fromEntries(Array.from(foreign, (letter, index) => [letter, letters[index] ?? '']));
}

/**
 * Latin is written together with Han, Kana, Hangul and Bopomofo (the "Highly Restrictive" level of
 * UTS #39, which allows "NTTデータ"); every other script stands alone within a word.
 */
const togetherWithLatin =
  /[\p{Script=Latin}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u;
const sharedLetters = /[\p{Script=Common}\p{Script=Inherited}]/u;
const otherScripts = (
  'Cyrillic Greek Armenian Georgian Hebrew Arabic Syriac Thaana Nko Devanagari Bengali Gurmukhi ' +
  'Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Khmer Mongolian ' +
  'Ethiopic Cherokee Canadian_Aboriginal Coptic Lisu Tifinagh'
)
  .split(' ')
  .map((name) => new RegExp(`\\p{Script=${name}}`, 'u'));

/** What is suspicious in the writing of a name; nothing for what people and companies are called. */
export function findDisguises(name: string, isCompany: boolean): Disguise[] {
  const words = splitWords(name);
  const found: Disguise[] = [];
  if (words.some(isMixed)) found.push('mixed_scripts');
  if (!isCompany && words.some(hasDigits)) found.push('digits_in_word');
  return found;
}

/**
 * The name with look-alikes as the Latin letters that they resemble, where it has any: in words that
 * mix scripts, in words of look-alikes only, and with digits as letters. A name may be read in two
 * ways, because 1 stands for i and for l.
 */
export function unmaskName(name: string): string[] {
  const words = splitWords(name);
  const unmasked = words.map(unmaskWord).join(' ');
  if (unmasked === words.join(' ')) return [];
  const others = words.some((word) => word.includes('1') && hasDigits(word))
    ? [words.map((word) => unmaskWord(word.replaceAll('1', 'l'))).join(' ')]
    : [];
  return [unmasked, ...others];
}

const wordsMax = 40;

function splitWords(name: string): string[] {
  const plain = name.normalize('NFKC').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '');
  return plain
    .split(/[^\p{L}\p{M}\p{Nd}]+/u)
    .filter((word) => word !== '')
    .slice(0, wordsMax);
}

function lettersOf(word: string): string[] {
  return Array.from(word).filter((letter) => /\p{L}/u.test(letter) && !sharedLetters.test(letter));
}

function isMixed(word: string): boolean {
  // Almost every word: no regular expression per letter and script.
  if (/^[\u0000-\u024F]*$/.test(word)) return false;
  return new Set(lettersOf(word).map(findScript)).size > 1;
}

function findScript(letter: string): number {
  return togetherWithLatin.test(letter)
    ? -1
    : otherScripts.findIndex((script) => script.test(letter)) + 1;
}

/** "3rd" and "2nd" follow names; any other digits within a word stand for something. */
function hasDigits(word: string): boolean {
  return /\p{L}\p{M}*\p{Nd}|\p{Nd}\p{L}/u.test(word) && !/^\d+(?:st|nd|rd|th)$/i.test(word);
}

function unmaskWord(word: string): string {
  const isLikeLatin = isMixed(word) || lettersOf(word).every((letter) => letter in shapes);
  const letters = isLikeLatin
    ? Array.from(word, (letter) => shapes[letter] ?? letter).join('')
    : word;
  if (!hasDigits(letters)) return letters;
  return letters.replaceAll(/\d/g, (digit) => digitShapes[digit] ?? '');
}
