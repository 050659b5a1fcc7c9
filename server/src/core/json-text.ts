/** JSON in which whole numbers beyond 53 bits are texts. */
export function writeJson(value: unknown, indent = 0): string {
  return JSON.stringify(
    value,
    (_key, member: unknown) => (typeof member === 'bigint' ? member.toString() : member),
    indent,
  );
}
