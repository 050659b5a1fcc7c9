/** Words that differ by more edits are not suggested. */
const editsMax = 4;

/** The candidate that is probably meant, if there is one. */
export function findNearest(word: string, candidates: readonly string[]): string | undefined {
  const [nearest] = candidates
    .map((candidate) => ({ candidate, edits: countEdits(word, candidate) }))
    .filter(({ edits }) => edits <= editsMax)
    .toSorted((a, b) => a.edits - b.edits);
  return nearest?.candidate;
}

/** The Levenshtein distance. */
export function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let line = 1; line <= from.length; line += 1) {
    const next = [line];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (from[line - 1] === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
