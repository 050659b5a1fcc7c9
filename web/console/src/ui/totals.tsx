import type { ReactNode } from 'react';
import './totals.css';

type Total = { title: string; value: ReactNode; note: string };

/** A few figures in a row, each with its name and what it counts. */
export function Totals({ label, totals }: { label: string; totals: readonly Total[] }): ReactNode {
  return (
    <section className="panel totals" aria-label={label}>
      {totals.map(({ title, value, note }) => (
        <div key={title}>
          <h2>{title}</h2>
          <strong className="num">{value}</strong>
          <span className="small faint">{note}</span>
        </div>
      ))}
    </section>
  );
}
