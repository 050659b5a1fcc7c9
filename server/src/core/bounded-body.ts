/**
 * The body of an answer of another system, of `bytesMax` bytes at most, so that it cannot exhaust memory.
 * Undefined where it is longer; the rest is then not read. The bytes are counted, because the declared
 * length may be wrong.
 */
export async function readBounded(
  response: Response,
  bytesMax: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const body: AsyncIterable<Uint8Array> | null = response.body;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}
