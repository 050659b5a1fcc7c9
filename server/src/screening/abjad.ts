/**
 * Names in Arabic and Hebrew script, which write consonants and long vowels and omit short vowels.
 * Each letter of such a name must be found in the listed Latin name in order; Latin vowels that the
 * script does not write cost nothing. "حسين" (hsyn) is thus Hussein but not Hassan, which a comparison
 * by consonants alone cannot tell apart. The method is that of equivalence classes of letters by
 * Freeman, Condon and Ackerman, "Cross Linguistic Name Matching in English and Arabic" (NAACL 2006).
 */

/** Alif is a, waw w, ya y. */
const letters: Readonly<Record<string, string>> = {
  ...table('ا أ إ آ ٱ ء ؤ ئ ب پ ت ٹ ث ج چ ح خ د ڈ ذ', "a a a a a ' w y b p t t s j S h x d d d"),
  ...table(
    'ر ڑ ز ژ س ش ص ض ط ظ ع غ ف ڤ ق ك ک گ ل م ن ں',
    "r r z z s S s d t z ' g f f q k k g l m n n",
  ),
  ...table(
    'ه ہ ھ ة ۃ ۂ و ۆ ۇ ي ی ى ې ے ئ ێ ڵ ڕ ە ڭ ڧ',
    'h h h h h h w w w y y y y y y y l r e n q',
  ),
  ...table('א ב ג ד ה ו ז ח ט י כ ך ל מ ם נ ן', 'a b g d h w z h t y k k l m m n n'),
  ...table('ס ע פ ף צ ץ ק ר ש ת', "s ' p p z z q r S t"),
};

function table(foreign: string, latin: string): Record<string, string> {
  const to = latin.split(' ');
  return Object.fromEntries(foreign.split(' ').map((letter, index) => [letter, to[index] ?? '']));
}

const abjadScript = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;

export function isAbjad(text: string): boolean {
  return abjadScript.test(text);
}

/**
 * The letters of a word in Arabic or Hebrew script: ayin and hamza are `'`, kh is x, sh is S; marks
 * are dropped.
 */
export function readAbjad(word: string): string {
  const plain = word.normalize('NFC').replaceAll(/\p{Mn}/gu, '');
  // "Allah" has one written vowel; in compounds ("Abdullah") it is the u of the word before it.
  const spelled = plain.replace(/(?<=.)ال?ل[هہ]$/u, 'لله');
  return Array.from(spelled, (letter) => letters[letter] ?? '').join('');
}

/** The word in Latin letters, as it is searched by trigrams and skeleton. */
export function spellAbjad(abjad: string): string {
  const latin = abjad.replace(/^'/, 'a').replaceAll("'", '');
  return latin.replaceAll('x', 'kh').replaceAll('S', 'sh');
}

/** Latin spellings with the consonant of each class first; the others sound alike in some language. */
const digraphs: readonly (readonly [RegExp, string])[] = [
  [/tch|tsch|sch|sh|ch/g, 'S'],
  [/kh/g, 'x'],
  [/gh/g, 'g'],
  [/dh/g, 'd'],
  [/th/g, 't'],
  [/zh/g, 'z'],
  [/dj|dzh/g, 'j'],
  [/ph/g, 'f'],
  [/ts|tz/g, 'z'],
  [/ck/g, 'k'],
  [/ou|oo/g, 'U'],
  [/ee/g, 'I'],
  [/(.)\1+/g, '$1'],
];

/** For each abjad letter the Latin letters, after the digraphs, that stand for it. */
const classes: Readonly<Record<string, string>> = {
  a: 'aeo',
  w: 'wuUov',
  y: 'yiIej',
  e: 'aehi',
  h: 'h',
  x: 'xhk',
  j: 'jgyz',
  S: 'Ssc',
  s: 'scSztx',
  t: 't',
  d: 'dz',
  z: 'zsdc',
  g: 'gjr',
  q: 'qkgc',
  k: 'kcqxh',
  f: 'fvp',
  p: 'pfb',
  b: 'bvp',
};
const vowels = 'aeiouy';
const alifMissing = 0.6;
const longVowelMissing = 0.8;
const doubleVowelUnwritten = 0.75;
const finalHMissing = 0.5;
const finalVowelUnwritten = 0.6;
const consonantMissing = 1;
const latinConsonantMissing = 1;

/** The Latin word as `compareAbjad` reads it. */
function unifyDigraphs(latin: string): string {
  let unified = latin;
  for (const [pattern, letter] of digraphs) unified = unified.replaceAll(pattern, letter);
  return unified;
}

/**
 * The similarity, 0 to 1, of a word read by `readAbjad` and a Latin word: the least cost of an
 * alignment, as a share of the letters that must be found.
 */
export function compareAbjad(abjad: string, latin: string): number {
  const wanted = abjad.replaceAll(/(.)\1+/g, '$1');
  const given = unifyDigraphs(latin);
  let costs = [0];
  const isLastOf = (column: number): boolean => column === given.length && column > 3;
  for (const letter of given) {
    costs.push((costs.at(-1) ?? 0) + costOfLatin(letter, isLastOf(costs.length)));
  }
  for (let row = 0; row < wanted.length; row += 1) {
    const letter = wanted[row] ?? '';
    const missing = costOfMissing(letter, row === wanted.length - 1);
    const next = [(costs[0] ?? 0) + missing];
    for (let column = 1; column <= given.length; column += 1) {
      const other = given[column - 1] ?? '';
      const paired =
        (costs[column - 1] ?? 0) +
        costOfPair(letter, other, {
          isFirst: row === 0,
          isLast: row === wanted.length - 1,
        });
      const skipped = (costs[column] ?? 0) + missing;
      const inserted = (next[column - 1] ?? 0) + costOfLatin(other, isLastOf(column));
      next.push(Math.min(paired, skipped, inserted));
    }
    costs = next;
  }
  const length = Math.max(
    2,
    wanted.replaceAll(/['a]/g, '').length,
    given.replaceAll(/[aeiou]/g, '').length,
  );
  return Math.max(0, 1 - (costs.at(-1) ?? 0) / length);
}

/** Short vowels are not written; a vowel at the end is, mostly. */
function costOfLatin(letter: string, isLast: boolean): number {
  if (letter === 'U' || letter === 'I') return doubleVowelUnwritten;
  if (vowels.includes(letter)) return isLast ? finalVowelUnwritten : 0.02;
  return letter === 'h' ? 0.6 : latinConsonantMissing;
}

function costOfMissing(letter: string, isLast: boolean): number {
  if (letter === "'") return 0;
  if (letter === 'a') return alifMissing;
  if (letter === 'h' && isLast) return finalHMissing;
  return letter === 'w' || letter === 'y' || letter === 'e' ? longVowelMissing : consonantMissing;
}

function costOfPair(
  letter: string,
  other: string,
  { isFirst, isLast }: { isFirst: boolean; isLast: boolean },
): number {
  if (letter === other) return 0;
  // The feminine ending, written h.
  if (isLast && letter === 'h' && (other === 'a' || other === 'e')) return 0;
  if (letter === "'" || (isFirst && letter === 'a')) return vowels.includes(other) ? 0 : 1.2;
  const alike = classes[letter];
  if (alike === undefined) return 1.2;
  const place = alike.indexOf(other);
  if (place < 0) return 1.2;
  return place < 2 || letter === 'w' || letter === 'y' ? 0.05 : 0.25;
}
