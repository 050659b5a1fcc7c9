import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Schemas } from '../api/client.ts';
import { useApi, useSession } from '../api/context.tsx';
import { useMay } from '../api/operator.ts';
import { useServiceNowMs } from '../api/service-clock.ts';
import { formatCount, formatCountOf, formatRate } from '../format/amount.ts';
import { formatLength, readTime } from '../format/time.ts';
import { describeStatus } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { download } from '../ui/download.ts';
import { Icon } from '../ui/icon.tsx';
import { Notice, ProblemNotice } from '../ui/notice.tsx';
import { Amount, Foreign, PageHead, Panel, Skeleton } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { BatchStatus } from './batches.tsx';
import './batch.css';

type Batch = Schemas['Batch'];

/** One batch: what it costs, the quote, the commit and the progress. */
export function BatchPage(): ReactNode {
  const api = useApi();
  const { batch: token } = useParams({ from: '/batches/$batch' });
  const { data, error, refetch } = useQuery({
    queryKey: [api.account, 'batch', token],
    queryFn: () => api.getBatch({ batch_token: token, include_payouts: true }),
    refetchInterval: ({ state }) => (state.data?.status === 'DRAFT' ? 15_000 : 3_000),
  });
  const back = (
    <Link to="/batches" className="crumb">
      <Icon name="back" />
      Batches
    </Link>
  );
  if (error !== null && data === undefined) {
    return (
      <>
        <PageHead {...heads.batch} above={back} />
        <ProblemNotice error={error} retry={() => void refetch()} />
      </>
    );
  }
  if (data === undefined) {
    return (
      <>
        <PageHead {...heads.batch} above={back} />
        <Skeleton height={240} />
      </>
    );
  }
  return (
    <>
      <PageHead
        title={data.name || 'Batch'}
        above={back}
        lead={<BatchStatus status={data.status} />}
      >
        <Steps batch={data} />
      </PageHead>
      <div className="stack">
        <Faults batch={data} />
        <Totals batch={data} />
        {data.status === 'COMMITTING' || data.status === 'COMMITTED' ? (
          <Progress batch={data} />
        ) : null}
      </div>
    </>
  );
}

function Steps({ batch }: { batch: Batch }): ReactNode {
  const api = useApi();
  const queries = useQueryClient();
  const mayWrite = useMay('operate');
  const { environment } = useSession().session;
  const path = { batch_token: batch.batch_token };
  const onSettled = () => queries.invalidateQueries({ queryKey: [api.account] });
  const quote = useMutation({ mutationFn: () => api.quoteBatch(path), onSettled });
  // Of the quote that the page shows: where another one has taken its place, nothing is committed.
  const commit = useMutation({
    mutationFn: ({ quote_number, rows }: Batch) => {
      const mode = rows.invalid === 0 ? 'all' : 'valid';
      return api.commitBatch({ ...path, body: { mode, quote_number } });
    },
    onSettled,
  });
  const cancel = useMutation({ mutationFn: () => api.cancelBatch(path), onSettled });
  const isOpen = batch.status === 'DRAFT' || batch.status === 'QUOTED';
  const left = useQuoteTime(batch);
  const words = environment === 'live' ? 'Commit: send real money' : 'Commit';
  const steps = [quote, commit, cancel] as const;
  const isBusy = steps.some(({ isPending }) => isPending);
  // An older one says nothing about the batch as it is now.
  const latest = steps.reduce((one, other) => (other.submittedAt > one.submittedAt ? other : one));
  const { error } = latest;
  return (
    <>
      <ResultButton batch={batch} />
      {isOpen && mayWrite ? (
        <>
          <Button className="button" isDisabled={isBusy} onPress={() => cancel.mutate()}>
            Cancel the batch
          </Button>
          {batch.status === 'QUOTED' && left !== 0 ? (
            <Button
              className="button primary"
              isDisabled={left === undefined || isBusy || batch.rows.valid === 0}
              onPress={() => commit.mutate(batch)}
            >
              {words} {formatCountOf(batch.rows.valid, 'payout')}
            </Button>
          ) : (
            <Button
              className="button primary"
              isDisabled={isBusy || batch.rows.valid === 0}
              onPress={() => quote.mutate()}
            >
              {quote.isPending ? 'Getting the quote' : 'Get a quote'}
            </Button>
          )}
        </>
      ) : null}
      {batch.status === 'QUOTED' && left !== undefined ? (
        <span className="num soft" role="timer">
          {left > 0 ? `Rates hold for ${formatLength(left)}` : 'The quote has expired'}
        </span>
      ) : null}
      {error === null ? null : <ProblemNotice error={error} />}
      {latest !== commit || commit.data === undefined || commit.data.status === 'success' ? null : (
        <Notice tone="warning" title="Not committed: no money has moved">
          <p>{commit.data.errors}</p>
        </Notice>
      )}
    </>
  );
}

