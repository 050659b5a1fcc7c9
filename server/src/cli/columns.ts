/** Sections, tables and ages, as commands show them to a person. */

/** A title with its lines below; without lines it is complete by itself. */
export type Section = readonly [title: string, lines?: readonly string[]];

export function formatSections(sections: readonly Section[]): string {
  return sections
    .map(([title, lines]) =>
      [title, ...(lines?.length === 0 ? ['none'] : (lines ?? [])).map((line) => `  ${line}`)]
        .map(printable)
        .join('\n'),
    )
    .join('\n');
}

/** Texts of counterparties and persons must not move the cursor or reverse what stands around them. */
const printable = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '\uFFFD');

/** Rows under their titles; nothing without rows. Columns of numbers are aligned to the right. */
export function formatColumns(
  titles: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string[] {
  if (rows.length === 0) return [];
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => String(row[column] ?? '').length)),
  );
  const format = (cells: readonly (string | number)[]): string =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        const isNumber = typeof rows[0]?.[column] === 'number';
        return isNumber ? String(cell).padStart(width) : String(cell).padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return [titles, ...rows].map(format);
}

/** The two largest units: `3d 4h`. */
export function formatAge(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const parts = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'm'],
    [whole % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return '0s';
  return parts
    .slice(first, first + 2)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ');
}
