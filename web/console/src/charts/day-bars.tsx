import { scaleBand, scaleLinear } from 'd3-scale';
import { type ReactNode, useId } from 'react';
import { formatTick } from '../format/amount.ts';
import { formatDay } from '../format/time.ts';
import type { Day } from '../pages/overview/figures.ts';
import './charts.css';

const series = [
  { name: 'completed', label: 'Completed' },
  { name: 'open', label: 'Open' },
  { name: 'canceled', label: 'Canceled' },
] as const;

const [width, height, left, bottom] = [720, 230, 34, 24];

/** Payouts per day, stacked by outcome. The same figures are in the table that follows for readers. */
export function DayBars({ days }: { days: readonly Day[] }): ReactNode {
  const id = useId();
  const highest = Math.max(4, ...days.map((day) => day.completed + day.open + day.canceled));
  const x = scaleBand(
    days.map(({ date }) => date),
    [left, width],
  ).paddingInner(0.28);
  const y = scaleLinear([0, highest], [height - bottom, 8]).nice(4);
  const every = Math.ceil(days.length / 6);
  return (
    <figure className="chart">
      <Legend />
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-labelledby={id}>
        <title id={id}>Payouts per day by outcome, {days.length} days</title>
        {y.ticks(4).map((tick) => (
          <g key={tick} className="tick">
            <line x1={left} x2={width} y1={y(tick)} y2={y(tick)} />
            <text x={left - 8} y={y(tick) + 4} textAnchor="end">
              {formatTick(tick)}
            </text>
          </g>
        ))}
        {days.map((day, index) => (
          <g key={day.date}>
            <title>
              {`${day.date}: ${series.map(({ name, label }) => `${label} ${day[name]}`).join(', ')}`}
            </title>
            <rect
              x={x(day.date)}
              y={8}
              width={x.bandwidth()}
              height={height - bottom - 8}
              opacity={0}
            />
            {stack(day).map(({ name, from, to }) => (
              <rect
                key={name}
                className={name}
                x={x(day.date)}
                width={x.bandwidth()}
                y={y(to)}
                height={Math.max(0, y(from) - y(to))}
              />
            ))}
            {(days.length - 1 - index) % every === 0 ? (
              <text
                className="axis"
                x={(x(day.date) ?? 0) + x.bandwidth() / (index === days.length - 1 ? 1 : 2)}
                y={height - 6}
                textAnchor={index === days.length - 1 ? 'end' : 'middle'}
              >
                {formatDay(new Date(day.date))}
              </text>
            ) : null}
          </g>
        ))}
      </svg>
      <DayTable days={days} />
    </figure>
  );
}

function stack(day: Day): { name: string; from: number; to: number }[] {
  let from = 0;
  return series.map(({ name }) => {
    const part = { name, from, to: from + day[name] };
    from = part.to;
    return part;
  });
}

function Legend(): ReactNode {
  return (
    <ul className="legend" aria-hidden="true">
      {series.map(({ name, label }) => (
        <li key={name}>
          <i className={name} />
          {label}
        </li>
      ))}
    </ul>
  );
}

function DayTable({ days }: { days: readonly Day[] }): ReactNode {
  return (
    <table className="visually-hidden">
      <caption>Payouts per day</caption>
      <thead>
        <tr>
          <th scope="col">Day</th>
          {series.map(({ name, label }) => (
            <th key={name} scope="col">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {days.map((day) => (
          <tr key={day.date}>
            <th scope="row">{day.date}</th>
            {series.map(({ name }) => (
              <td key={name}>{day[name]}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
