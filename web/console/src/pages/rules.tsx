import { type ReactNode, useState } from 'react';
import { useOperator } from '../api/operator.ts';
import type { ApprovalPolicyVersion, List } from '../api/operator-types.ts';
import { heads } from '../shell/heads.ts';
import { AccountField } from '../ui/account-field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Notice } from '../ui/notice.tsx';
import { Empty, Foreign, PageHead, Panel, Tag, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';
import { type Members, readEntries, readText } from './documents/document.ts';
import { PolicyEditor } from './rules/editor.tsx';
import { describeConditions, describeRelease, readWhen } from './rules/words.ts';

/** Which payouts wait until operators release them: the policy of all accounts, or of one. */
export function Rules(): ReactNode {
  const [account, setAccount] = useState('');
  const query = account === '' ? '' : `?account=${account}`;
  const asked = useOperator<List<ApprovalPolicyVersion>>(`approval-rules${query}`);
  return (
    <>
      <PageHead {...heads.rules} />
      <Together>
        <div className="choose">
          <AccountField
            label="Rules of"
            hint="Those of all accounts hold besides those of one"
            value={account}
            onText={setAccount}
            none="All accounts"
          />
        </div>
        <Loaded query={asked}>
          {({ data }) => {
            const inForce = data.find((version) => version.is_in_force);
            return (
              <>
                <InForce version={inForce} />
                <PolicyEditor key={account} account={account} inForce={inForce} />
                {data.length === 0 ? null : <Versions versions={data} />}
              </>
            );
          }}
        </Loaded>
      </Together>
    </>
  );
}

const ruleColumns: readonly Column<Members>[] = [
  { head: 'Rule', kind: 'name', cell: (rule) => <Foreign>{readText(rule, 'name')}</Foreign> },
  { head: 'Holds payouts with', kind: 'text', cell: (rule) => <Conditions rule={rule} /> },
  { head: 'Approvers', kind: 'right', cell: (rule) => describeRelease(rule).approvers },
  {
    head: 'Canceled after',
    kind: 'right',
    cell: (rule) => `${describeRelease(rule).hours} hours`,
  },
];

function Conditions({ rule }: { rule: Members }): ReactNode {
  const conditions = describeConditions(readWhen(rule));
  if (conditions.length === 0) return 'Every payout';
  return (
    <ul className="words">
      {conditions.map((condition) => (
        <li key={condition}>
          <Foreign>{condition}</Foreign>
        </li>
      ))}
    </ul>
  );
}

function InForce({ version }: { version: ApprovalPolicyVersion | undefined }): ReactNode {
  const rules = version === undefined ? [] : (readEntries(version.policy, 'rules') ?? []);
  return (
    <>
      {version?.is_forged === true ? (
        <Notice tone="danger" title="This policy was changed past the service">
          <p>
            Every payout is held until another policy is set. Find out who wrote to the database.
          </p>
        </Notice>
      ) : null}
      <Panel
        title="In force"
        isFlush
        aside={
          version === undefined ? null : (
            <span className="small faint">
              Version {version.version}, by <Foreign>{version.set_by}</Foreign>,{' '}
              <Time value={version.set_at} />
            </span>
          )
        }
      >
        {rules.length === 0 ? (
          <Empty icon="check" title="No rule">
            No payout waits for approval by this policy. Other holds are not concerned.
          </Empty>
        ) : (
          <Table
            label="Table of rules"
            columns={ruleColumns}
            rows={rules}
            keyOf={(rule, index) => `${readText(rule, 'name')} ${index}`}
          />
        )}
      </Panel>
    </>
  );
}

const versionColumns: readonly Column<ApprovalPolicyVersion>[] = [
  { head: 'Version', cell: ({ version }) => String(version) },
  { head: 'Set by', kind: 'name', cell: ({ set_by: by }) => <Foreign>{by}</Foreign> },
  { head: 'Reason', kind: 'text', cell: ({ reason }) => <Foreign>{reason}</Foreign> },
  { head: 'Set', cell: ({ set_at: at }) => <Time value={at} /> },
  {
    head: 'Until',
    cell: ({ replaced_at: at, is_forged: isForged }) => (
      <span className="row">
        {at === null ? <Tag tone="success">In force</Tag> : <Time value={at} />}
        {isForged ? <Tag tone="danger">Changed past the service</Tag> : null}
      </span>
    ),
  },
  { head: 'Rules', kind: 'text', cell: ({ policy }) => <RuleNames policy={policy} /> },
];

function RuleNames({ policy }: { policy: Members }): ReactNode {
  const names = (readEntries(policy, 'rules') ?? []).map((rule) => readText(rule, 'name'));
  return names.length === 0 ? 'None' : <Foreign>{names.join(', ')}</Foreign>;
}

function Versions({ versions }: { versions: readonly ApprovalPolicyVersion[] }): ReactNode {
  return (
    <Panel title="Versions" isFlush>
      <Table
        label="Table of versions"
        columns={versionColumns}
        rows={versions}
        keyOf={({ version }) => String(version)}
      />
    </Panel>
  );
}
