import { type ReactNode, useState } from 'react';
import { useMay, useOperatorPages } from '../api/operator.ts';
import type { LegalHold } from '../api/operator-types.ts';
import { useAccountNames, useRecipientNames } from '../api/queries.ts';
import { heads } from '../shell/heads.ts';
import { RecipientLink } from '../ui/account-link.tsx';
import { Act } from '../ui/act.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { More } from '../ui/more.tsx';
import { Empty, Foreign, PageHead, Panel, Tag, Time } from '../ui/parts.tsx';
import { actionsColumn, type Column, Table } from '../ui/table.tsx';

/** Recipients whose data must be kept until a date, whoever asks for their erasure. */
export function Holds(): ReactNode {
  const [isWithEnded, setWithEnded] = useState(false);
  const asked = useOperatorPages<LegalHold>(isWithEnded ? 'holds?all=true' : 'holds');
  return (
    <>
      <PageHead {...heads.holds} />
      <div className="stack">
        <Loaded query={asked}>
          {({ data }) =>
            data.length === 0 ? (
              <Panel title="Legal holds">
                <Empty icon="checkCircle" title="No data is held">
                  A hold is placed on the page of a recipient, and keeps the data from erasure.
                </Empty>
              </Panel>
            ) : (
              <Panel title="Legal holds" isFlush>
                <More rows={data} more={asked.more}>
                  {(shown) => <HoldTable rows={shown} />}
                </More>
              </Panel>
            )
          }
        </Loaded>
        <label className="row small">
          <input
            type="checkbox"
            checked={isWithEnded}
            onChange={({ target }) => setWithEnded(target.checked)}
          />
          Show those that have ended
        </label>
      </div>
    </>
  );
}

function HoldTable({ rows }: { rows: readonly LegalHold[] }): ReactNode {
  const mayComply = useMay('comply');
  const nameAccount = useAccountNames(rows.map(({ account }) => account));
  const names = useRecipientNames(rows.map(({ account, user_token: user }) => ({ account, user })));
  const columns: Column<LegalHold>[] = [
    {
      head: 'Recipient',
      kind: 'name',
      cell: ({ account, user_token: user }) => (
        <RecipientLink account={account} user={user} name={names.get(user)} />
      ),
    },
    { head: 'Account', cell: ({ account }) => nameAccount(account) },
    { head: 'Reason', kind: 'text', cell: ({ reason }) => <Foreign>{reason}</Foreign> },
    {
      head: 'Placed (UTC)',
      cell: ({ placed_by: by, placed_at: at }) => (
        <>
          <Time value={at} /> <span className="small faint">{by}</span>
        </>
      ),
    },
    { head: 'Until (UTC)', cell: (row) => <End hold={row} /> },
  ];
  return (
    <Table
      label="Table of legal holds"
      columns={mayComply ? [...columns, actions] : columns}
      rows={rows}
      keyOf={({ hold }) => hold}
    />
  );
}

function End({ hold }: { hold: LegalHold }): ReactNode {
  const { until, ended_at: endedAt } = hold;
  if (endedAt === null) return <Time value={until} />;
  return (
    <Tag icon="check">
      Ended <Time value={endedAt} />
    </Tag>
  );
}

const actions = actionsColumn<LegalHold>(({ hold, ended_at: endedAt }) =>
  endedAt === null ? (
    <Act
      label="End"
      title="End this hold before its date"
      request={{ path: `holds/${hold}/release` }}
    >
      <p>From then on the data of the recipient can be erased. It can need two operators.</p>
    </Act>
  ) : null,
);
