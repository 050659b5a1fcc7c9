import anyAscii from 'any-ascii';

/**
 * Names as words that can be compared: in Latin letters, lower case, without marks. What follows
 * here is done alike to the names on the lists and to the names of recipients.
 */

/**
 * `word`: carries the name. `initial`: one letter, stands for a word that begins with it.
 * `particle`: an article, a title, a legal form: there or not, it tells nothing.
 */
export type WordKind = 'word' | 'initial' | 'particle';

export type NameWord = {
  readonly text: string;
  /** The word with the commonest variations of spelling put together. */
  readonly plain: string;
  /** The consonants of it, see `findSkeleton`; equal for most spellings of one name. */
  readonly skeleton: string;
  readonly kind: WordKind;
};

/** More words than any real name has; the rest of a longer text is not looked at. */
const wordsMax = 16;
const wordLengthMax = 40;
/** As much of a text as can fill the words above. */
const textLengthMax = 600;

const particles = new Set(
  (
    'al el ul ur ar as ash an ad az at bin ben ibn bint ould abu abou umm van von der den de del di ' +
    'da do dos das du la le los las y e and the of dr mr mrs ms sr jr ii iii iv prof eng general gen ' +
    'colonel col major captain shaykh sheikh sheik cheikh mullah mulla maulavi mawlawi maulawi haji ' +
    'hajji hadji hajj sayyid sayed ' +
    'co company corp corporation ltd limited llc llp inc gmbh plc jsc pjsc ooo oao sarl srl'
  ).split(' '),
);

/**
 * The words of a name, in its order. Compatibility forms (full width and the like) are folded and
 * marks composed first, because the transliteration knows composed letters best; a Chinese or a
 * Korean syllable becomes a word of its own, since where the family's name ends cannot be seen.
 */
export function readWords(name: string): NameWord[] {
  const folded = name
    .slice(0, textLengthMax)
    .normalize('NFKC')
    .replaceAll(/[\p{Script=Han}\p{Script=Hangul}]/gu, ' $& ');
  const latin = anyAscii(readArabicBeginnings(folded))
    .toLowerCase()
    .replaceAll(/['`"]/g, '')
    .replaceAll('&', ' and ');
  const texts = joinLetters(latin.split(/[^a-z0-9]+/).filter((text) => text !== ''));
  return texts.flatMap(splitServant).slice(0, wordsMax).map(describeWord);
}

/**
 * Arabic writes the article together with its word, and letters that only carry a vowel; at the
 * beginning of a word both are worth keeping, and the transliteration drops the vowels.
 */
function readArabicBeginnings(text: string): string {
  return text
    .replaceAll(/(?<!\p{Script=Arabic})\u0627\u0644(?=\p{Script=Arabic}{2})/gu, 'al ')
    .replaceAll(/(?<!\p{Script=Arabic})[\u0622\u0623\u0625\u0627\u0639]/gu, 'a');
}

/** "S. A." and "L L C" are one word; two letters alone may be a person's initials and stay. */
function joinLetters(texts: readonly string[]): string[] {
  const joined: string[] = [];
  for (let index = 0; index < texts.length; index += 1) {
    let end = index;
    while (texts[end]?.length === 1) end += 1;
    if (end - index >= 3) {
      joined.push(texts.slice(index, end).join(''));
      index = end - 1;
    } else {
      joined.push(texts[index] ?? '');
    }
  }
  return joined;
}

/**
 * Arabic names of the form "servant of ..." are written in one word, two or three, with an article
 * that changes its vowel and its consonant: Abdulrahman, Abdel Rahman, Abdurrahman, Abd ar-Rahman.
 * Abdullah and what derives from it is a word of its own in every spelling.
 */
function splitServant(text: string): string[] {
  if (/^abd[aeou]l$/.test(text)) return ['abd', 'al'];
  const plain = /^abd[aeou]l((?!la)[a-z]{4,})$/.exec(text);
  if (plain?.[1] !== undefined) return ['abd', 'al', plain[1]];
  const assimilated = /^abd[aeou]([rsnzdt])(\1[a-z]{3,})$/.exec(text);
  if (assimilated?.[2] !== undefined) return ['abd', 'al', assimilated[2]];
  return [text];
}

function describeWord(whole: string): NameWord {
  const text = whole.slice(0, wordLengthMax);
  return restoreWord(text, findSkeleton(text));
}

/** A word that was stored with its skeleton. */
export function restoreWord(text: string, skeleton: string): NameWord {
  const isParticle = particles.has(text);
  const kind = isParticle ? 'particle' : /^[a-z]$/.test(text) ? 'initial' : 'word';
  return { text, plain: simplifySpelling(text), skeleton, kind };
}

function simplifySpelling(text: string): string {
  return text
    .replaceAll(/y|ee/g, 'i')
    .replaceAll(/ou|oo/g, 'u')
    .replaceAll(/w/g, 'v')
    .replaceAll(/q/g, 'k')
    .replaceAll(/(.)\1+/g, '$1');
}

/** Applied in this order; what sounds alike in one of the usual transliterations becomes one. */
const soundRules: readonly (readonly [RegExp, string])[] = [
  [/tch|tsch|sch|sh/g, 's'],
  [/dzh|dj|zh|j/g, 'g'],
  [/gh/g, 'g'],
  [/kh/g, 'h'],
  [/ph/g, 'f'],
  [/th/g, 't'],
  [/dh/g, 'd'],
  [/ck|ch|q/g, 'k'],
  [/c(?=[eiy])/g, 's'],
  [/c/g, 'k'],
  [/x/g, 'ks'],
  [/z/g, 's'],
  [/^w/g, 'v'],
  [/(.)\1+/g, '$1'],
  [/^[aeiouy]+/g, 'A'],
  [/(?!^)[aeiouyw]/g, ''],
  [/(?!^)h$/g, ''],
  [/(.)\1+/g, '$1'],
];

/**
 * What is left of a word without its vowels, and with the consonants put together that languages
 * exchange: Muhammad, Mohamed and (from Arabic letters) mhmd are all `mhmd`. Whatever begins with a
 * vowel begins with A. A number is its own.
 */
export function findSkeleton(word: string): string {
  if (/\d/.test(word)) return word;
  let skeleton = word;
  for (const [pattern, sound] of soundRules) skeleton = skeleton.replaceAll(pattern, sound);
  return skeleton;
}
