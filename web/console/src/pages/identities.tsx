import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useOperatorPages } from '../api/operator.ts';
import type { PendingIdentity } from '../api/operator-types.ts';
import { useAccountNames, useRecipientNames } from '../api/queries.ts';
import { heads } from '../shell/heads.ts';
import { Loaded } from '../ui/loaded.tsx';
import { More } from '../ui/more.tsx';
import { Empty, Foreign, PageHead, Panel, Tag, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';

/** Verifications of all accounts that wait for a person, the newest first. */
export function Identities(): ReactNode {
  const asked = useOperatorPages<PendingIdentity>('identities');
  return (
    <>
      <PageHead {...heads.identities} />
      <Loaded query={asked}>
        {({ data }) => (
          <Panel title="To decide" isFlush>
            {data.length === 0 ? (
              <Empty icon="checkCircle" title="No verification waits">
                A recipient appears here after uploading images. The page of every recipient leads
                to earlier ones.
              </Empty>
            ) : (
              <More rows={data} more={asked.more}>
                {(shown) => <Pending rows={shown} />}
              </More>
            )}
          </Panel>
        )}
      </Loaded>
    </>
  );
}

function Pending({ rows }: { rows: readonly PendingIdentity[] }): ReactNode {
  const navigate = useNavigate();
  const nameAccount = useAccountNames(rows.map(({ account }) => account));
  const names = useRecipientNames(rows.map(({ account, user_token: user }) => ({ account, user })));
  const targetOf = ({ user_token: user }: PendingIdentity) =>
    ({ to: '/identities/$user', params: { user } }) as const;
  const columns: Column<PendingIdentity>[] = [
    {
      head: 'Recipient',
      kind: 'name',
      cell: (row) => (
        <Link {...targetOf(row)} className="clip" onClick={(event) => event.stopPropagation()}>
          <Foreign>{names.get(row.user_token) ?? '…'}</Foreign>
        </Link>
      ),
    },
    { head: 'Account', kind: 'name', cell: (row) => <Foreign>{nameAccount(row.account)}</Foreign> },
    {
      head: 'Status',
      cell: (row) => (
        <Tag tone="warning" icon="clock">
          {row.status}
        </Tag>
      ),
    },
    { head: 'Upload', kind: 'right', cell: (row) => row.submission },
    {
      head: 'Decided by one',
      cell: ({ decisions: [first] }) =>
        first === undefined ? '—' : <Foreign>{first.decided_by}</Foreign>,
    },
    { head: 'Changed (UTC)', kind: 'right', cell: (row) => <Time value={row.updated_at} /> },
  ];
  return (
    <Table
      label="Table of verifications"
      columns={columns}
      rows={rows}
      keyOf={({ session_id: id }) => id}
      onRow={(row) => void navigate(targetOf(row))}
    />
  );
}
