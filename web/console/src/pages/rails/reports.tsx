import type { ReactNode } from 'react';
import type { Rail, RailResults } from '../../api/operator-types.ts';
import { formatCount, formatCountOf, formatPercent } from '../../format/amount.ts';
import { formatLength } from '../../format/time.ts';
import { Amount, Empty, Panel, Tag, Time } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';

type Funds = Rail['prefunding'][number] & { rail: string };

const decimal = (value: string, currency: string): ReactNode =>
  value === '' ? (
    <span className="faint">Not known</span>
  ) : (
    <Amount value={value} currency={currency} />
  );

const fundsColumns: readonly Column<Funds>[] = [
  { head: 'Rail', cell: ({ rail }) => <code>{rail}</code> },
  { head: 'Funds', kind: 'right', cell: ({ funds, currency }) => decimal(funds, currency) },
  {
    head: 'Committed',
    kind: 'right',
    cell: ({ committed, currency }) => decimal(committed, currency),
  },
  {
    head: 'Scheduled, 24 hours',
    kind: 'right',
    cell: ({ scheduled, currency }) => decimal(scheduled, currency),
  },
  {
    head: 'Left after both',
    kind: 'right',
    cell: ({ left, currency }) =>
      left.startsWith('-') ? (
        <Tag tone="danger" icon="alert">
          {decimal(left, currency)}
        </Tag>
      ) : (
        decimal(left, currency)
      ),
  },
];

/** What rails have to pay from, and what committed and scheduled payouts will take. */
export function Prefunding({ rails }: { rails: readonly Rail[] }): ReactNode {
  const rows = rails.flatMap(({ rail, prefunding }) =>
    prefunding.map((funds): Funds => ({ rail, ...funds })),
  );
  return (
    <Panel title="Prefunding" isFlush>
      {rows.length === 0 ? (
        <Empty icon="check" title="No rail pays from funds that are known">
          Funds appear once a rail reports them, or a payout is committed.
        </Empty>
      ) : (
        <Table
          label="Table of prefunding"
          columns={fundsColumns}
          rows={rows}
          keyOf={({ rail, currency }) => `${rail} ${currency}`}
        />
      )}
    </Panel>
  );
}

const orNone = (time: string): ReactNode =>
  time === '' ? <span className="faint">None</span> : <Time value={time} isShort />;

function Results({ group }: { group: RailResults | null }): ReactNode {
  if (group === null) return <span className="faint">No payouts</span>;
  const { committed, success, median_seconds: time, on_time: onTime } = group;
  return (
    <span>
      {formatCount(committed)} committed
      <span className="difference">
        {success === null ? 'none ended' : `${formatPercent(success)} succeeded`}
        {time === null ? '' : `, median ${formatLength(time)}`}
        {onTime === null ? '' : `, ${formatPercent(onTime)} by the time quoted`}
      </span>
      <Cost group={group} />
    </span>
  );
}

/** What the provider charged beside what it had quoted. */
function Cost({ group }: { group: RailResults }): ReactNode {
  const { quoted_cost_bps: quoted, cost_bps: cost } = group;
  if (quoted === null || cost === null) return null;
  return (
    <span className="difference">
      cost {formatPercent(cost / 10_000, 2)}, quoted {formatPercent(quoted / 10_000, 2)}
    </span>
  );
}

function Inputs({ rail }: { rail: Rail }): ReactNode {
  const { unresolved_inbound: open, unmatched_inbound: unmatched } = rail;
  const refused = rail.refused_callbacks_last_day;
  return (
    <span>
      {open === 0 ? '0' : <Tag tone="warning">{formatCount(open)}</Tag>}
      {unmatched === 0 ? null : (
        <span className="difference">{formatCount(unmatched)} unmatched</span>
      )}
      {refused === 0 ? null : (
        <span className="difference">{formatCountOf(refused, 'callback')} refused, 24 hours</span>
      )}
    </span>
  );
}

function Prices({ prices }: Pick<Rail, 'prices'>): ReactNode {
  if (prices === null) return <span className="faint">Tariffs</span>;
  const { age_seconds: age, unpriced } = prices;
  return (
    <span>
      {age === null ? 'None read' : `${formatLength(age)} old`}
      {unpriced === 0 ? null : (
        <span className="difference">
          <Tag tone="warning" icon="alert">
            {formatCount(unpriced)} not offered
          </Tag>
        </span>
      )}
    </span>
  );
}

const reportColumns: readonly Column<Rail>[] = [
  { head: 'Rail', cell: ({ rail }) => <code>{rail}</code> },
  { head: 'Last report', cell: ({ reported_at: at }) => orNone(at) },
  { head: 'Oldest unanswered', cell: ({ oldest_unanswered_at: at }) => orNone(at) },
  {
    head: 'Unresolved inputs',
    kind: 'right',
    cell: (rail) => <Inputs rail={rail} />,
  },
  { head: 'Next cut-off', cell: ({ next_cut_off_at: at }) => orNone(at) },
  { head: 'Prices', cell: ({ prices }) => <Prices prices={prices} /> },
  { head: '24 hours', cell: ({ last_day: group }) => <Results group={group} /> },
  { head: '30 days', cell: ({ last_30_days: group }) => <Results group={group} /> },
];

/** When each rail last reported, what it owes an answer for, and its results. */
export function Reports({ rails }: { rails: readonly Rail[] }): ReactNode {
  return (
    <Panel title="Reports and results" isFlush>
      <Table
        label="Table of reports and results"
        columns={reportColumns}
        rows={rails}
        keyOf={({ rail }) => rail}
      />
    </Panel>
  );
}
