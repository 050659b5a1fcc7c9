import type { ReactNode } from 'react';
import { useMay, useOperator } from '../api/operator.ts';
import type { List, OperatorPolicy } from '../api/operator-types.ts';
import { readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { Act, type ActField } from '../ui/act.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Amount, PageHead, Panel } from '../ui/parts.tsx';
import { actionsColumn, type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';

/** What each policy is about, by the name of its action. */
const meanings: Readonly<Record<string, string>> = {
  operator: 'Creating and inviting operators',
  credential: 'Creating and rotating API keys',
  funding: 'Recording money that came in',
  adjustment: 'Correcting a balance, and clearing suspense',
  limit: 'Raising and removing limits, and budgets of API keys',
  resume: 'Resuming what was stopped or frozen',
  decision: 'Deciding about a payout that waits',
  screening: 'Clearing hits of sanctions lists for a recipient',
  erasure: 'Erasing a recipient, and ending a legal hold',
  policy: 'Changing these policies and the approval rules',
};

/** Only these are about an amount. */
const valued: ReadonlySet<string> = new Set(['funding', 'decision']);

/** What one operator does alone, and what needs a second one. */
export function Policies(): ReactNode {
  const mayAdminister = useMay('administer');
  const asked = useOperator<List<OperatorPolicy>>('policies');
  return (
    <>
      <PageHead {...heads.policies} />
      <Together>
        <Loaded query={asked} height={420}>
          {({ data }) => (
            <Panel title="Operators needed" isFlush>
              <Table
                label="Table of policies"
                columns={mayAdminister ? [...columns, actions] : columns}
                rows={data}
                keyOf={({ action }) => action}
              />
            </Panel>
          )}
        </Loaded>
        <p className="small soft">
          The second operator finds the request among the approvals. A policy that was changed past
          the service counts as the strictest. Releasing a recovery always needs two.
        </p>
      </Together>
    </>
  );
}

const columns: readonly Column<OperatorPolicy>[] = [
  { head: 'What', kind: 'text', cell: ({ action }) => meanings[action] ?? readable(action) },
  { head: 'Operators', kind: 'right', cell: ({ persons }) => persons },
  {
    head: 'Above',
    kind: 'right',
    cell: ({ action, persons, above_usd: above }) =>
      valued.has(action) && persons === 2 ? <Amount value={above} currency="USD" /> : '—',
  },
];

const actions = actionsColumn<OperatorPolicy>((policy) => <Change policy={policy} />);

function Change({ policy }: { policy: OperatorPolicy }): ReactNode {
  const { action, persons, above_usd: above } = policy;
  const fields: ActField[] = [
    {
      name: 'persons',
      label: 'Operators',
      initial: String(persons),
      choices: [
        { value: '1', label: 'One' },
        { value: '2', label: 'Two' },
      ],
    },
  ];
  if (valued.has(action)) {
    fields.push({
      name: 'above_usd',
      label: 'Two from just above, whole USD',
      inputMode: 'numeric',
      initial: above,
    });
  }
  return (
    <Act
      label="Change"
      title={`Change: ${meanings[action] ?? readable(action)}`}
      fields={fields}
      request={{ path: `policies/${action}`, method: 'PUT' }}
    >
      <p>It holds from the next request on. The change itself can need a second operator.</p>
    </Act>
  );
}
