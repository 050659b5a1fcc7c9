import type { ReactNode } from 'react';
import { useOperator } from '../../api/operator.ts';
import type { WaitingScreenings } from '../../api/operator-types.ts';
import { useRecipientNames } from '../../api/queries.ts';
import { RecipientLink } from '../../ui/account-link.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { More } from '../../ui/more.tsx';
import { Empty, Panel, Time } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { SubjectLink } from './subject-link.tsx';

/** Recipients and scheduled payouts that a change of the lists found before they are paid. */
export function Waiting(): ReactNode {
  const asked = useOperator<WaitingScreenings>('screenings/waiting?limit=1000');
  return (
    <Panel title="Found before a payout">
      <Loaded query={asked} height={60}>
        {(waiting) => (
          <div className="stack">
            <Progress of={waiting.progress} />
            <More rows={waiting.recipients}>{(shown) => <Recipients rows={shown} />}</More>
            {waiting.payouts.length === 0 ? null : (
              <More rows={waiting.payouts}>{(shown) => <Scheduled rows={shown} />}</More>
            )}
            {waiting.has_more_recipients || waiting.has_more_payouts ? (
              <p className="soft small">
                These are the oldest. More wait, and appear when these are decided.
              </p>
            ) : null}
          </div>
        )}
      </Loaded>
    </Panel>
  );
}

function Progress({ of }: { of: WaitingScreenings['progress'] }): ReactNode {
  if (of === null) return null;
  return (
    <p className="soft small">
      {of.finished_at === null ? (
        <>
          All recipients are being screened: {of.screened} done, {of.remaining} left.
        </>
      ) : (
        <>
          All recipients were last screened <Time value={of.finished_at} />.
        </>
      )}
    </p>
  );
}

type Recipient = WaitingScreenings['recipients'][number];

function Recipients({ rows }: { rows: readonly Recipient[] }): ReactNode {
  const names = useRecipientNames(rows.map(({ account, user_token: user }) => ({ account, user })));
  if (rows.length === 0) {
    return (
      <Empty icon="checkCircle" title="No recipient waits">
        When a list changes, all recipients are screened again. Who is found comes here.
      </Empty>
    );
  }
  const columns: Column<Recipient>[] = [
    {
      head: 'Recipient',
      cell: ({ account, user_token: user }) => (
        <RecipientLink account={account} user={user} name={names.get(user)} />
      ),
    },
    { head: 'Entries', cell: ({ entries }) => entries },
    { head: 'Found', cell: ({ screened_at: at }) => <Time value={at} /> },
    {
      head: 'Evidence',
      isHeadHidden: true,
      cell: ({ user_token: user }) => <SubjectLink of={user} />,
    },
  ];
  return (
    <Table
      label="Table of recipients that wait"
      columns={columns}
      rows={rows}
      keyOf={({ user_token: user }) => user}
    />
  );
}

type Payout = WaitingScreenings['payouts'][number];

const payoutColumns: readonly Column<Payout>[] = [
  { head: 'Scheduled payout', cell: ({ payout_token: token }) => token },
  { head: 'Entries', cell: ({ entries }) => entries },
  { head: 'Found', cell: ({ screened_at: at }) => <Time value={at} /> },
  {
    head: 'Evidence',
    isHeadHidden: true,
    cell: ({ payout_token: token }) => <SubjectLink of={token} />,
  },
];

function Scheduled({ rows }: { rows: readonly Payout[] }): ReactNode {
  return (
    <Table
      label="Table of scheduled payouts that wait"
      columns={payoutColumns}
      rows={rows}
      keyOf={({ payout_token: token }) => token}
    />
  );
}
