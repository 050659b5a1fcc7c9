/** Something about the embedded database that the person at the keyboard can put right; one line. */
export class EmbeddedDatabaseError extends Error {
  override name = 'EmbeddedDatabaseError';
}

/** True for an error of the operating system with one of these codes, such as ENOENT. */
export function isSystemError(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
