import Table from 'cli-table3';
import type { Output } from './output.ts';

export type Column<Row> = {
  readonly title: string;
  readonly isRight?: boolean;
  read(row: Row): string;
};

const none = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** Rows under their titles; a sentence where there are none. */
export function formatTable<Row>(
  { colors }: Output,
  rows: readonly Row[],
  { columns, empty }: { columns: readonly Column<Row>[]; empty: string },
): string {
  if (rows.length === 0) return empty;
  const table = new Table({
    head: columns.map(({ title }) => colors.dim(title)),
    chars: none,
    colAligns: columns.map(({ isRight }) => (isRight === true ? 'right' : 'left')),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  table.push(...rows.map((row) => columns.map(({ read }) => printable(read(row)))));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Names and values of one thing, one a line. Empty values are left out. */
export function formatFields(
  { colors }: Output,
  fields: readonly (readonly [name: string, value: string])[],
): string {
  const shown = fields.filter(([, value]) => value !== '');
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown
    .map(([name, value]) => `${colors.dim(name.padEnd(width))}  ${printable(value)}`)
    .join('\n');
}

/** Texts come from others: nothing of them may steer the terminal. */
export function printable(text: string): string {
  // Colors that this program set stay.
  return text.replace(/(?!\u001b\[\d+m)[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '�');
}
