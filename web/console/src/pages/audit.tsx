import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { type AuditEntry, type List, useOperator } from '../api/operator.ts';
import { readable } from '../format/words.ts';
import { TextField } from '../ui/field.tsx';
import { ProblemNotice } from '../ui/notice.tsx';
import { Empty, Foreign, PageHead, Panel, SkeletonRows, Time } from '../ui/parts.tsx';
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
            <Entries rows={data?.data} />
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

function Entries({ rows }: { rows: readonly AuditEntry[] | undefined }): ReactNode {
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label="Entries of the audit log">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Time (UTC)</th>
            <th scope="col">Who</th>
            <th scope="col">Action</th>
            <th scope="col">What</th>
            <th scope="col">Reason</th>
            <th scope="col">Outcome</th>
          </tr>
        </thead>
        <tbody>
          {rows === undefined ? <SkeletonRows rows={10} columns={6} /> : null}
          {rows?.map((entry) => (
            <tr key={entry.sequence}>
              <td>
                <Time value={entry.created_at} isExact />
              </td>
              <td className="name">
                <Foreign>{entry.actor}</Foreign>
                <span className="small faint clip">{entry.address}</span>
              </td>
              <td>{entry.action}</td>
              <td className="name">
                <code className="clip" title={JSON.stringify(entry.object)}>
                  <Foreign>{JSON.stringify(entry.object)}</Foreign>
                </code>
              </td>
              <td className="name">
                <Foreign>{entry.reason}</Foreign>
              </td>
              <td>{readable(entry.outcome)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
