/**
 * Latin letters whose plain form is not a letter and a mark. Most forms are those of passports (ICAO
 * Doc 9303, part 3, section 6), with one letter where ICAO has two and the plain letter is common.
 */
const plainForms: Readonly<Record<string, string>> = {
  ß: 'ss',
  ẞ: 'SS',
  æ: 'ae',
  Æ: 'AE',
  œ: 'oe',
  Œ: 'OE',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  ð: 'd',
  Ð: 'D',
  þ: 'th',
  Þ: 'Th',
  ħ: 'h',
  Ħ: 'H',
  ŧ: 't',
  Ŧ: 'T',
  ŋ: 'n',
  Ŋ: 'N',
  ə: 'e',
  Ə: 'E',
  ɓ: 'b',
  Ɓ: 'B',
  ɗ: 'd',
  Ɗ: 'D',
  ɖ: 'd',
  Ɖ: 'D',
  ƙ: 'k',
  Ƙ: 'K',
  ƴ: 'y',
  Ƴ: 'Y',
  ɛ: 'e',
  Ɛ: 'E',
  ɔ: 'o',
  Ɔ: 'O',
  ĸ: 'q',
  ı: 'i',
};

/** Punctuation that has a plain form. */
const plainSigns: Readonly<Record<string, string>> = {
  '’': "'",
  '‘': "'",
  ʼ: "'",
  ʻ: "'",
  '′': "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '«': '"',
  '»': '"',
  '‐': '-',
  '‒': '-',
  '–': '-',
  '—': '-',
  '−': '-',
};

/**
 * A name or an address in printable ASCII; undefined where a letter or a digit has no Latin form, so
 * that no part of a text is lost. Letters lose their marks, other signs become a space.
 */
export function toPlainText(text: string): string | undefined {
  const plain = Array.from(text.normalize('NFKD'))
    .map((character) => plainForms[character] ?? plainSigns[character] ?? character)
    .join('')
    .replace(/[\p{M}\p{Cf}]/gu, '');
  if (/[^\P{L}A-Za-z]|[^\P{N}0-9]/u.test(plain)) return undefined;
  return (
    plain
      // The asterisk and the backslash end a part of a field in IAT addenda.
      .replace(/[^ -~]|[*\\]/gu, ' ')
      .replace(/ +/g, ' ')
      .trim()
  );
}

/** The same, cut to the field's length, as Nacha's rules require for names. */
export function toAsciiText(text: string, lengthMax: number): string | undefined {
  return toPlainText(text)?.slice(0, lengthMax).trimEnd();
}
