import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, one } from '../db/rows.ts';

/**
 * Decisions that take effect once enough different persons have made the same one. A person is
 * recognized by the letters and digits of the name, so that spaces, case and invisible characters make
 * no second one.
 */

export type Deciding = { by: string; reason: string };

export type DecisionSubject = {
  action: string;
  /** What it is about. */
  object: string;
  /** The second person must name the same ones. */
  values: Readonly<Record<string, string>>;
};

const decide = defineQuery({
  name: 'decide_together',
  text: `select decide_together($1, $2, $3, $4, $5, $6, $7) as result`,
  columns: { result: column.oneOf('approved', 'waiting', 'other_values') },
});

/**
 * Records the decision in the caller's transaction. `waiting`: for another person, for a day at most.
 *
 * @throws AppError illegal_move where another person has asked for other values.
 */
export async function approve(
  session: Session,
  { action, object, values }: DecisionSubject,
  { by, reason, personsNeeded }: Deciding & { personsNeeded: number },
): Promise<'approved' | 'waiting'> {
  const sorted = Object.fromEntries(
    Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  const { result } = await one(session, decide, [
    newId(),
    action,
    object,
    JSON.stringify(sorted),
    by,
    reason,
    personsNeeded,
  ]);
  if (result !== 'other_values') return result;
  throw new AppError(
    'illegal_move',
    'another person has asked for this with other values; give the same ones, or wait a day',
  );
}
