import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Reads the values of docs/sandbox-values.md. */

const page = readFileSync(join(import.meta.dirname, '../docs/sandbox-values.md'), 'utf8');

/** Values by outcome, of the table row that begins with this destination. */
export function readValues(section: string, destination: string): Map<string, string> {
  const [, text = ''] = page.split(new RegExp(`^## ${section}`, 'm'));
  const rows = text
    .split('\n## ', 1)[0]
    ?.split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
  const [header = []] = rows ?? [];
  const row = rows?.find(([first = '']) => first.split(', ').includes(destination));
  assert.ok(row, `${section} ${destination}`);
  return new Map(header.slice(2).map((outcome, index) => [outcome, row[index + 2] ?? '']));
}
