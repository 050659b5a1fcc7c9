import type { ReactNode } from 'react';
import { useMay, useOperator, useOperatorPages } from '../../api/operator.ts';
import type { Clearance, Screenings } from '../../api/operator-types.ts';
import { useRecipientNames } from '../../api/queries.ts';
import { readable } from '../../format/words.ts';
import { RecipientLink } from '../../ui/account-link.tsx';
import { Act, type ActField } from '../../ui/act.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { More } from '../../ui/more.tsx';
import { Empty, Foreign, Panel, Tag, Time } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { listHits, readMember } from './members.ts';

const fields: readonly ActField[] = [
  { name: 'until', label: 'Until', hint: 'At most a year from now', type: 'date' },
  {
    name: 'entries',
    label: 'Entries',
    hint: 'Such as ofac_sdn/101, with spaces between. All hits, if empty',
    isOptional: true,
  },
];

/** Clears hits of a recipient until a date. It names the result that the person sees. */
export function ClearUntil({ user }: { user: string }): ReactNode {
  const path = `screenings?${new URLSearchParams({ user }).toString()}`;
  const { data } = useOperator<Screenings>(path);
  const [newest] = data?.screenings ?? [];
  if (newest === undefined || listHits(newest).length === 0) return null;
  const result = readMember(newest, 'sequence');
  return (
    <Act
      label="Clear until a date"
      title="Clear hits until a date"
      fields={fields}
      request={{ path: 'clearances', body: { user, result } }}
    >
      <p>
        The recipient is not who these entries name. This ends at the date, and before it if an
        entry or the data of the recipient changes. A held payout still needs its own decision.
      </p>
    </Act>
  );
}

/** Of all recipients, or of one. */
export function Clearances({ user }: { user?: string }): ReactNode {
  const query = user === undefined ? '' : `?${new URLSearchParams({ user }).toString()}`;
  const asked = useOperatorPages<Clearance>(`clearances${query}`);
  return (
    <Panel title="Clearances">
      <Loaded query={asked} height={60}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="checkCircle" title="No clearance is in force">
              An entry comes here when an operator clears it for a recipient until a date.
            </Empty>
          ) : (
            <More rows={data} more={asked.more}>
              {(shown) => <Rows rows={shown} />}
            </More>
          )
        }
      </Loaded>
    </Panel>
  );
}

function Rows({ rows }: { rows: readonly Clearance[] }): ReactNode {
  const mayComply = useMay('comply');
  const names = useRecipientNames(rows.map(({ account, user_token: user }) => ({ account, user })));
  const columns: Column<Clearance>[] = [
    {
      head: 'Recipient',
      cell: ({ account, user_token: user }) => (
        <RecipientLink account={account} user={user} name={names.get(user)} />
      ),
    },
    {
      head: 'Entry',
      cell: ({ entry, entry_name: name }) => (
        <>
          <Foreign>{name}</Foreign> <span className="soft small">{entry}</span>
        </>
      ),
    },
    {
      head: 'State',
      cell: ({ state }) => (
        <Tag tone={state === 'changed' ? 'warning' : 'neutral'}>{readable(state)}</Tag>
      ),
    },
    { head: 'Until', cell: ({ until }) => <Time value={until} /> },
    { head: 'Reason', cell: ({ reason }) => reason ?? 'erased' },
    { head: 'Cleared by', cell: ({ cleared_by: by }) => by },
    {
      head: 'End',
      isHeadHidden: true,
      cell: ({ clearance }) => (mayComply ? <End clearance={clearance} /> : null),
    },
  ];
  return (
    <Table
      label="Table of clearances"
      columns={columns}
      rows={rows}
      keyOf={({ clearance }) => clearance}
    />
  );
}

function End({ clearance }: { clearance: string }): ReactNode {
  return (
    <Act label="End" title="End a clearance" request={{ path: `clearances/${clearance}/end` }}>
      <p>The entry holds the next payout to this recipient again.</p>
    </Act>
  );
}
