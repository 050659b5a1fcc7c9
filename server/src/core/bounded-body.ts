/**
 * The body of an answer of another system, of `bytesMax` bytes at most, so that it cannot exhaust memory.
 * Undefined where it is longer; the rest is then not read. The bytes are counted, because the declared
 * length may be wrong.
 */
export async function readBounded(
  response: Response,
  bytesMax: number,
): Promise<Buffer | undefined> {
  const collector = createByteCollector(bytesMax);
  const body: AsyncIterable<Uint8Array> | null = response.body;
  for await (const chunk of body ?? []) {
    if (!collector.add(chunk)) return undefined;
  }
  return collector.take();
}

export type ByteCollector = {
  /** False where the bytes are more than allowed; those that were collected are then dropped. */
  add(piece: Uint8Array): boolean;
  /** Everything that was added. */
  take(): Buffer;
};

/**
 * Joins the pieces of a body as they arrive, in one buffer that doubles. The sender decides how small the
 * pieces are, and a list of pieces of one byte takes several hundred times the memory of their bytes.
 */
export function createByteCollector(bytesMax: number): ByteCollector {
  // Most bodies arrive in one piece, which is not copied.
  let joined: Buffer = Buffer.alloc(0);
  let length = 0;
  let isOwn = false;
  let isTooLong = false;
  const makeRoom = (end: number): void => {
    if (isOwn && end <= joined.length) return;
    const room = Buffer.allocUnsafe(Math.min(bytesMax, Math.max(2 * end, roomBytesMin)));
    room.set(joined.subarray(0, length));
    joined = room;
    isOwn = true;
  };
  return {
    add: (piece) => {
      const end = length + piece.length;
      if (isTooLong || end > bytesMax) {
        isTooLong = true;
        joined = Buffer.alloc(0);
        length = 0;
        return false;
      }
      if (length === 0) {
        joined = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
        isOwn = false;
      } else {
        makeRoom(end);
        joined.set(piece, length);
      }
      length = end;
      return true;
    },
    take: () => joined.subarray(0, length),
  };
}

const roomBytesMin = 4096;
