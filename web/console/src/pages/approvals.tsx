import type { ReactNode } from 'react';
import { useSession } from '../api/context.tsx';
import { type Approval, type List, useOperator } from '../api/operator.ts';
import { readable } from '../format/words.ts';
import { Act } from '../ui/act.tsx';
import { ProblemNotice } from '../ui/notice.tsx';
import { Empty, Foreign, PageHead, Panel, Skeleton, Tag, Time } from '../ui/parts.tsx';

/** What one operator asked for and another one has to approve. */
export function Approvals(): ReactNode {
  const { data, error, refetch } = useOperator<List<Approval>>('approvals');
  return (
    <>
      <PageHead title="Approvals" lead="Who asks is never who approves" />
      <div className="stack">
        {error === null ? null : <ProblemNotice error={error} retry={() => void refetch()} />}
        {data === undefined && error === null ? <Skeleton height={180} /> : null}
        {data?.data.length === 0 ? (
          <Panel title="Open requests">
            <Empty icon="approve" title="No request waits">
              Actions that need two operators wait here until the second one decides.
            </Empty>
          </Panel>
        ) : null}
        {data?.data.map((approval) => (
          <Entry key={approval.approval} approval={approval} />
        ))}
      </div>
    </>
  );
}

function Entry({ approval }: { approval: Approval }): ReactNode {
  const { operator } = useSession().session;
  const isOwn = approval.requested_by === operator.name;
  const title = readable(approval.action);
  const path = `approvals/${approval.approval}`;
  return (
    <Panel
      title={title}
      aside={
        <Tag tone="warning" icon="clock">
          Until <Time value={approval.expires_at} />
        </Tag>
      }
    >
      <div className="stack">
        <dl className="facts">
          <dt>Asked by</dt>
          <dd>
            <Foreign>{approval.requested_by}</Foreign>, <Time value={approval.requested_at} />
          </dd>
          <dt>Reason</dt>
          <dd>
            <Foreign>{approval.reason}</Foreign>
          </dd>
          {Object.entries(approval.options).map(([name, value]) => (
            <div key={name} className="pair">
              <dt>{readable(name)}</dt>
              <dd>
                <Foreign>{typeof value === 'string' ? value : JSON.stringify(value)}</Foreign>
              </dd>
            </div>
          ))}
        </dl>
        <div className="row">
          {isOwn ? (
            <span className="soft">You asked for it, so another operator has to approve it.</span>
          ) : (
            <Act
              label="Approve"
              tone="primary"
              title={`Approve: ${title}`}
              request={(reason) => ({ path: `${path}/approve`, body: { reason } })}
            >
              <p>It is done at once, with both names in the audit log.</p>
            </Act>
          )}
          <Act
            label={isOwn ? 'Withdraw' : 'Reject'}
            title={`${isOwn ? 'Withdraw' : 'Reject'}: ${title}`}
            request={(reason) => ({ path: `${path}/withdraw`, body: { reason } })}
          >
            <p>The request ends and nothing changes.</p>
          </Act>
        </div>
      </div>
    </Panel>
  );
}
