/**
 * Names that are written to evade a comparison: with letters of another script that look like Latin
 * ones, or digits in place of letters. The table has the Cyrillic, Greek and Armenian letters with the
 * shape of one Latin letter (from the confusables of Unicode, UTS #39); words that mix other scripts
 * are detected by their scripts alone.
 */

export type Obfuscation = 'mixed_scripts' | 'digits_in_word';

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
 * Scripts that may share a word with Latin (the "Highly Restrictive" level of UTS #39, which allows
 * "NTTデータ"); every other script must be alone within a word.
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

/** The suspicious features of a name's spelling; ordinary names of people and companies have none. */
export function findObfuscations(name: string, isCompany: boolean): Obfuscation[] {
  const words = splitWords(name);
  const found: Obfuscation[] = [];
  if (words.some(isMixed)) found.push('mixed_scripts');
  if (!isCompany && words.some(hasDigits)) found.push('digits_in_word');
  return found;
}

/**
 * The name with look-alikes replaced by the Latin letters that they resemble: in words that mix
 * scripts, in words of look-alikes only, and with digits as letters. Empty where it has none. There
 * may be two readings, because 1 stands for i and for l.
 */
export function readObfuscatedName(name: string): string[] {
  const words = splitWords(name);
  const replaced = words.map(readObfuscatedWord).join(' ');
  if (replaced === words.join(' ')) return [];
  const others = words.some((word) => word.includes('1') && hasDigits(word))
    ? [words.map((word) => readObfuscatedWord(word.replaceAll('1', 'l'))).join(' ')]
    : [];
  return [replaced, ...others];
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
  // Nearly every word; saves a regular expression for each letter and script.
  if (/^[\u0000-\u024F]*$/.test(word)) return false;
  return new Set(lettersOf(word).map(findScript)).size > 1;
}

function findScript(letter: string): number {
  return togetherWithLatin.test(letter)
    ? -1
    : otherScripts.findIndex((script) => script.test(letter)) + 1;
}

/** "3rd" and "2nd" follow names; other digits within a word stand for letters. */
function hasDigits(word: string): boolean {
  return /\p{L}\p{M}*\p{Nd}|\p{Nd}\p{L}/u.test(word) && !/^\d+(?:st|nd|rd|th)$/i.test(word);
}

function readObfuscatedWord(word: string): string {
  const isLikeLatin = isMixed(word) || lettersOf(word).every((letter) => letter in shapes);
  const letters = isLikeLatin
    ? Array.from(word, (letter) => shapes[letter] ?? letter).join('')
    : word;
  if (!hasDigits(letters)) return letters;
  return letters.replaceAll(/\d/g, (digit) => digitShapes[digit] ?? '');
}
