import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Schemas } from '../../api/client.ts';
import { formatCount } from '../../format/amount.ts';
import { Panel } from '../../ui/parts.tsx';
import { columns, type Mapping } from './columns.ts';

type Fault = Schemas['BatchFault'];

type Props = {
  rows: readonly string[][];
  mapping: Mapping;
  faults: readonly Fault[];
  onChange: (row: number, column: number, value: string) => void;
};

const shownAtFirst = 50;

/** The rows as cells to edit; those with faults come first and say what is wrong. */
export function Grid({ rows, mapping, faults, onChange }: Props): ReactNode {
  const [shown, setShown] = useState(shownAtFirst);
  const kept = mapping.flatMap((name, index) => (name === '' ? [] : [{ name, index }]));
  const faulty = new Set(faults.map(({ row }) => row - 1));
  const order = [...faulty, ...rows.keys().filter((index) => !faulty.has(index))];
  return (
    <Panel title="Rows" isFlush>
      <div className="scroll" tabIndex={0} role="group" aria-label="Rows of the file">
        <table className="table grid">
          <thead>
            <tr>
              <th scope="col">Row</th>
              {kept.map(({ name }) => (
                <th key={name} scope="col">
                  {columns.find((column) => column.name === name)?.label ?? name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {order.slice(0, shown).map((row) => (
              <tr key={row}>
                <td className="num faint">
                  {row + 1}
                  <RowFault faults={faults} row={row} mapping={mapping} />
                </td>
                {kept.map(({ name, index }) => (
                  <Cell
                    key={name}
                    name={`${name} of row ${row + 1}`}
                    value={rows[row]?.[index] ?? ''}
                    fault={faults.find((fault) => fault.row === row + 1 && fault.column === name)}
                    onText={(value) => onChange(row, index, value)}
                  />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {order.length > shown ? (
        <p className="more">
          <Button className="button" onPress={() => setShown(shown * 4)}>
            Show more of {formatCount(order.length)} rows
          </Button>
        </p>
      ) : null}
    </Panel>
  );
}

type RowFaultProps = { faults: readonly Fault[]; row: number; mapping: Mapping };

/** Faults of the row as a whole, or of a column that the file does not have. */
function RowFault({ faults, row, mapping }: RowFaultProps): ReactNode {
  const found = faults.filter((fault) => fault.row === row + 1 && !mapping.includes(fault.column));
  return found.map((fault) => (
    <span key={fault.code + fault.column} className="fault">
      {fault.detail} {fault.missing.map(({ label }) => label).join(', ')}
    </span>
  ));
}

type CellProps = {
  name: string;
  value: string;
  fault: Fault | undefined;
  onText: (value: string) => void;
};

function Cell({ name, value, fault, onText }: CellProps): ReactNode {
  return (
    <td>
      <input
        className="input"
        aria-label={name}
        aria-invalid={fault !== undefined}
        title={fault?.detail}
        value={value}
        onChange={(event) => onText(event.target.value)}
      />
      {fault === undefined ? null : <span className="fault">{fault.detail}</span>}
    </td>
  );
}
