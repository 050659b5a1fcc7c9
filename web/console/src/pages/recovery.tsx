import type { ReactNode } from 'react';
import { useMay, useOperator } from '../api/operator.ts';
import type { RecoveredPayment, Recovery, RecoveryRail } from '../api/operator-types.ts';
import { formatCount } from '../format/amount.ts';
import { readable, type Tone } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { Act } from '../ui/act.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { More } from '../ui/more.tsx';
import { Notice } from '../ui/notice.tsx';
import { Amount, Empty, Facts, Foreign, PageHead, Panel, Tag, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';
import { TokenLink } from '../ui/token-link.tsx';

/** After a restore: what rails have paid that the database may have forgotten, and its release. */
export function Recoveries(): ReactNode {
  const asked = useOperator<Recovery>('recovery');
  return (
    <>
      <PageHead {...heads.recovery} />
      <Together>
        <Loaded query={asked}>
          {(report) => (report.state === 'none' ? <None /> : <Report report={report} />)}
        </Loaded>
      </Together>
    </>
  );
}

function None(): ReactNode {
  return (
    <Panel title="Recovery">
      <Empty icon="checkCircle" title="No recovery is open">
        One begins by itself when a rail or the marker file shows that the database has forgotten
        payments, or with the option --recover at the start.
      </Empty>
    </Panel>
  );
}

const states: Readonly<Record<string, { title: string; text: string }>> = {
  listing: {
    title: 'Rails are listing what they have paid',
    text: 'Commits are refused and nothing is sent. A rail that failed is asked again.',
  },
  listed: {
    title: 'Two operators have to release it',
    text: 'Compare the payments with the statements of the rails. Nothing is sent before.',
  },
  released: {
    title: 'Released',
    text: 'Rails take over what was found. Sending begins within seconds.',
  },
};

function Report({ report }: { report: Recovery }): ReactNode {
  const { state, recovery, rails = [], releases = [], payments = [] } = report;
  const { title, text } = states[state] ?? { title: readable(state), text: '' };
  return (
    <>
      <Notice tone={state === 'released' ? 'success' : 'danger'} title={title} icon="alert">
        <p>{text}</p>
      </Notice>
      {recovery === undefined ? null : (
        <Panel title="Why">
          <Facts
            facts={[
              { title: 'Reason', value: <Foreign>{recovery.reason}</Foreign> },
              { title: 'Payments since', value: <Time value={recovery.since} isExact /> },
              { title: 'Began', value: <Time value={recovery.started_at} isExact /> },
            ]}
          />
        </Panel>
      )}
      {rails.length === 0 ? null : (
        <Panel title="Rails" isFlush>
          <Table
            label="Table of rails"
            columns={railColumns}
            rows={rails}
            keyOf={({ rail }) => rail}
          />
        </Panel>
      )}
      <Payments rows={payments} />
      <Releases report={report} releases={releases} />
    </>
  );
}

const railTones: Readonly<Record<string, Tone>> = {
  waiting: 'progress',
  listed: 'success',
  cannot_list: 'warning',
  failed: 'danger',
};

const railColumns: readonly Column<RecoveryRail>[] = [
  { head: 'Rail', cell: ({ rail }) => <code>{rail}</code> },
  {
    head: 'State',
    cell: ({ state }) => <Tag tone={railTones[state] ?? 'neutral'}>{readable(state)}</Tag>,
  },
  { head: 'Payments', kind: 'right', cell: ({ payments }) => formatCount(payments) },
  { head: 'Detail', kind: 'text', cell: ({ detail }) => <Foreign>{detail}</Foreign> },
];

function Payments({ rows }: { rows: readonly RecoveredPayment[] }): ReactNode {
  // Those that nothing here knows come first.
  const unmatched = rows.filter(({ result }) => result === 'unmatched');
  const others = rows.filter(({ result }) => result !== 'unmatched');
  return (
    <Panel
      title="Payments that rails listed"
      isFlush
      aside={
        <span className="small faint">
          {formatCount(rows.length)}, of which {formatCount(unmatched.length)} unmatched
        </span>
      }
    >
      {rows.length === 0 ? (
        <Empty icon="rail" title="No payment was listed">
          Rails list what they did since the last moment that the database knows of.
        </Empty>
      ) : (
        <More rows={[...unmatched, ...others]}>
          {(shown) => (
            <Table
              label="Table of listed payments"
              columns={paymentColumns}
              rows={shown}
              keyOf={({ rail, id }) => `${rail} ${id}`}
            />
          )}
        </More>
      )}
    </Panel>
  );
}

const resultTones: Readonly<Record<string, Tone>> = {
  known: 'success',
  linked: 'success',
  found: 'warning',
  unmatched: 'danger',
};

const paymentColumns: readonly Column<RecoveredPayment>[] = [
  { head: 'Time (UTC)', cell: (row) => <Time value={row.happened_at} /> },
  { head: 'Rail', cell: ({ rail }) => <code>{rail}</code> },
  {
    head: 'Amount',
    kind: 'right',
    cell: ({ amount, currency }) => <Amount value={amount} currency={currency} />,
  },
  { head: 'Reference', kind: 'name', cell: (row) => <Foreign>{row.reference}</Foreign> },
  { head: 'Outcome', cell: ({ outcome }) => readable(outcome) },
  {
    head: 'Here',
    cell: ({ result }) => <Tag tone={resultTones[result] ?? 'neutral'}>{readable(result)}</Tag>,
  },
  {
    head: 'Payout',
    kind: 'name',
    cell: ({ payout_token: token }) => (token === '' ? '—' : <TokenLink token={token} />),
  },
];

type ReleasesProps = { report: Recovery; releases: NonNullable<Recovery['releases']> };

function Releases({ report, releases }: ReleasesProps): ReactNode {
  const mayDecide = useMay('decide');
  return (
    <Panel title="Release">
      <div className="stack">
        {releases.map(({ decided_by: by, reason, decided_at: at }) => (
          <p key={at}>
            <Time value={at} isExact /> <strong>{by}</strong>: <Foreign>{reason}</Foreign>
          </p>
        ))}
        {mayDecide && report.state !== 'released' ? (
          <div className="row">
            <Act
              label="Release"
              tone="danger"
              title="Let commits and sending begin again"
              fields={[
                {
                  name: 'accept_unlisted',
                  label: 'Rails that cannot list',
                  initial: '',
                  isOptional: true,
                  choices: [
                    { value: '', label: 'Wait for them' },
                    { value: 'true', label: 'Compared by hand' },
                  ],
                },
              ]}
              request={({ accept_unlisted: accepts }) => ({
                path: 'recovery/release',
                body: accepts === 'true' ? { accept_unlisted: true } : {},
              })}
            >
              <p>Two different operators have to release it. Then payouts are sent again.</p>
            </Act>
          </div>
        ) : (
          <p className="soft">An approver, compliance or an owner releases it.</p>
        )}
      </div>
    </Panel>
  );
}
