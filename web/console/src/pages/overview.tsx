import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { useSession } from '../api/context.tsx';
import { useOperator } from '../api/operator.ts';
import type { Group, OverviewFigures } from '../api/operator-types.ts';
import { useCountryNames } from '../api/queries.ts';
import { DayBars } from '../charts/day-bars.tsx';
import { formatCount, formatPercent } from '../format/amount.ts';
import { formatLength } from '../format/time.ts';
import { nameDelivery } from '../format/words.ts';
import { heads, overviewDays } from '../shell/heads.ts';
import { NewPayoutLink } from '../ui/new-payout-link.tsx';
import { ProblemNotice } from '../ui/notice.tsx';
import { Amount, Empty, PageHead, Panel, Skeleton } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Totals } from '../ui/totals.tsx';
import { WhenSeen } from '../ui/when-seen.tsx';
import { type Corridor, listCorridors, listDays, readCost } from './overview/figures.ts';
import { NeedsPerson } from './overview/needs-person.tsx';
import './overview.css';

const CorridorMap = lazy(async () => ({
  default: (await import('../charts/corridor-map.tsx')).CorridorMap,
}));

/** What there is, what happens, and what waits for a person. */
export function Overview(): ReactNode {
  const { account } = useSession();
  const query = new URLSearchParams({ days: String(overviewDays), account });
  const { data, error, refetch } = useOperator<OverviewFigures>(`overview?${query.toString()}`);
  return (
    <>
      <PageHead {...heads.overview}>
        <NewPayoutLink />
      </PageHead>
      <div className="stack">
        {error === null ? null : <ProblemNotice error={error} retry={() => void refetch()} />}
        {error !== null && data === undefined ? null : (
          <>
            <Balances balances={data?.balances} />
            <NeedsPerson needs={data?.needs} />
            {data === undefined ? <Skeleton height={420} /> : <Figures figures={data} />}
          </>
        )}
      </div>
    </>
  );
}

function Balances({ balances }: { balances: OverviewFigures['balances'] | undefined }): ReactNode {
  if (balances?.length === 0) {
    return (
      <Panel title="Balances">
        <Empty icon="overview" title="No balance yet">
          An account gets a balance when it is funded. In staging the sandbox does it.
        </Empty>
      </Panel>
    );
  }
  return (
    <section className="tiles" aria-label="Balances" aria-busy={balances === undefined}>
      {balances === undefined
        ? [1, 2, 3, 4, 5].map((place) => (
            <div key={place} className="panel tile">
              <Skeleton width="70px" />
              <Skeleton width="150px" height={28} />
              <Skeleton width="120px" height={36} />
            </div>
          ))
        : balances.map((balance) => <BalanceTile key={balance.currency} balance={balance} />)}
    </section>
  );
}

function BalanceTile({ balance }: { balance: OverviewFigures['balances'][number] }): ReactNode {
  const { currency, available, reserved, in_transit: transit } = balance;
  return (
    <div className="panel tile">
      <h2>{currency} available</h2>
      <Amount value={available} currency={currency} />
      <dl className="small">
        <dt>Reserved</dt>
        <dd>
          <Amount value={reserved} currency={currency} />
        </dd>
        <dt>In transit</dt>
        <dd>
          <Amount value={transit} currency={currency} />
        </dd>
      </dl>
    </div>
  );
}

function Figures({ figures }: { figures: OverviewFigures }): ReactNode {
  const corridors = listCorridors(figures.corridors);
  const days = listDays(figures.payouts_by_day, overviewDays);
  if (corridors.length === 0) {
    return (
      <Panel title="Payouts">
        <Empty
          icon="payout"
          title="No payouts yet"
          action={
            <Link to="/pay" className="button primary">
              Make the first payout
            </Link>
          }
        >
          Progress, times and costs appear with the first committed payout.
        </Empty>
      </Panel>
    );
  }
  return (
    <>
      <CorridorTotals corridors={corridors} />
      <div className="overview-grid">
        <Panel title="Payouts per day">
          <DayBars days={days} />
        </Panel>
        <Panel title="Where the money goes">
          <WhenSeen height={250}>
            <Suspense fallback={<Skeleton height={250} />}>
              <CorridorMap corridors={corridors} />
            </Suspense>
          </WhenSeen>
        </Panel>
      </div>
      <Corridors corridors={corridors} />
      <Groups title="Rails" groups={figures.rails} name={({ name }) => <code>{name}</code>} />
    </>
  );
}

function CorridorTotals({ corridors }: { corridors: readonly Corridor[] }): ReactNode {
  const sum = (read: (corridor: Corridor) => number): number =>
    corridors.reduce((total, corridor) => total + read(corridor), 0);
  const committed = sum((corridor) => corridor.committed);
  const completed = sum((corridor) => corridor.completed);
  const canceled = sum((corridor) => corridor.canceled);
  const ended = completed + canceled;
  const success = ended === 0 ? '—' : formatPercent(completed / ended);
  const tiles = [
    { title: 'Committed', value: formatCount(committed), note: 'payouts' },
    { title: 'Success', value: success, note: 'of those that ended' },
    { title: 'In progress', value: formatCount(committed - ended), note: 'not ended yet' },
    { title: 'Canceled', value: formatCount(canceled), note: 'not paid, or sent back' },
  ];
  return <Totals label={`Totals of ${overviewDays} days`} totals={tiles} />;
}

function Corridors({ corridors }: { corridors: readonly Corridor[] }): ReactNode {
  const countries = useCountryNames();
  return (
    <Groups
      title="Corridors"
      groups={corridors.slice(0, 12)}
      name={({ country, currency, delivery }) => (
        <>
          <Link to="/payouts" search={{ country }}>
            {countries.get(country) ?? country}
          </Link>{' '}
          <span className="faint">
            · {nameDelivery(delivery)} in {currency}
          </span>
        </>
      )}
    />
  );
}

type GroupsProps<Row extends Group> = {
  title: string;
  groups: readonly Row[];
  name: (group: Row) => ReactNode;
};

function Groups<Row extends Group>({ title, groups, name }: GroupsProps<Row>): ReactNode {
  const columns: Column<Row>[] = [
    { head: title, cell: name },
    { head: 'Payouts', kind: 'right', cell: (group) => formatCount(group.committed) },
    { head: 'Success', cell: (group) => <Share value={group.success} /> },
    {
      head: 'Median time',
      kind: 'right',
      cell: ({ median_seconds: time }) => (time === null ? '—' : formatLength(time)),
    },
    { head: 'Cost', kind: 'right', cell: (group) => <Cost value={readCost(group)} /> },
  ];
  return (
    <Panel title={title} isFlush>
      <Table
        label={`Table: ${title}`}
        columns={columns}
        rows={groups}
        keyOf={(group) => group.name}
      />
    </Panel>
  );
}

function Cost({ value }: { value: number | undefined }): ReactNode {
  return value === undefined ? '—' : formatPercent(value, 2);
}

function Share({ value }: { value: number | null }): ReactNode {
  if (value === null) return <span className="faint">None ended yet</span>;
  return (
    <span className="share">
      <span className="bar" aria-hidden="true">
        <span style={{ width: `${value * 100}%` }} />
      </span>
      <span className="num">{formatPercent(value)}</span>
    </span>
  );
}
