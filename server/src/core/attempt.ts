/** Undefined where `read` throws an Error, as decoders of libraries do on invalid text. */
export function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof Error) return undefined;
    throw cause;
  }
}
