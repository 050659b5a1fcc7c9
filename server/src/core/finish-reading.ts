let turn: Promise<void> | undefined;

/**
 * Resolves when everything that has arrived by now has been read from its connection: at once, and
 * together for all who ask.
 *
 * What is answered without waiting for anything would otherwise be written between two reads, and
 * wake the reader on the other side once for each answer, which costs as much as the answer itself.
 * What is asked of the database meanwhile is asked for more of them together.
 */
export function finishReading(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined;
      resolve();
    });
  });
  return turn;
}
