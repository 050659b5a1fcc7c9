/**
 * Long computations in a process that serves requests: after each slice, what waits in the event loop
 * runs first.
 */

export async function* inSlices<Item>(
  items: readonly Item[],
  size: number,
): AsyncGenerator<readonly Item[]> {
  for (let from = 0; from < items.length; from += size) {
    yield items.slice(from, from + size);
    await nextTurn();
  }
}

/** The portions of a text, together the whole. */
export async function* textInSlices(text: string, length: number): AsyncGenerator<string> {
  for (let from = 0; from < text.length; from += length) {
    yield text.slice(from, from + length);
    await nextTurn();
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
