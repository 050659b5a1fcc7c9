/**
 * Many commands go to the database side by side, and rows come back for some of them, in any order:
 * each says by its ordinal, from 1, which command it answers.
 *
 * @returns One value per command, in their order; undefined where no row came.
 */
export function placeByOrdinal<Row extends { ordinal: number }, Value>(
  commands: readonly unknown[],
  rows: readonly Row[],
  read: (row: Row) => Value,
): (Value | undefined)[] {
  const values: (Value | undefined)[] = Array.from({ length: commands.length });
  for (const row of rows) values[row.ordinal - 1] = read(row);
  return values;
}
