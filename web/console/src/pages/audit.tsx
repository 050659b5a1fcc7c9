import { Fragment, type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Heading } from 'react-aria-components/Dialog';
import { useOperator } from '../api/operator.ts';
import type { AuditEntry, List } from '../api/operator-types.ts';
import { readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { PageDialog } from '../ui/dialog.tsx';
import { useDialogPlace } from '../ui/dialog-place.tsx';
import { TextField } from '../ui/field.tsx';
import { ProblemNotice } from '../ui/notice.tsx';
import { Empty, Facts, Foreign, PageHead, Panel, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';
import './payouts.css';

/** Who did what, from where and why; the newest first. Nothing in it can be changed. */
export function Audit(): ReactNode {
  const [name, setName] = useState('');
  const [action, setAction] = useState('');
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const [before, setBefore] = useState('');
  const query = new URLSearchParams(
    Object.entries({ limit: '50', name, action, from, to, before }).filter(
      ([, value]) => value !== '',
    ),
  );
  const { data, error } = useOperator<List<AuditEntry>>(`audit?${query.toString()}`);
  const change = (set: (text: string) => void) => (text: string) => {
    set(text);
    setBefore('');
  };
  return (
    <>
      <PageHead {...heads.audit} />
      <Together>
        <div className="filters audit-filters">
          <TextField label="Operator" value={name} onText={change(setName)} autoComplete="off" />
          <TextField
            label="Action"
            placeholder="limit, operator invite"
            value={action}
            onText={change(setAction)}
            autoComplete="off"
          />
          <TextField label="From" type="date" value={from} onText={change(setFrom)} />
          <TextField label="Before" type="date" value={to} onText={change(setTo)} />
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
          {data?.next === null || data?.next === undefined ? null : (
            <Button className="button" onPress={() => setBefore(data.next ?? '')}>
              Older
            </Button>
          )}
        </nav>
      </Together>
    </>
  );
}

/** In a line what it was about; its dialog has all of the entry. */
function What({ entry }: { entry: AuditEntry }): ReactNode {
  const show = useDialogPlace();
  const close = (): void => show(null);
  const open = (): void =>
    show(
      <PageDialog close={close}>
        <Entry entry={entry} close={close} />
      </PageDialog>,
    );
  return (
    <Button className="button plain entry" onPress={open}>
      <span className="visually-hidden">Entry {entry.sequence}: </span>
      <code className="clip">
        <Foreign>{JSON.stringify(entry.object)}</Foreign>
      </code>
    </Button>
  );
}

function Entry({ entry, close }: { entry: AuditEntry; close: () => void }): ReactNode {
  const { object, before, after } = entry;
  const parts = Object.entries({ What: object, Before: before, After: after });
  return (
    <div className="stack">
      <Heading slot="title">
        {entry.action}, entry {entry.sequence}
      </Heading>
      <Facts
        facts={[
          { title: 'Who', value: <Foreign>{entry.actor}</Foreign> },
          { title: 'Role', value: readable(entry.role ?? entry.actor_kind) },
          { title: 'From', value: <Foreign>{entry.address}</Foreign> },
          {
            title: 'Credential',
            value: <code>{entry.credential === '' ? '—' : entry.credential}</code>,
          },
          { title: 'When', value: <Time value={entry.created_at} isExact /> },
          { title: 'Reason', value: <Foreign>{entry.reason}</Foreign> },
          { title: 'Outcome', value: readable(entry.outcome) },
          { title: 'Account', value: <code>{entry.account_id ?? '—'}</code> },
          { title: 'Request', value: <code>{entry.request_id}</code> },
        ]}
      />
      {parts
        .filter(([, value]) => value !== null)
        .map(([title, value]) => (
          <div key={title}>
            <h3 className="small soft">{title}</h3>
            <pre className="json" tabIndex={0} aria-label={title}>
              {JSON.stringify(value, undefined, 2)
                .split('\n')
                .map((line, index) => (
                  <Fragment key={index}>
                    <Foreign>{line}</Foreign>
                    {'\n'}
                  </Fragment>
                ))}
            </pre>
          </div>
        ))}
      <div className="row">
        <Button className="button primary" onPress={close}>
          Close
        </Button>
      </div>
    </div>
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
    cell: (entry) => <What entry={entry} />,
  },
  { head: 'Reason', kind: 'name', cell: (entry) => <Foreign>{entry.reason}</Foreign> },
  { head: 'Outcome', cell: (entry) => readable(entry.outcome) },
];
