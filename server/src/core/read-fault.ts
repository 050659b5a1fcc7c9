/** What is wrong with a JSON file of an operator. The parser's own message would quote the file. */
export function describeReadFault(path: string, cause: unknown): string {
  if (cause instanceof SyntaxError) return `${path} must be a JSON file`;
  const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
  return `${path} cannot be read (${reason}): check that it exists and its permissions`;
}
