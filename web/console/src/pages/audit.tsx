import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useOperator } from '../api/operator.ts';
import type { AuditEntry, List } from '../api/operator-types.ts';
import { readable } from '../format/words.ts';
import { TextField } from '../ui/field.tsx';
import { ProblemNotice } from '../ui/notice.tsx';
import { Empty, Foreign, PageHead, Panel, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import './payouts.css';

/** Who did what, from where and why; the newest first. Nothing in it can be changed. */
export function Audit(): ReactNode {
  const [name, setName] = useState('');
  const [action, setAction] = useState('');
  const [before, setBefore] = useState('');
  const query = new URLSearchParams(
    Object.entries({ limit: '50', name, action, before }).filter(([, value]) => value !== ''),
  );
  const { data, error } = useOperator<List<AuditEntry>>(`audit?${query.toString()}`);
  const change = (set: (text: string) => void) => (text: string) => {
    set(text);
    setBefore('');
  };
  return (
    <>
      <PageHead title="Audit log" lead="Who did what, from where and why" />
      <div className="stack">
        <div className="filters people-filters">
          <TextField label="Operator" value={name} onText={change(setName)} autoComplete="off" />
          <TextField label="Action" value={action} onText={change(setAction)} autoComplete="off" />
        </div>
        {error === null ? null : <ProblemNotice error={error} />}
        <Panel title="Entries" isFlush>
          {data?.data.length === 0 ? (
            <Empty icon="audit" title="No entry matches">
              Write the operator and the action as the log has them, such as operator invite.
            </Empty>
          ) : (
            <Table
              label="Entries of the audit log"
              columns={columns}
              rows={data?.data}
              keyOf={({ sequence }) => sequence}
              skeletonRows={10}
            />
          )}
        </Panel>
        <nav className="row" aria-label="Pages">
          {before === '' ? null : (
            <Button className="button" onPress={() => setBefore('')}>
              Newest
            </Button>
          )}
          {data?.next === null || data?.next === undefined || data.data.length < 50 ? null : (
            <Button className="button" onPress={() => setBefore(data.next ?? '')}>
              Older
            </Button>
          )}
        </nav>
      </div>
    </>
  );
}

const columns: readonly Column<AuditEntry>[] = [
  { head: 'Time (UTC)', cell: (entry) => <Time value={entry.created_at} isExact /> },
  {
    head: 'Who',
    kind: 'name',
    cell: (entry) => (
      <>
        <Foreign>{entry.actor}</Foreign>
        <span className="small faint clip">{entry.address}</span>
      </>
    ),
  },
  { head: 'Action', cell: (entry) => entry.action },
  {
    head: 'What',
    kind: 'name',
    cell: (entry) => (
      <code className="clip" title={JSON.stringify(entry.object)}>
        <Foreign>{JSON.stringify(entry.object)}</Foreign>
      </code>
    ),
  },
  { head: 'Reason', kind: 'name', cell: (entry) => <Foreign>{entry.reason}</Foreign> },
  { head: 'Outcome', cell: (entry) => readable(entry.outcome) },
];
