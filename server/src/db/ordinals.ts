/**
 * Puts rows into the order of the commands that they answer; `ordinal` counts the commands from 1.
 *
 * @returns One value per command; undefined for a command without a row.
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
