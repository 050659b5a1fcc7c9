import anyAscii from 'any-ascii';
import { isAbjad, readAbjad, spellAbjad } from './abjad.ts';

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
  /** Of a searched word in Arabic or Hebrew script, its letters as `abjad.ts` compares them. */
  readonly abjad?: string;
  /** A searched Chinese character or Korean syllable, which has no typing errors. */
  readonly isSyllable?: boolean;
  /** Of a word in an organisation's name, see `organisation-words.ts`. */
  readonly meaning?: string;
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
  const folded = name.slice(0, textLengthMax).normalize('NFKC');
  const abjads = new Map<string, string>();
  const syllables = new Set<string>();
  const latin = spellLatin(folded, { abjads, syllables });
  const texts = joinLetters(latin.split(/[^a-z0-9]+/).filter((text) => text !== ''));
  return texts
    .flatMap(splitServant)
    .slice(0, wordsMax)
    .map((text) => {
      const abjad = abjads.get(text);
      return {
        ...readWord(text),
        ...(abjad === undefined ? {} : { abjad }),
        ...(syllables.has(text) ? { isSyllable: true } : {}),
      };
    });
}

/** By Latin text, what is known of the words in other scripts. */
type Origins = { readonly abjads: Map<string, string>; readonly syllables: Set<string> };

function spellLatin(text: string, { abjads, syllables }: Origins): string {
  const spelled = joinArabic(text)
    .replaceAll(
      /[\p{Script=Arabic}\p{Script=Hebrew}][\p{Script=Arabic}\p{Script=Hebrew}\p{M}]*/gu,
      (run) =>
        splitArabic(run).replaceAll(/\S+/g, (word) => {
          if (!isAbjad(word)) return word;
          const abjad = readAbjad(word);
          const latin = spellAbjad(abjad);
          abjads.set(latin, abjad);
          return latin;
        }),
    )
    .replaceAll(/[\p{Script=Han}\p{Script=Hangul}]/gu, (character) => {
      const read = anyAscii(character).toLowerCase();
      const latin = /\p{Script=Hangul}/u.test(character) ? spellKorean(read) : read;
      syllables.add(latin);
      return ` ${latin} `;
    });
  return anyAscii(spelled).toLowerCase().replaceAll(/['`"]/g, '').replaceAll('&', ' and ');
}

/** Korean syllables as the lists spell them: in McCune-Reischauer without its marks. */
function spellKorean(syllable: string): string {
  if (syllable === 'i') return 'ri';
  return syllable
    .replace(/^g/, 'k')
    .replace(/^d/, 't')
    .replace(/^b/, 'p')
    .replace(/^r(?![i])/, 'n')
    .replace(/eo|eu/, (vowel) => (vowel === 'eo' ? 'o' : 'u'));
}

/** Particles that would otherwise be read without their vowels. */
const arabicParticles: Readonly<Record<string, string>> = {
  بن: 'bin',
  ابن: 'ibn',
  بنت: 'bint',
  ابو: 'abu',
  أبو: 'abu',
  ال: 'al',
  آل: 'al',
  عبد: 'abd',
};

/** Words that Latin spellings join: Hidayatullah, Nasiruddin, Abdulhai. */
function joinArabic(text: string): string {
  return text
    .replaceAll(/[\u064B-\u065F\u0670\u0640\u200C\u200D]/gu, '')
    .replaceAll(/(?<=\p{Script=Arabic}{2}) ?(?:ال?ل[هہ])(?!\p{Script=Arabic})/gu, 'الله')
    .replaceAll(/(?<=\p{Script=Arabic}{2}) ?(?:الد[يی]ن)(?!\p{Script=Arabic})/gu, 'دين')
    .replaceAll(
      /(?<!\p{Script=Arabic})عبد ?ال(?=[^ل]\p{Script=Arabic}{0,2}(?!\p{Script=Arabic}))/gu,
      'عبدل',
    );
}

/** Arabic joins the article to its word, and "servant of" is often written as one word with it. */
function splitArabic(plain: string): string {
  const known = arabicParticles[plain];
  if (known !== undefined) return known;
  const servant = /^عبدال(?!ل?له)(.{2,})$/u.exec(plain)?.[1];
  if (servant !== undefined) return `abd al ${servant}`;
  const afterAbu = /^[اأ]بو(?:ال)?(.{3,})$/u.exec(plain)?.[1];
  if (afterAbu !== undefined) return `abu ${afterAbu}`;
  const afterArticle = /^ال(?!ل?له)(.{2,})$/u.exec(plain)?.[1];
  return afterArticle === undefined ? plain : `al ${afterArticle}`;
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

/** One word in plain Latin letters, such as a stored one. */
export function readWord(whole: string): NameWord {
  const text = whole.slice(0, wordLengthMax);
  const isParticle = particles.has(text);
  const kind = isParticle ? 'particle' : /^[a-z]$/.test(text) ? 'initial' : 'word';
  return { text, plain: simplifySpelling(text), skeleton: findSkeleton(text), kind };
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
