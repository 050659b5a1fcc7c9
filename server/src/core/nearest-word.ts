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
function countEdits(from: string, to: string): number {
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

/** A longer name is none of ours, and would take long to compare. */
const nameLengthMax = 100;

/** A quarter of the letters may differ: `scheduled_at` and `scheduled_for` differ by three of twelve. */
const lettersPerEditUsual = 4;

/**
 * The member of which a name is probably another spelling: `scheduledFor`, `schedule_for`, or
 * `source_currency` for `source_currency_code`.
 */
export function findMeant(
  name: string,
  members: readonly string[],
  lettersPerEdit = lettersPerEditUsual,
): string | undefined {
  const given = fold(name);
  if (given.length === 0 || given.length > nameLengthMax) return undefined;
  let nearest: { member: string; edits: number } | undefined;
  for (const member of members) {
    const meant = fold(member);
    // A missing or additional end is one edit.
    const isPart = meant.startsWith(`${given}_`) || given.startsWith(`${meant}_`);
    const allowed = Math.floor(Math.min(given.length, meant.length) / lettersPerEdit);
    // Counting is slow, and each letter that one has more is an edit.
    if (!isPart && Math.abs(given.length - meant.length) > allowed) continue;
    const edits = isPart ? 1 : countEdits(given, meant);
    if (!isPart && edits > allowed) continue;
    if (nearest === undefined || edits < nearest.edits) nearest = { member, edits };
  }
  return nearest?.member;
}

/** In lower case, with an underscore between words. */
function fold(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase();
}
