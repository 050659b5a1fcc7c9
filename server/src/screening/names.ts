import anyAscii from 'any-ascii';

/**
 * Splits names into words that can be compared: in Latin letters, lower case, without marks. Listed
 * names and names of recipients are treated alike.
 */

/**
 * `word`: a significant word. `initial`: one letter, which stands for a word that begins with it.
 * `particle`: an article, a title or a legal form, which is not significant.
 */
export type WordKind = 'word' | 'initial' | 'particle';

export type NameWord = {
  readonly text: string;
  /** The word with its commonest variations of spelling unified. */
  readonly plain: string;
  /** Its consonants, see `findSkeleton`; equal for most spellings of one name. */
  readonly skeleton: string;
  readonly kind: WordKind;
};

/** More words than any real name has; the rest of a longer text is ignored. */
const wordsMax = 16;
const wordLengthMax = 40;
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
 * The words of a name, in order. Compatibility forms (such as full width) are folded and marks
 * composed first, because the transliteration handles composed letters best. Each Chinese character
 * and Korean syllable becomes a word, because the end of the family name is not marked.
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
 * Arabic joins the article to its word, and has letters that only carry a vowel. At the beginning of
 * a word both are kept here, because the transliteration drops the vowels.
 */
function readArabicBeginnings(text: string): string {
  return text
    .replaceAll(/(?<!\p{Script=Arabic})\u0627\u0644(?=\p{Script=Arabic}{2})/gu, 'al ')
    .replaceAll(/(?<!\p{Script=Arabic})[\u0622\u0623\u0625\u0627\u0639]/gu, 'a');
}

/** Joins "S. A. R. L." and "L L C" to one word; two letters may be a person's initials and stay. */
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
 * Splits Arabic names of the form "servant of ...", which are written as one, two or three words with
 * an article whose vowel and consonant change: Abdulrahman, Abdel Rahman, Abdurrahman, Abd
 * ar-Rahman. Abdullah and its derivatives stay one word in every spelling.
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

/** The word of a stored text and skeleton. */
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

/** Applied in order; unifies sounds that the usual transliterations write differently. */
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
 * A word without its vowels, with the consonants unified that transliterations exchange: Muhammad,
 * Mohamed and (from Arabic letters) mhmd are all `mhmd`. An initial vowel becomes A; a word with
 * digits stays as it is.
 */
export function findSkeleton(word: string): string {
  if (/\d/.test(word)) return word;
  let skeleton = word;
  for (const [pattern, sound] of soundRules) skeleton = skeleton.replaceAll(pattern, sound);
  return skeleton;
}
