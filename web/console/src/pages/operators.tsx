import type { ReactNode } from 'react';
import { useSession } from '../api/context.tsx';
import { useMay, useOperator } from '../api/operator.ts';
import type { List, Operator } from '../api/operator-types.ts';
import { readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { Act, showSecrets } from '../ui/act.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { ActiveTag, Facts, Foreign, PageHead, Panel, Tag, Time } from '../ui/parts.tsx';
import { actionsColumn, type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';

const roles = [
  { value: 'viewer', may: 'looks at everything but images of identities' },
  { value: 'operator', may: 'also accounts, keys, limits, rails, stops, reconciliation' },
  { value: 'approver', may: 'also decides about payouts that wait' },
  { value: 'compliance', may: 'looks, identities, sanctions hits, erasure, payouts that wait' },
  { value: 'owner', may: 'everything, also operators' },
] as const;

/** Who may do what here. A role is fixed: another one is another operator. */
export function Operators(): ReactNode {
  const mayAdminister = useMay('administer');
  const asked = useOperator<List<Operator>>('operators');
  return (
    <>
      <PageHead {...heads.operators}>{mayAdminister ? <Create /> : null}</PageHead>
      <Together>
        <Loaded query={asked}>
          {({ data }) => (
            <Panel title="Operators" isFlush>
              <Table
                label="Table of operators"
                columns={mayAdminister ? [...columns, actions] : columns}
                rows={data}
                keyOf={({ operator }) => operator}
              />
            </Panel>
          )}
        </Loaded>
        <Panel title="Roles">
          <Facts facts={roles.map(({ value, may }) => ({ title: readable(value), value: may }))} />
        </Panel>
      </Together>
    </>
  );
}

const columns: readonly Column<Operator>[] = [
  { head: 'Name', kind: 'name', cell: ({ name }) => <Foreign>{name}</Foreign> },
  { head: 'Role', cell: ({ role }) => readable(role) },
  { head: 'State', cell: (row) => <State operator={row} /> },
  { head: 'Created (UTC)', cell: (row) => <Time value={row.created_at} /> },
  { head: 'Key of (UTC)', cell: (row) => <Time value={row.key_created_at} /> },
];

function State({ operator }: { operator: Operator }): ReactNode {
  const { revoked_at: revokedAt, is_genuine: isGenuine } = operator;
  if (revokedAt !== null) {
    return (
      <Tag icon="cancel">
        Revoked <Time value={revokedAt} />
      </Tag>
    );
  }
  return isGenuine ? (
    <ActiveTag />
  ) : (
    <Tag tone="danger" icon="alert">
      Changed past the service
    </Tag>
  );
}

const actions = actionsColumn<Operator>((row) => <Actions operator={row} />);

function Actions({ operator }: { operator: Operator }): ReactNode {
  const { session } = useSession();
  if (operator.revoked_at !== null) return null;
  const { name } = operator;
  return (
    <div className="row end">
      <Act
        label="Invite"
        title={`Invite ${name} by a link`}
        request={{ path: `operators/${name}/invite` }}
        outcome={showSecrets({ link: `Link for ${name}` })}
      >
        <p>
          The link signs {name} in once, within a day. Anyone who has it becomes {name}, so give it
          to no one else.
        </p>
      </Act>
      {name === session.operator.name ? null : (
        <Act
          label="Revoke"
          tone="danger"
          title={`Revoke ${name}`}
          request={{ path: `operators/${name}/revoke` }}
        >
          <p>The key and all sessions end at once and permanently. The name stays taken.</p>
        </Act>
      )}
    </div>
  );
}

function Create(): ReactNode {
  return (
    <Act
      label="New operator"
      tone="primary"
      title="Create an operator"
      fields={[
        {
          name: 'name',
          label: 'Name',
          hint: 'Lower-case letters, digits, dot, hyphen. A name is never reused',
        },
        {
          name: 'role',
          label: 'Role',
          initial: 'viewer',
          choices: roles.map(({ value, may }) => ({ value, label: `${readable(value)}: ${may}` })),
        },
      ]}
      request={{ path: 'operators' }}
      outcome={showSecrets({ key: 'The key for the command line' })}
    >
      <p>For the console, invite the operator by a link afterwards.</p>
    </Act>
  );
}
