import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Payout, Schemas } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { keyOfPayout, payoutEventsQuery } from '../api/payout-queries.ts';
import { readable } from '../format/words.ts';
import { download } from '../ui/download.ts';
import { ProblemNotice } from '../ui/notice.tsx';
import { Amount, Copy, Panel, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';

type Entry = Schemas['LedgerEntry'];

/** What was written down: the ledger, the events, the proof, and the answer of the API itself. */
export function PayoutRecords({ payout }: { payout: Payout }): ReactNode {
  return (
    <>
      <Postings payout={payout} />
      <Events payout={payout} />
      {payout.committed_at === '' ? null : <Proof payout={payout} />}
      <Panel
        title="Raw JSON"
        aside={<Copy value={JSON.stringify(payout, null, 2)} label="the" text="JSON" />}
      >
        <details className="details">
          <summary>The answer of the API</summary>
          <pre className="json" tabIndex={0} aria-label="JSON of the payout">
            {JSON.stringify(payout, null, 2)}
          </pre>
        </details>
      </Panel>
    </>
  );
}

const postingColumns: readonly Column<Entry>[] = [
  { head: 'Time (UTC)', cell: (entry) => <Time value={entry.created_on} isExact /> },
  { head: 'Type', cell: (entry) => readable(entry.type) },
  { head: 'Counterparty account', cell: (entry) => <code>{entry.counterpart}</code> },
  {
    head: 'Amount',
    kind: 'right',
    cell: (entry) => <Amount value={entry.amount} currency={entry.currency_code} />,
  },
  {
    head: 'Balance after',
    kind: 'right',
    cell: (entry) => <Amount value={entry.balance_after} currency={entry.currency_code} />,
  },
];

/** Entries of the balance are listed by time, so those of the payout are found by its own times. */
function Postings({ payout }: { payout: Payout }): ReactNode {
  const api = useApi();
  const times = [...new Set(payout.timeline.slice(1).map(({ time }) => time.slice(0, 19)))];
  const { data, error } = useQuery({
    queryKey: [api.account, 'postings', payout.payout_token, times],
    enabled: payout.committed_at !== '',
    queryFn: async () => {
      const path = `/account/balance/${encodeURIComponent(payout.source_token)}/entries`;
      const pages = await Promise.all(
        times.map((time) =>
          api.readPage<Entry>(path, { from: time, to: time, number_of_records: 1000 }),
        ),
      );
      const all = pages.flatMap(({ rows }) => rows);
      return all.filter(({ payout_token: token }) => token === payout.payout_token);
    },
  });
  if (payout.committed_at === '') return null;
  return (
    <Panel title="Postings" isFlush>
      {error === null ? null : <ProblemNotice error={error} />}
      <Table
        label="Table of postings"
        columns={postingColumns}
        rows={data}
        skeletonRows={times.length}
        keyOf={(entry) => entry.token + entry.type}
      />
    </Panel>
  );
}

type PayoutEvent = { sequence: unknown; type: string; created_on: string };

const eventColumns: readonly Column<PayoutEvent>[] = [
  { head: 'Time (UTC)', cell: (event) => <Time value={event.created_on} isExact /> },
  { head: 'Type', cell: (event) => <code>{event.type}</code> },
  { head: 'Sequence', kind: 'right', cell: (event) => String(event.sequence) },
];

function Events({ payout }: { payout: Payout }): ReactNode {
  const { data = [], error } = useQuery(payoutEventsQuery(useApi(), keyOfPayout(payout)));
  return (
    <Panel title="Events" isFlush aside={<span className="small faint num">{data.length}</span>}>
      {error === null ? null : <ProblemNotice error={error} />}
      <Table
        label="Table of events"
        columns={eventColumns}
        rows={data}
        keyOf={(event) => String(event.sequence)}
      />
    </Panel>
  );
}

/** Asked for when wanted: the service computes it from the chains. */
function Proof({ payout }: { payout: Payout }): ReactNode {
  const api = useApi();
  const [isWanted, setWanted] = useState(false);
  const { user_token, payout_token } = payout;
  const { data, error, isFetching } = useQuery({
    queryKey: [api.account, 'proof', payout_token, payout.timeline.length],
    enabled: isWanted,
    queryFn: () => api.getPayoutProof({ user_token, payout_token }),
  });
  const file = { name: `${payout_token}.proof.json`, type: 'application/json' };
  return (
    <Panel title="Proof">
      <p className="soft">
        Its journals and events are links of hash chains with signed checkpoints. Anyone can check
        them without this service: <code>outlay proof</code> does.
      </p>
      {error === null ? null : <ProblemNotice error={error} />}
      {data === undefined ? (
        <p>
          <Button className="button" isDisabled={isFetching} onPress={() => setWanted(true)}>
            {isFetching ? 'Reading the proof' : 'Show the proof'}
          </Button>
        </p>
      ) : (
        <>
          <ul className="proof">
            {data.links.map((link) => (
              <li key={link.chain + link.place} className="small">
                <span>
                  {readable(link.chain)} {link.place}
                </span>
                <span className="faint">
                  {link.rows.length === 1 ? '1 row' : `${link.rows.length} rows`}
                </span>
                <code className="clip faint">{link.rows.map((row) => row.row_hash).join(' ')}</code>
              </li>
            ))}
          </ul>
          <Button className="button" onPress={() => download(JSON.stringify(data, null, 2), file)}>
            Download the proof
          </Button>
        </>
      )}
    </Panel>
  );
}
