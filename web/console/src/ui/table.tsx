import { type ReactNode, useDeferredValue } from 'react';
import { SkeletonRows } from './parts.tsx';

/** A column: `name` keeps names of others narrow, `text` gives sentences room, `right` is for numbers. */
export type Column<Row> = {
  head: string;
  kind?: 'right' | 'name' | 'text';
  /** The head is for screen readers only, as over buttons. */
  isHeadHidden?: boolean;
  cell: (row: Row) => ReactNode;
};

/** What can be done with a row. */
export function actionsColumn<Row>(cell: Column<Row>['cell']): Column<Row> {
  return { head: 'Actions', isHeadHidden: true, kind: 'right', cell };
}

type Props<Row> = {
  /** What the table is, for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  /** Undefined while they are loaded. */
  rows: readonly Row[] | undefined;
  keyOf: (row: Row, index: number) => string;
  className?: string;
  skeletonRows?: number;
  onRow?: (row: Row) => void;
};

/**
 * Scrolls sideways on its own, also by the keyboard. On a phone each row is a card with the heads
 * beside its cells, unless a class of its own places them.
 */
export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
  className = 'cards',
  skeletonRows = 4,
  onRow,
}: Props<Row>): ReactNode {
  // Rows are drawn a few at a time, so that a long list does not stop what a person does meanwhile.
  const shown = useDeferredValue(rows, undefined);
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label={label}>
      <table className={`table ${className}`}>
        <thead>
          <tr>
            {columns.map(({ head, kind, isHeadHidden = false }) => (
              <th key={head} scope="col" className={kind === 'right' ? 'right' : undefined}>
                {isHeadHidden ? <span className="visually-hidden">{head}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown === undefined ? (
            <SkeletonRows rows={skeletonRows} columns={columns.length} />
          ) : (
            shown.map((row, index) => (
              <tr
                key={keyOf(row, index)}
                className={onRow === undefined ? undefined : 'link'}
                onClick={onRow === undefined ? undefined : () => onRow(row)}
              >
                {columns.map(({ head, kind, isHeadHidden = false, cell }) => (
                  <td key={head} className={kind} data-head={isHeadHidden ? undefined : head}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))
          )}
        </tbody>
      </table>
    </div>
  );
}
