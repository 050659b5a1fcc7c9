/**
 * Which characters a text of a request may have. A name is compared with sanctions lists, shown to people and
 * written into files of banks, and must read the same everywhere.
 */

/** Unicode control characters, line separators and the byte order mark. */
const controlCharacters = /[\p{Cc}\u2028\u2029\ufeff]/u;

/**
 * Invisible characters where a script needs them: joiners after a letter or mark of a script whose letters
 * join or stack (Unicode Standard Annex 31, 2.3), spaces without width of scripts that write no spaces,
 * variation selectors of Chinese characters and pictographs, and joined pictographs.
 */
const needed =
  /(?<=[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Nkoo}\p{scx=Adlm}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}])[\u200c\u200d]|(?<=[\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}])\u200b|(?<=\p{scx=Mong})[\u180b-\u180f]|(?<=\p{scx=Han})[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]|(?<=\p{Extended_Pictographic})\ufe0f|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f?)\u200d(?=\p{Extended_Pictographic})/gu;

/**
 * Characters that show nothing or change the direction of others, those that Unicode keeps out of texts, and
 * combining marks without a character that they could stand on.
 */
const hidden =
  /[\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800\ufff9-\ufffb]|(?<![^\s\p{C}])\p{M}/u;

/** Describes the fault of the characters of a text, as the end of a sentence about it; undefined without one. */
export function findCharacterFault(text: string): string | undefined {
  if (!text.isWellFormed()) return 'must not contain malformed Unicode';
  if (hasControlCharacters(text)) return 'must not contain control characters';
  // Nearly all texts are in plain letters.
  if (!hidden.test(text)) return undefined;
  if (!hidden.test(text.replaceAll(needed, ''))) return undefined;
  return 'must not contain invisible characters, direction marks or combining marks without a letter';
}

export function hasControlCharacters(text: string): boolean {
  return controlCharacters.test(text);
}
