import type { Session, Statement } from '../../src/db/postgres/pool.ts';

/** Rows of a statement that only a test sends, in the shape that the test expects. */
export async function readRows<Row>(
  session: Session,
  statement: Statement,
  values?: readonly unknown[],
): Promise<Row[]> {
  return (await session.query(statement, values)).rows as Row[];
}
