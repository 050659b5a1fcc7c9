import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Schemas } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { balancesQuery } from '../api/queries.ts';
import { useServiceNowMs } from '../api/service-clock.ts';
import { formatCount } from '../format/amount.ts';
import { readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { download } from '../ui/download.ts';
import { findFault } from '../ui/faults.ts';
import { SelectField, TextField } from '../ui/field.tsx';
import { Icon } from '../ui/icon.tsx';
import { ProblemNotice } from '../ui/notice.tsx';
import { Amount, Empty, Foreign, PageHead, Panel, Skeleton, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';
import { Totals } from '../ui/totals.tsx';

type Statement = Schemas['Statement'];
type Entry = Schemas['StatementEntry'];

/** `balance` is its token; both days count, UTC. */
type Period = { balance: string; from: string; to: string };

const dayMs = 86_400_000;
const writeDay = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);

/** Statements of the account's balances: final, so that they end yesterday or earlier. */
export function Statements(): ReactNode {
  const api = useApi();
  const { data: balances = [] } = useQuery(balancesQuery(api));
  const [chosen, setChosen] = useState('');
  const nowMs = useServiceNowMs();
  const [firstDay, setFrom] = useState('');
  const [lastDay, setTo] = useState('');
  const from = firstDay || (nowMs === undefined ? '' : writeDay(nowMs - 30 * dayMs));
  const to = lastDay || (nowMs === undefined ? '' : writeDay(nowMs - dayMs));
  const balance = chosen || (balances[0]?.token ?? '');
  const asked = useQuery({
    queryKey: [api.account, 'statement', balance, from, to],
    enabled: balance !== '' && from !== '' && to !== '',
    queryFn: () => api.getStatement({ balance_token: balance, from, to }),
  });
  const { data, error } = asked;
  const period: Period = { balance, from, to };
  return (
    <>
      <PageHead {...heads.statements}>
        <Downloads period={period} currency={data?.currency_code} />
      </PageHead>
      <Together>
        <div className="fields">
          <SelectField
            label="Balance"
            value={balance}
            onText={setChosen}
            choices={balances.map(({ token, currency_code: label }) => ({ value: token, label }))}
          />
          <TextField
            label="First day (UTC)"
            type="date"
            value={from}
            onText={setFrom}
            fault={findFault(error, 'from')}
          />
          <TextField
            label="Last day (UTC)"
            type="date"
            value={to}
            onText={setTo}
            fault={findFault(error, 'to')}
          />
        </div>
        {error === null ? null : <ProblemNotice error={error} />}
        {data === undefined && error === null ? <Skeleton height={220} /> : null}
        {data === undefined ? null : <Shown statement={data} />}
      </Together>
    </>
  );
}

const formats = [
  { format: 'pdf', label: 'PDF', type: 'application/pdf', end: 'pdf' },
  { format: 'csv', label: 'CSV', type: 'text/csv', end: 'csv' },
  { format: 'camt.053', label: 'camt.053', type: 'application/xml', end: 'xml' },
] as const;

type DownloadsProps = { period: Period; currency: string | undefined };

function Downloads({ period, currency }: DownloadsProps): ReactNode {
  const api = useApi();
  const { balance, from, to } = period;
  const save = useMutation({
    mutationFn: async ({ format, type, end }: (typeof formats)[number]) => {
      const path = `/account/balance/${encodeURIComponent(balance)}/statement`;
      const { body } = await api.request(
        { method: 'GET', path, query: { from, to, format } },
        { accept: type },
      );
      download(body as BlobPart, {
        name: `statement-${currency ?? ''}-${from}-${to}.${end}`,
        type,
      });
    },
  });
  if (currency === undefined) return null;
  return (
    <>
      {formats.map((entry) => (
        <Button
          key={entry.format}
          className="button"
          isDisabled={save.isPending}
          onPress={() => save.mutate(entry)}
        >
          <Icon name="download" />
          {entry.label}
        </Button>
      ))}
      {save.error === null ? null : <ProblemNotice error={save.error} />}
    </>
  );
}

/** Longer ones are read from a file. */
const entriesShown = 500;

function Shown({ statement }: { statement: Statement }): ReactNode {
  const { currency_code: currency, entries } = statement;
  const columns: Column<Entry>[] = [
    { head: 'Time (UTC)', cell: (row) => <Time value={row.booking_time} isExact /> },
    { head: 'Type', cell: (row) => readable(row.type) },
    {
      head: 'Your identifier',
      kind: 'name',
      cell: (row) => (
        <span className="clip">
          <Foreign>{row.client_transfer_id === '' ? '—' : row.client_transfer_id}</Foreign>
        </span>
      ),
    },
    {
      head: 'In',
      kind: 'right',
      cell: (row) => <Side entry={row} currency={currency} side="CRDT" />,
    },
    {
      head: 'Out',
      kind: 'right',
      cell: (row) => <Side entry={row} currency={currency} side="DBIT" />,
    },
    {
      head: 'Balance',
      kind: 'right',
      cell: (row) => <Amount value={row.balance_after} currency={currency} />,
    },
  ];
  return (
    <>
      <Sums statement={statement} />
      <Panel
        title="Entries"
        isFlush
        aside={<span className="small faint num">{formatCount(entries.length)}</span>}
      >
        {entries.length === 0 ? (
          <Empty icon="overview" title="Nothing moved in these days">
            Choose other days, or another balance.
          </Empty>
        ) : (
          <Table
            label="Entries of the statement"
            columns={columns}
            rows={entries.slice(0, entriesShown)}
            keyOf={(row) => row.entry_reference}
          />
        )}
        {entries.length > entriesShown ? (
          <p className="more faint">The first {entriesShown} are shown. A download has all.</p>
        ) : null}
      </Panel>
    </>
  );
}

type SideProps = { entry: Entry; currency: string; side: 'CRDT' | 'DBIT' };

function Side({ entry, currency, side }: SideProps): ReactNode {
  if (entry.credit_debit_indicator !== side) return null;
  return <Amount value={entry.amount} currency={currency} />;
}

function Sums({ statement }: { statement: Statement }): ReactNode {
  const { currency_code: currency } = statement;
  const tiles = [
    { title: 'Opening balance', value: statement.opening_balance, note: statement.from_date },
    { title: 'In', value: statement.credit_total, note: `${statement.credit_count} entries` },
    { title: 'Out', value: statement.debit_total, note: `${statement.debit_count} entries` },
    { title: 'Closing balance', value: statement.closing_balance, note: statement.to_date },
  ];
  const totals = tiles.map((tile) => ({
    ...tile,
    value: <Amount value={tile.value} currency={currency} />,
  }));
  return <Totals label="Sums of the statement" totals={totals} />;
}
