import type { ReactNode } from 'react';
import { useSession } from '../api/context.tsx';
import { useOperatorPages } from '../api/operator.ts';
import type { Approval } from '../api/operator-types.ts';
import { useAccountNames } from '../api/queries.ts';
import { readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { Act, showSecrets } from '../ui/act.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { More } from '../ui/more.tsx';
import { Empty, Facts, Foreign, PageHead, Panel, Tag, Time } from '../ui/parts.tsx';

/** What one operator asked for and another one has to approve. */
export function Approvals(): ReactNode {
  const asked = useOperatorPages<Approval>('approvals');
  return (
    <>
      <PageHead {...heads.approvals} />
      <div className="stack">
        <Loaded query={asked}>
          {({ data }) =>
            data.length === 0 ? (
              <Panel title="Open requests">
                <Empty icon="approve" title="No request waits">
                  Actions that need two operators wait here until the second one decides.
                </Empty>
              </Panel>
            ) : (
              <More rows={data} more={asked.more}>
                {(shown) =>
                  shown.map((approval) => <Entry key={approval.approval} approval={approval} />)
                }
              </More>
            )
          }
        </Loaded>
      </div>
    </>
  );
}

/** The approver of a new credential or link is the one who sees it. */
const secretLabels = {
  api_key: 'API key',
  client_id: 'Client id',
  client_secret: 'Client secret',
  key: 'The key for the command line',
  link: 'The link for the console',
};

function Entry({ approval }: { approval: Approval }): ReactNode {
  const { operator } = useSession().session;
  const { account } = approval.options;
  const nameAccount = useAccountNames(typeof account === 'string' ? [account] : []);
  const describe = (name: string, value: unknown): string => {
    if (typeof value !== 'string') return JSON.stringify(value);
    return name === 'account' ? nameAccount(value) : value;
  };
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
        <Facts
          facts={[
            {
              title: 'Asked by',
              value: (
                <>
                  <Foreign>{approval.requested_by}</Foreign>, <Time value={approval.requested_at} />
                </>
              ),
            },
            { title: 'Reason', value: <Foreign>{approval.reason}</Foreign> },
            ...Object.entries(approval.options).map(([name, value]) => ({
              title: readable(name),
              value: <Foreign>{describe(name, value)}</Foreign>,
            })),
          ]}
        />
        <div className="row">
          {isOwn ? (
            <span className="soft">You asked for it, so another operator has to approve it.</span>
          ) : (
            <Act
              label="Approve"
              tone="primary"
              title={`Approve: ${title}`}
              request={{ path: `${path}/approve` }}
              outcome={showSecrets(secretLabels)}
            >
              <p>It takes effect at once, with both names in the audit log.</p>
            </Act>
          )}
          <Act
            label={isOwn ? 'Withdraw' : 'Reject'}
            title={`${isOwn ? 'Withdraw' : 'Reject'}: ${title}`}
            request={{ path: `${path}/withdraw` }}
          >
            <p>The request ends, and nothing changes.</p>
          </Act>
        </div>
      </div>
    </Panel>
  );
}