/** Seconds that the quote still holds; undefined until the service's clock is known. */
function useQuoteTime({ expiration }: Batch): number | undefined {
  const nowMs = useServiceNowMs();
  if (nowMs === undefined) return undefined;
  const endMs = readTime(expiration)?.getTime() ?? 0;
  return Math.max(0, Math.floor((endMs - nowMs) / 1000));
}

function ResultButton({ batch }: { batch: Batch }): ReactNode {
  const api = useApi();
  const result = useMutation({
    mutationFn: async () => {
      const path = `/batches/${batch.batch_token}/result`;
      const { body } = await api.request({ method: 'GET', path }, { accept: 'text/csv' });
      const name = `${batch.batch_token}.csv`;
      download(typeof body === 'string' ? body : (body as BlobPart), { name, type: 'text/csv' });
    },
  });
  return (
    <>
      <Button className="button" isDisabled={result.isPending} onPress={() => result.mutate()}>
        <Icon name="download" />
        Result as CSV
      </Button>
      {result.error === null ? null : <ProblemNotice error={result.error} />}
    </>
  );
}

function Faults({ batch }: { batch: Batch }): ReactNode {
  if (batch.faults.length === 0) return null;
  return (
    <Notice
      tone="warning"
      title={formatCountOf(batch.rows.invalid, 'row has faults', 'rows have faults')}
    >
      <p className="soft">
        They are left out of the commit. To pay them, fix the file and open it again.
      </p>
      <ul className="fault-list">
        {batch.faults.slice(0, 20).map((fault) => (
          <li key={`${fault.row}${fault.column}${fault.code}`}>
            Row {fault.row}
            {fault.column === '' ? '' : `, ${fault.column}`}: <Foreign>{fault.detail}</Foreign>
          </li>
        ))}
      </ul>
    </Notice>
  );
}

type Total = Batch['totals'][number];

const totalColumns: readonly Column<Total>[] = [
  {
    head: 'From and to',
    cell: (total) => `${total.source_currency_code} to ${total.destination_currency_code}`,
  },
  { head: 'Payouts', kind: 'right', cell: ({ rows }) => formatCount(rows) },
  {
    head: 'Amount',
    kind: 'right',
    cell: (total) => <Amount value={total.source_amount} currency={total.source_currency_code} />,
  },
  {
    head: 'Fees',
    kind: 'right',
    cell: (total) => <Amount value={total.fee} currency={total.source_currency_code} />,
  },
  {
    head: 'Arrives',
    kind: 'right',
    cell: (total) => (
      <Amount value={total.destination_amount} currency={total.destination_currency_code} />
    ),
  },
  { head: 'Rate', kind: 'right', cell: (total) => formatRate(total.exchange_rate) },
];

function Totals({ batch }: { batch: Batch }): ReactNode {
  return (
    <Panel
      title="Totals"
      isFlush
      aside={<span className="small faint num">{formatCountOf(batch.rows.total, 'row')}</span>}
    >
      <Table
        label="Totals by currency"
        columns={totalColumns}
        rows={batch.totals}
        keyOf={(total) =>
          `${total.source_currency_code}${total.destination_currency_code}${String(total.exchange_rate)}`
        }
      />
    </Panel>
  );
}

function Progress({ batch }: { batch: Batch }): ReactNode {
  const { committed, refused, total } = batch.rows;
  const done = batch.payouts['COMPLETED'] ?? 0;
  const share = committed === 0 ? 0 : done / committed;
  const words = `${formatCount(done)} of ${formatCount(committed)} completed`;
  return (
    <Panel title="Progress" aside={<span className="small num">{words}</span>}>
      <div
        className="progress"
        role="progressbar"
        aria-label="Completed payouts"
        aria-valuenow={Math.round(share * 100)}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <span style={{ width: `${share * 100}%` }} />
      </div>
      <ul className="row progress-list">
        <li>
          <strong className="num">{formatCount(committed)}</strong> of {formatCount(total)}{' '}
          committed
        </li>
        {refused === 0 ? null : (
          <li>
            <strong className="num">{formatCount(refused)}</strong> refused
          </li>
        )}
        {Object.entries(batch.payouts)
          .filter(([, count]) => count > 0)
          .map(([status, count]) => (
            <li key={status}>
              <strong className="num">{formatCount(count)}</strong>{' '}
              {describeStatus(status).label.toLowerCase()}
            </li>
          ))}
      </ul>
    </Panel>
  );
}
