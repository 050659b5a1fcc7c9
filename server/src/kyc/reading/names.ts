import anyAscii from 'any-ascii';

/**
 * Names as machine-readable zones write them (ICAO 9303-3, section 6): capitals A to Z, after the
 * tables of the standard for Latin and Cyrillic letters. Scripts without a table here go through
 * any-ascii, so their names can differ from a document's that is right.
 */

/** The recommended form first, then what states use as well. */
const latin: Readonly<Record<string, readonly string[]>> = {
  Ä: ['AE', 'A'],
  Å: ['AA', 'A'],
  Æ: ['AE'],
  Ð: ['D'],
  Đ: ['D'],
  Ñ: ['N', 'NXX'],
  Ö: ['OE', 'O'],
  Ø: ['OE', 'O'],
  Œ: ['OE'],
  Ü: ['UE', 'UXX', 'U'],
  ß: ['SS'],
  ẞ: ['SS'],
  Þ: ['TH'],
  Ĳ: ['IJ'],
  Ł: ['L'],
  Ŋ: ['N'],
  ı: ['I'],
};

const cyrillic: Readonly<Record<string, readonly string[]>> = {
  А: ['A'],
  Б: ['B'],
  В: ['V'],
  Г: ['G', 'H'],
  Д: ['D'],
  Е: ['E'],
  Ё: ['E', 'IO'],
  Ж: ['ZH'],
  З: ['Z'],
  И: ['I', 'Y'],
  Й: ['I'],
  К: ['K'],
  Л: ['L'],
  М: ['M'],
  Н: ['N'],
  О: ['O'],
  П: ['P'],
  Р: ['R'],
  С: ['S'],
  Т: ['T'],
  У: ['U'],
  Ф: ['F'],
  Х: ['KH'],
  Ц: ['TS'],
  Ч: ['CH'],
  Ш: ['SH'],
  Щ: ['SHCH'],
  Ъ: ['IE'],
  Ы: ['Y'],
  Ь: [''],
  Э: ['E'],
  Ю: ['IU'],
  Я: ['IA'],
  Є: ['IE'],
  І: ['I'],
  Ї: ['I'],
  Ґ: ['G'],
  Ў: ['U'],
};

/** The words of a name, each with the ways in which a zone may write it, the recommended one first. */
export function listSpellings(name: string): string[][] {
  const words = name
    .normalize('NFC')
    .split(/[\s\-‐‑.,/]+/)
    .map((word) => spellWord(word))
    .filter((spellings) => spellings[0] !== '');
  return words;
}

const spellingsMax = 64;

function spellWord(word: string): string[] {
  let spellings = [''];
  for (const letter of word) {
    const choices = spellLetter(letter);
    const next = spellings.flatMap((begun) => choices.map((choice) => begun + choice));
    // A name of many such letters keeps the forms that use the recommended one most.
    spellings = next.slice(0, spellingsMax);
  }
  return [...new Set(spellings)];
}

function spellLetter(letter: string): readonly string[] {
  const known = latin[letter] ?? cyrillic[letter];
  if (known !== undefined) return known;
  const capital = letter.toLocaleUpperCase('en');
  const ofCapital = latin[capital] ?? cyrillic[capital];
  if (ofCapital !== undefined) return ofCapital;
  const base = capital.normalize('NFD').replaceAll(/\p{Mark}/gu, '');
  if (/^[A-Z]$/.test(base)) return [base];
  return [
    anyAscii(letter)
      .toUpperCase()
      .replaceAll(/[^A-Z]/g, ''),
  ];
}

/** The recommended form of a whole name. */
export function transliterate(name: string): string {
  return listSpellings(name)
    .map(([first = '']) => first)
    .join(' ');
}

export type Likeness = 'same' | 'similar' | 'different';

/**
 * `same`: the same words in the same order. `similar`: one has words that the other lacks, as a second
 * given name, or the zone had no room for the rest.
 */
export function compareNames(written: string, name: string, isCut: boolean): Likeness {
  const words = written.split(' ').filter((word) => word !== '');
  const spelled = listSpellings(name);
  const [joined, whole] = [words.join(''), joinSpellings(spelled)];
  if (whole.includes(joined)) return 'same';
  if (joined !== '' && isCut && whole.some((form) => form.startsWith(joined))) return 'similar';
  const [fewer, more] = [Math.min(words.length, spelled.length), new Set(words)];
  if (fewer === 0) return 'different';
  const shared = spelled.filter((forms) => forms.some((form) => more.has(form))).length;
  return shared === fewer ? 'similar' : 'different';
}

function joinSpellings(words: readonly (readonly string[])[]): string[] {
  return words.reduce<string[]>(
    (begun, forms) =>
      begun.flatMap((start) => forms.map((form) => start + form)).slice(0, spellingsMax),
    [''],
  );
}
