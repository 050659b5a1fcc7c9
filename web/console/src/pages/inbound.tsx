import { type ReactNode, useState } from 'react';
import { type NextPage, useMay, useOperatorPages } from '../api/operator.ts';
import type { Exception } from '../api/operator-types.ts';
import { formatCount } from '../format/amount.ts';
import { readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { Act, type ActField, readText } from '../ui/act.tsx';
import { SelectField } from '../ui/field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { More } from '../ui/more.tsx';
import { Amount, Empty, Foreign, PageHead, Panel, Time } from '../ui/parts.tsx';
import { actionsColumn, type Column, Table } from '../ui/table.tsx';
import { countedMax, describeKind, inboundKinds } from './exceptions/kinds.ts';

/** Files and messages of banks and partners that were refused, or that no payout matches. */
export function Inbound(): ReactNode {
  const [kind, setKind] = useState('unmatched');
  const query = new URLSearchParams({ kind, limit: '100' });
  const asked = useOperatorPages<Exception>(`exceptions?${query.toString()}`);
  return (
    <>
      <PageHead {...heads.inbound} />
      <div className="stack">
        <div className="choose">
          <SelectField
            label="Kind"
            hint={describeKind(kind)}
            value={kind}
            onText={setKind}
            choices={Object.keys(inboundKinds).map((value) => ({ value, label: readable(value) }))}
          />
        </div>
        <Loaded query={asked}>
          {({ data, matching }) =>
            data.length === 0 ? (
              <Panel title={readable(kind)}>
                <Empty icon="checkCircle" title="Nothing is open">
                  While one is open, its rail settles nothing by the calendar, because the unread
                  part could hold a return.
                </Empty>
              </Panel>
            ) : (
              <Messages kind={kind} rows={data} matching={matching} more={asked.more} />
            )
          }
        </Loaded>
      </div>
    </>
  );
}

type MessagesProps = {
  kind: string;
  rows: readonly Exception[];
  matching: number;
  more: NextPage | undefined;
};

function Messages({ kind, rows, matching, more }: MessagesProps): ReactNode {
  const mayDecide = useMay('decide');
  const mayComply = useMay('comply');
  const rails = [...new Set(rows.map(({ rail }) => rail))];
  const columns: Column<Exception>[] = [
    { head: 'Opened (UTC)', cell: (row) => <Time value={row.opened_at} isExact /> },
    { head: 'Rail', cell: (row) => <code>{row.rail}</code> },
    { head: 'Detail', kind: 'text', cell: (row) => <Foreign>{row.detail}</Foreign> },
    {
      head: 'Amount',
      kind: 'right',
      cell: ({ amount, currency }) =>
        amount === null || currency === null ? '—' : <Amount value={amount} currency={currency} />,
    },
    actionsColumn((row) => (mayDecide ? <Close exception={row} /> : null)),
  ];
  return (
    <>
      <Panel
        title={readable(kind)}
        isFlush
        aside={<span className="small faint num">{formatCount(matching, countedMax)} open</span>}
      >
        <More rows={rows} more={more}>
          {(shown) => (
            <Table
              label="Table of bank inputs"
              columns={columns}
              rows={shown}
              keyOf={({ id }) => id}
            />
          )}
        </More>
      </Panel>
      <div className="row">
        {mayDecide
          ? rails.map((rail) => {
              const newest = rows.find((row) => row.rail === rail)?.id ?? '';
              return <CloseAll key={rail} {...{ kind, rail, newest }} />;
            })
          : null}
        {mayComply ? <ShowMessage rails={rails} /> : null}
      </div>
    </>
  );
}

function Close({ exception: { id } }: { exception: Exception }): ReactNode {
  return (
    <Act
      label="Close"
      title="Close this input"
      request={{ path: 'exceptions/close', body: { exception: id } }}
    >
      <p>No money moves. When none is open, the rail settles by the calendar again.</p>
    </Act>
  );
}

/** Not those that came after the page was read. */
function CloseAll(all: { kind: string; rail: string; newest: string }): ReactNode {
  const { kind, rail } = all;
  return (
    <Act
      label={`Close all of ${rail}`}
      title={`Close all of ${rail}: ${readable(kind).toLowerCase()}`}
      request={{ path: 'exceptions/close', body: { ...all } }}
    >
      <p>Investigate first: an unread part could hold a return. No money moves.</p>
    </Act>
  );
}

/** The message as it arrived can hold personal data, so it needs a reason and is recorded. */
function ShowMessage({ rails }: { rails: readonly string[] }): ReactNode {
  const fields: ActField[] = [
    {
      name: 'rail',
      label: 'Rail',
      initial: rails[0] ?? '',
      choices: rails.map((value) => ({ value, label: value })),
    },
    { name: 'id', label: 'Message', hint: 'Its id: 12 or more characters, as in the detail' },
  ];
  return (
    <Act
      label="See a message"
      title="See a message as it arrived"
      fields={fields}
      request={({ rail = '', id = '' }) => ({ path: `rails/${rail}/message`, body: { id } })}
      outcome={(outcome) => (
        <pre className="json" tabIndex={0} aria-label="Message as it arrived">
          {readText(outcome, 'content')}
        </pre>
      )}
    >
      <p>It can hold personal data. The audit log records who opens it, and why.</p>
    </Act>
  );
}
