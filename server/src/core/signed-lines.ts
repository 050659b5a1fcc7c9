/**
 * Whether a line of JSON that ends with a text member is whole. One that a crash or a full disk cut may end
 * with a brace too, of a signed statement within it, whose quotes are escaped.
 */
export function isWholeLine(line: string): boolean {
  return /[^\\]"\}$/.test(line);
}
