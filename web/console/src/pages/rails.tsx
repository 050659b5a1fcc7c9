import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useMay, useOperator } from '../api/operator.ts';
import type { Group, List, OverviewFigures, Rail, Sending } from '../api/operator-types.ts';
import { formatCount, formatPercent } from '../format/amount.ts';
import { formatLength } from '../format/time.ts';
import { readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { Act } from '../ui/act.tsx';
import { SelectField } from '../ui/field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Amount, Empty, PageHead, Panel, Tag } from '../ui/parts.tsx';
import { actionsColumn, type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';
import { SendingStopped, Switch } from './freezes.tsx';
import { readCost } from './overview/figures.ts';
import { Prefunding, Reports } from './rails/reports.tsx';

/** What is under way at each rail, what is left there, and how it did. */
export function Rails(): ReactNode {
  const mayStop = useMay('operate');
  const { data: sending } = useOperator<Sending>('sending');
  const asked = useOperator<List<Rail>>('rails');
  const { freezes, freezes_in_force: inForce } = sending ?? { freezes: [], freezes_in_force: 0 };
  const isStopped = freezes.some(({ scope }) => scope === 'sending');
  return (
    <>
      <PageHead {...heads.rails}>
        {mayStop && sending !== undefined ? <Switch isStopped={isStopped} /> : null}
      </PageHead>
      <Together>
        {isStopped ? <SendingStopped /> : null}
        <Loaded query={asked} height={140}>
          {({ data }) => (
            <>
              <RailTable rows={data} mayFreeze={mayStop} />
              <Prefunding rails={data} />
              <Reports rails={data} />
            </>
          )}
        </Loaded>
        <Scorecards />
        <p className="small soft">
          {inForce === 0
            ? 'Nothing is stopped or frozen.'
            : `Stops and freezes in force: ${formatCount(inForce)}.`}{' '}
          <Link to="/freezes">Stops and freezes</Link>
        </p>
      </Together>
    </>
  );
}

const tones = { up: 'success', degraded: 'warning', down: 'danger' } as const;

function Health({ rail }: { rail: Rail }): ReactNode {
  if (rail.is_frozen) {
    return (
      <Tag tone="warning" icon="pause">
        Frozen
      </Tag>
    );
  }
  if (rail.health === null) return <span className="faint">Not known here</span>;
  const tone = tones[rail.health];
  return (
    <Tag tone={tone} icon={tone === 'success' ? 'check' : 'alert'}>
      {readable(rail.health)}
    </Tag>
  );
}

function RailTable({ rows, mayFreeze }: { rows: readonly Rail[]; mayFreeze: boolean }): ReactNode {
  const columns: Column<Rail>[] = [
    { head: 'Rail', cell: ({ rail }) => <code>{rail}</code> },
    { head: 'Health', cell: (row) => <Health rail={row} /> },
    { head: 'Being sent', kind: 'right', cell: (row) => formatCount(row.being_sent) },
    { head: 'In flight', kind: 'right', cell: (row) => formatCount(row.handed_over) },
    { head: 'Waiting', kind: 'right', cell: (row) => formatCount(row.waiting) },
    { head: 'Prefunding left', kind: 'right', cell: (row) => <Funds funds={row.funds} /> },
    actionsColumn(({ rail, is_frozen: isFrozen }) =>
      mayFreeze && !isFrozen ? <FreezeRail name={rail} /> : null,
    ),
  ];
  return (
    <Panel title="Now" isFlush>
      <Table label="Table of rails" columns={columns} rows={rows} keyOf={({ rail }) => rail} />
    </Panel>
  );
}

function Funds({ funds }: { funds: Rail['funds'] }): ReactNode {
  if (funds.length === 0) return <span className="faint">Not reported</span>;
  return funds.map(({ currency, amount }) => (
    <span key={currency} className="clip">
      <Amount value={amount} currency={currency} />
    </span>
  ));
}

function FreezeRail({ name }: { name: string }): ReactNode {
  return (
    <Act
      label="Freeze"
      title={`Freeze the rail ${name}`}
      request={{ path: 'freezes/rail', body: { rail: name } }}
    >
      <p>No new payout is sent through this rail. Its payouts wait, or go through another payer.</p>
    </Act>
  );
}

const periods = [7, 30, 90, 366];

const basisPoints = (points: number | null): string =>
  points === null ? '—' : formatPercent(points / 10_000, 2);

const scoreColumns: readonly Column<Group>[] = [
  { head: 'Rail', cell: ({ name }) => <code>{name}</code> },
  { head: 'Committed', kind: 'right', cell: (row) => formatCount(row.committed) },
  { head: 'Completed', kind: 'right', cell: (row) => formatCount(row.completed) },
  { head: 'Canceled', kind: 'right', cell: (row) => formatCount(row.canceled) },
  {
    head: 'Success',
    kind: 'right',
    cell: ({ success }) => (success === null ? '—' : formatPercent(success)),
  },
  {
    head: 'Median time',
    kind: 'right',
    cell: ({ median_seconds: time }) => (time === null ? '—' : formatLength(time)),
  },
  { head: 'Fee', kind: 'right', cell: (row) => basisPoints(row.fee_bps) },
  { head: 'Margin', kind: 'right', cell: (row) => basisPoints(row.margin_bps) },
  {
    head: 'Cost to the sender',
    kind: 'right',
    cell: (row) => {
      const cost = readCost(row);
      return cost === undefined ? '—' : formatPercent(cost, 2);
    },
  },
];

/** How each rail did in a period, of all accounts. */
function Scorecards(): ReactNode {
  const [days, setDays] = useState('30');
  const asked = useOperator<OverviewFigures>(`overview?days=${days}`);
  return (
    <>
      <div className="choose">
        <SelectField
          label="Scorecards of the last"
          value={days}
          onText={setDays}
          choices={periods.map((count) => ({ value: String(count), label: `${count} days` }))}
        />
      </div>
      <Loaded query={asked} height={140}>
        {({ rails }) => (
          <Panel title="Scorecards" isFlush>
            {rails.length === 0 ? (
              <Empty icon="rail" title="Nothing was committed in these days">
                Success, time and cost appear with the first payout.
              </Empty>
            ) : (
              <Table
                label="Table of scorecards"
                columns={scoreColumns}
                rows={rails}
                keyOf={({ name }) => name}
              />
            )}
          </Panel>
        )}
      </Loaded>
    </>
  );
}
