import type { ClearanceRow } from './clearances.sql.ts';
import { entryVersionOf, type Hit } from './hit.ts';

/** Whether clearances cover all hits of a recipient. */

type Clearance = Pick<
  ClearanceRow,
  'id' | 'list' | 'entry_id' | 'entry_hash' | 'subject_index' | 'cleared_at' | 'until'
>;

/**
 * The clearances that cover the hits, one for each; undefined where one is missing, the entry has
 * changed, or the recipient's data (`subjectIndex`).
 */
export function findCover<One extends Clearance>(
  clearances: readonly One[],
  hits: readonly Hit[],
  subjectIndex: Buffer,
): readonly [One, ...One[]] | undefined {
  const byEntry = new Map<string, One>();
  for (const one of clearances) {
    if (one.subject_index.equals(subjectIndex)) byEntry.set(nameEntry(one), one);
  }
  const found = hits.flatMap((hit) => byEntry.get(entryVersionOf(hit)) ?? []);
  const [first, ...others] = found;
  return first === undefined || found.length < hits.length ? undefined : [first, ...others];
}

const nameEntry = ({ list, entry_id: entryId, entry_hash: entryHash }: Clearance): string =>
  entryVersionOf({ list, entryId, entryHash });

/** The newest decision, and the earliest end. */
export function describeCover(covering: readonly [Clearance, ...Clearance[]]) {
  const newest = covering.reduce((a, b) => (a.cleared_at >= b.cleared_at ? a : b));
  const until = covering.map((one) => one.until).reduce((a, b) => (a <= b ? a : b));
  return { id: newest.id, until };
}
