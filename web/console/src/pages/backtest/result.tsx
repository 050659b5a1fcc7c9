import type { ReactNode } from 'react';
import type {
  Backtest,
  BacktestExample,
  BacktestReason,
  BacktestSides,
} from '../../api/operator-types.ts';
import { formatAmount, formatCount } from '../../format/amount.ts';
import { nameDelivery, readable } from '../../format/words.ts';
import { Facts, Panel } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { TokenLink } from '../../ui/token-link.tsx';
import { Totals } from '../../ui/totals.tsx';
import { type Compared, type Figure, figures } from './figures.ts';

/** What the payouts of one answer would have become. */
export function BacktestResult({ result }: { result: Backtest }): ReactNode {
  const { replayed, payouts, moved, lost, admitted } = result;
  return (
    <div className="stack">
      <Totals
        label="Payouts"
        totals={[
          { title: 'Replayed', value: formatCount(replayed), note: `of ${formatCount(payouts)}` },
          { title: 'Moved', value: formatCount(moved), note: 'go through another payer' },
          { title: 'Lost', value: formatCount(lost), note: 'no payer accepts them' },
          { title: 'Admitted', value: formatCount(admitted), note: 'a payer accepts them now' },
        ]}
      />
      <Panel title="Total" isFlush>
        <Table
          label="Table of totals"
          columns={totalColumns}
          rows={figures.map(({ title, compare }) => ({ title, ...compare(result.total) }))}
          keyOf={({ title }) => title}
        />
      </Panel>
      <Breakdown
        title="By corridor"
        head="Corridor"
        rows={result.corridors.map((row) => ({
          ...row,
          name: `${row.source_currency} to ${row.country} ${row.destination_currency}, ${nameDelivery(row.delivery_type)}`,
        }))}
      />
      <Breakdown
        title="By rail"
        head="Rail"
        rows={result.rails.map((row) => ({ ...row, name: row.rail }))}
      />
      <Moves result={result} />
      <Examples title="Payouts that move" rows={result.examples.moved} />
      <Examples title="Payouts that are lost" rows={result.examples.lost} />
      <Examples title="Payouts that are admitted" rows={result.examples.admitted} />
      <Trust result={result} />
    </div>
  );
}

type TotalRow = Compared & { title: string };

const totalColumns: readonly Column<TotalRow>[] = [
  { head: 'Figure', cell: ({ title }) => title },
  { head: 'As it is', kind: 'right', cell: ({ before }) => before },
  { head: 'With the changes', kind: 'right', cell: ({ after }) => after },
  { head: 'Difference', kind: 'right', cell: ({ difference }) => difference || '—' },
];

type NamedSides = BacktestSides & { name: string };

const describeFigure = ({ title, compare }: Figure): Column<NamedSides> => ({
  head: title,
  kind: 'right',
  cell: (row) => {
    const { before, after, difference } = compare(row);
    return (
      <span>
        {after}
        <span className="difference">
          {difference === '' ? 'unchanged' : `${difference}, was ${before}`}
        </span>
      </span>
    );
  },
});

const mainColumns = figures.filter(({ isMain }) => isMain).map(describeFigure);

type BreakdownProps = { title: string; head: string; rows: readonly NamedSides[] };

function Breakdown({ title, head, rows }: BreakdownProps): ReactNode {
  if (rows.length === 0) return null;
  return (
    <Panel title={title} isFlush>
      <Table
        label={`Table: ${title.toLowerCase()}`}
        columns={[{ head, kind: 'name', cell: ({ name }) => name }, ...mainColumns]}
        rows={rows}
        keyOf={({ name }) => name}
      />
    </Panel>
  );
}

const moveColumns: readonly Column<Backtest['moves'][number]>[] = [
  { head: 'From', cell: ({ from }) => <code>{from}</code> },
  { head: 'To', cell: ({ to }) => <code>{to}</code> },
  { head: 'Payouts', kind: 'right', cell: ({ payouts }) => formatCount(payouts) },
];

function Moves({ result: { moves } }: { result: Backtest }): ReactNode {
  if (moves.length === 0) return null;
  return (
    <Panel title="Most frequent moves" isFlush>
      <Table
        label="Table of moves"
        columns={moveColumns}
        rows={moves}
        keyOf={({ from, to }) => `${from} ${to}`}
      />
    </Panel>
  );
}

const formatCost = (cost: string | null): string =>
  cost === null ? '—' : formatAmount(cost, 'USD');

const exampleColumns: readonly Column<BacktestExample>[] = [
  { head: 'Payout', cell: ({ payout_token: token }) => <TokenLink token={token} /> },
  { head: 'As it is', cell: ({ before }) => <code>{before ?? 'No payer'}</code> },
  { head: 'With the changes', cell: ({ after }) => <code>{after ?? 'No payer'}</code> },
  { head: 'Cost (USD)', kind: 'right', cell: (row) => formatCost(row.before_cost_usd) },
  { head: 'Changed cost (USD)', kind: 'right', cell: (row) => formatCost(row.after_cost_usd) },
  { head: 'Why', cell: ({ reason }) => (reason === '' ? '—' : readable(reason)) },
];

type ExamplesProps = { title: string; rows: readonly BacktestExample[] };

function Examples({ title, rows }: ExamplesProps): ReactNode {
  if (rows.length === 0) return null;
  return (
    <Panel title={title} isFlush aside={<span className="small faint">Examples, at most 20</span>}>
      <Table
        label={`Table: ${title.toLowerCase()}`}
        columns={exampleColumns}
        rows={rows}
        keyOf={({ payout_token: token }) => token}
      />
    </Panel>
  );
}

const listReasons = (reasons: readonly BacktestReason[]): string =>
  reasons.length === 0
    ? 'None'
    : reasons
        .map(({ reason, payouts }) => `${readable(reason)}: ${formatCount(payouts)}`)
        .join(', ');

/** What to look at before the figures are trusted. */
function Trust({ result }: { result: Backtest }): ReactNode {
  return (
    <Panel title="Before you trust the figures">
      <Facts
        facts={[
          { title: 'Not routed, today', value: listReasons(result.not_routed.before) },
          { title: 'Not routed, with the changes', value: listReasons(result.not_routed.after) },
          ...result.left_out.map(({ reason, payouts, detail }) => ({
            title: `Left out: ${readable(reason).toLowerCase()}`,
            value: `${formatCount(payouts)}. ${detail}`,
          })),
          {
            title: 'Priced as quoted',
            value: `${formatCount(result.priced_as_quoted)} of ${formatCount(result.replayed)}: the price, as it is, equals the quoted one`,
          },
          {
            title: 'Valued at present rates',
            value: `${formatCount(result.valued_at_present_rates)}: no rate to USD was stored`,
          },
          {
            title: 'Charges left out',
            value: `${formatCount(result.charges_without_rate)}: their currency has no rate`,
          },
        ]}
      />
    </Panel>
  );
}
