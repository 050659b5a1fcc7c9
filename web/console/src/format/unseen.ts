/** A part of a text; `code` stands for a character that cannot be seen. */
export type Part = { text: string; code?: string };

/**
 * Controls, format characters (direction marks and overrides, zero width spaces, soft hyphens, tags) and
 * unusual spaces. The joiners U+200C and U+200D are letters' own in Persian, Indic scripts and emoji, and
 * so is the no-break space of many names.
 */
const unseen =
  /(?![\u200C\u200D])[\p{Cc}\p{Cf}\u115F\u1160\u2000-\u200A\u2028\u2029\u2800\u3164\uFFA0]/gu;

export function splitUnseen(text: string): Part[] {
  const parts: Part[] = [];
  let start = 0;
  for (const { 0: found, index } of text.matchAll(unseen)) {
    if (index > start) parts.push({ text: text.slice(start, index) });
    const digits = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    parts.push({ text: found, code: `U+${digits}` });
    start = index + found.length;
  }
  if (start < text.length) parts.push({ text: text.slice(start) });
  return parts;
}
