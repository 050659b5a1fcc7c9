import type { ReactNode } from 'react';
import { useSession } from '../api/context.tsx';
import { type Freeze, type List, type Rail, useOperator } from '../api/operator.ts';
import { formatCount } from '../format/amount.ts';
import { readable } from '../format/words.ts';
import { Act } from '../ui/act.tsx';
import { Notice, ProblemNotice } from '../ui/notice.tsx';
import { Empty, Foreign, PageHead, Panel, SkeletonRows, Tag, Time } from '../ui/parts.tsx';

type Sending = { freezes: Freeze[]; recovery: string };

/** What is under way at each rail, and the switches that stop it. */
export function Rails(): ReactNode {
  const { session } = useSession();
  const mayStop = session.operator.permissions.includes('operate');
  const { data: sending } = useOperator<Sending>('sending');
  const isStopped = sending?.freezes.some(({ scope }) => scope === 'sending') === true;
  return (
    <>
      <PageHead title="Rails" lead="Health, work under way and funds, by rail">
        {mayStop && sending !== undefined ? <Switch isStopped={isStopped} /> : null}
      </PageHead>
      <div className="stack">
        {isStopped ? (
          <Notice tone="danger" title="Sending is stopped" icon="pause">
            <p>Nothing is sent to any payer. Commits are accepted and wait.</p>
          </Notice>
        ) : null}
        <RailTable mayFreeze={mayStop} />
        <Freezes freezes={sending?.freezes} mayLift={mayStop} />
      </div>
    </>
  );
}

function Switch({ isStopped }: { isStopped: boolean }): ReactNode {
  return isStopped ? (
    <Act
      label="Resume sending"
      tone="primary"
      title="Resume sending"
      request={(reason) => ({ path: 'sending/resume', body: { reason } })}
    >
      <p>What waits is sent, in the order in which it was committed.</p>
    </Act>
  ) : (
    <Act
      label="Stop sending"
      tone="danger"
      title="Stop sending on all rails"
      request={(reason) => ({ path: 'sending/stop', body: { reason } })}
    >
      <p>Nothing new is sent to any payer. What payers have already goes on and is reported.</p>
    </Act>
  );
}

const tones = { up: 'success', degraded: 'warning', down: 'danger' } as const;

function Health({ rail }: { rail: Rail }): ReactNode {
  if (rail.is_frozen) {
    return (
      <Tag tone="warning" icon="pause">
        Frozen
      </Tag>
    );
  }
  const tone = tones[rail.health as keyof typeof tones] ?? 'neutral';
  return (
    <Tag tone={tone} icon={tone === 'success' ? 'check' : 'alert'}>
      {readable(rail.health)}
    </Tag>
  );
}

function RailTable({ mayFreeze }: { mayFreeze: boolean }): ReactNode {
  const { data, error, refetch } = useOperator<List<Rail>>('rails');
  if (error !== null) return <ProblemNotice error={error} retry={() => void refetch()} />;
  return (
    <Panel title="Rails" isFlush>
      <div className="scroll" tabIndex={0} role="group" aria-label="Table of rails">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Rail</th>
              <th scope="col">Health</th>
              <th scope="col" className="right">
                Being sent
              </th>
              <th scope="col" className="right">
                Handed over
              </th>
              <th scope="col" className="right">
                Waiting
              </th>
              <th scope="col">Funds</th>
              <th scope="col">
                <span className="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {data === undefined ? <SkeletonRows rows={2} columns={7} /> : null}
            {data?.data.map((rail) => (
              <tr key={rail.rail}>
                <td>
                  <code>{rail.rail}</code>
                </td>
                <td>
                  <Health rail={rail} />
                </td>
                <td className="right num">{formatCount(rail.being_sent)}</td>
                <td className="right num">{formatCount(rail.handed_over)}</td>
                <td className="right num">{formatCount(rail.waiting)}</td>
                <td>
                  {rail.funds.length === 0 ? (
                    <span className="faint">None kept</span>
                  ) : (
                    <Funds funds={rail.funds} />
                  )}
                </td>
                <td className="right">
                  {mayFreeze && !rail.is_frozen ? <FreezeRail name={rail.rail} /> : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Funds({ funds }: { funds: Rail['funds'] }): ReactNode {
  return funds.map((fund) => (
    <span key={JSON.stringify(fund)} className="clip small">
      {Object.values(fund).map(String).join(' ')}
    </span>
  ));
}

function FreezeRail({ name }: { name: string }): ReactNode {
  return (
    <Act
      label="Freeze"
      title={`Freeze the rail ${name}`}
      request={(reason) => ({ path: 'freezes/rail', body: { rail: name, reason } })}
    >
      <p>Nothing new is sent by this rail. Payouts wait, or go by another payer of theirs.</p>
    </Act>
  );
}

type FreezesProps = { freezes: Freeze[] | undefined; mayLift: boolean };

function Freezes({ freezes, mayLift }: FreezesProps): ReactNode {
  return (
    <Panel title="Stops and freezes">
      {freezes === undefined || freezes.length === 0 ? (
        <Empty icon="checkCircle" title="Nothing is stopped">
          Stops of sending and freezes of rails, corridors, accounts and recipients appear here.
        </Empty>
      ) : (
        <ul className="stack">
          {freezes.map((freeze) => (
            <li key={freeze.id} className="row between">
              <span>
                <strong>
                  {readable(freeze.scope)} {freeze.rail ?? ''}
                </strong>
                , since <Time value={freeze.since} /> by <Foreign>{freeze.frozen_by}</Foreign>:{' '}
                <Foreign>{freeze.reason}</Foreign>
              </span>
              {mayLift && freeze.scope !== 'sending' ? (
                <Act
                  label="Lift"
                  title={`Lift the freeze of ${freeze.rail ?? freeze.scope}`}
                  request={(reason) => ({ path: `freezes/${freeze.id}/lift`, body: { reason } })}
                >
                  <p>What waited because of it is sent.</p>
                </Act>
              ) : null}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
