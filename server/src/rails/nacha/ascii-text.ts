/** Letters whose plain form is not a letter and a mark. */
const plainForms: Readonly<Record<string, string>> = {
  ß: 'ss',
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
  ı: 'i',
  '’': "'",
  '‘': "'",
  '–': '-',
  '—': '-',
};

/**
 * A name or address in the characters that every bank takes, cut to the field's length as the rules
 * have it. "" where nothing of it is left: names of other scripts need a Latin form of their own.
 */
export function toAsciiText(text: string, lengthMax: number): string {
  const plain = Array.from(text.normalize('NFKD'))
    .map((character) => plainForms[character] ?? character)
    .join('')
    .replace(/\p{M}/gu, '')
    // The asterisk and the backslash end a part of a field in IAT addenda.
    .replace(/[^ -~]|[*\\]/g, ' ')
    .replace(/ +/g, ' ')
    .trim();
  return plain.slice(0, lengthMax).trimEnd();
}
