import type { ReactNode } from 'react';
import { useSession } from '../api/context.tsx';
import { type Exception, type List, useOperator } from '../api/operator.ts';
import { readable } from '../format/words.ts';
import { Act } from '../ui/act.tsx';
import { ProblemNotice } from '../ui/notice.tsx';
import {
  Amount,
  Copy,
  Empty,
  Foreign,
  PageHead,
  Panel,
  Skeleton,
  Tag,
  Time,
} from '../ui/parts.tsx';

/** Payouts that stand still until an operator decides, the oldest first. */
export function Exceptions(): ReactNode {
  const { data, error, refetch } = useOperator<List<Exception>>('exceptions');
  return (
    <>
      <PageHead
        title="Exceptions"
        lead="What the service does not decide by itself, in all accounts"
      />
      <div className="stack">
        {error === null ? null : <ProblemNotice error={error} retry={() => void refetch()} />}
        {data === undefined && error === null ? <Skeleton height={200} /> : null}
        {data?.data.length === 0 ? (
          <Panel title="Open exceptions">
            <Empty icon="checkCircle" title="Nothing waits for a decision">
              A payout comes here when its outcome is unknown, reports conflict, or it is held for
              review.
            </Empty>
          </Panel>
        ) : null}
        {data?.data.map((exception) => (
          <Entry key={exception.id} exception={exception} />
        ))}
      </div>
    </>
  );
}

function Entry({ exception }: { exception: Exception }): ReactNode {
  const { session } = useSession();
  const account = session.accounts.find((entry) => entry.account === exception.account_id);
  return (
    <Panel
      title={readable(exception.kind)}
      aside={
        <Tag tone="warning" icon="clock">
          Since <Time value={exception.opened_at} />
        </Tag>
      }
    >
      <div className="stack">
        <dl className="facts">
          {exception.amount === null || exception.currency === null ? null : (
            <>
              <dt>Amount</dt>
              <dd>
                <Amount value={exception.amount} currency={exception.currency} />
              </dd>
            </>
          )}
          <dt>Account</dt>
          <dd>
            <Foreign>{account?.name ?? exception.account_id}</Foreign>
          </dd>
          {exception.payout_token === '' ? null : (
            <>
              <dt>Payout</dt>
              <dd>
                <Copy value={exception.payout_token} label="payout token" />
              </dd>
            </>
          )}
          <dt>Rail</dt>
          <dd>
            <code>{exception.rail}</code>
          </dd>
          <dt>Detail</dt>
          <dd>
            <Foreign>{exception.detail}</Foreign>
          </dd>
        </dl>
        {exception.decisions.map((decision) => (
          <p key={decision.decided_at} className="small soft">
            <strong>{readable(decision.action)}</strong> by <Foreign>{decision.decided_by}</Foreign>
            , <Time value={decision.decided_at} />: <Foreign>{decision.reason}</Foreign>
            {decision.is_effective ? '' : ' (waits for a second operator)'}
          </p>
        ))}
        {session.operator.permissions.includes('decide') ? (
          <Decisions exception={exception} />
        ) : null}
      </div>
    </Panel>
  );
}

type Decision = { action: string; label: string; effect: string };

const decisions: readonly Decision[] = [
  { action: 'release', label: 'Release', effect: 'The payout goes on: it is sent to the payer.' },
  {
    action: 'retry',
    label: 'Send again',
    effect:
      'The payout is sent again, by the payer or another one. Only after you know that the first did not pay.',
  },
  {
    action: 'paid',
    label: 'It was paid',
    effect: 'The payout is completed: the recipient has the money.',
  },
  { action: 'not_paid', label: 'It was not paid', effect: 'The attempt is closed as not paid.' },
  {
    action: 'refund',
    label: 'Refund',
    effect: 'The payout is canceled and its money goes back to the balance.',
  },
];

/** The service refuses what does not fit the exception, and says why. */
function Decisions({ exception }: { exception: Exception }): ReactNode {
  if (exception.payout_token === '') return null;
  return (
    <div className="row">
      {decisions.map(({ action, label, effect }) => (
        <Act
          key={action}
          label={label}
          title={`${label}: ${exception.amount ?? ''} ${exception.currency ?? ''}`}
          request={(reason) => ({
            path: `payouts/${exception.payout_token}/decision`,
            body: { action, reason },
          })}
        >
          <p>{effect}</p>
          <p>Large amounts need two operators: then this waits for the second one.</p>
        </Act>
      ))}
    </div>
  );
}
