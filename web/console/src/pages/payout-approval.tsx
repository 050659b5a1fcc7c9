import type { ReactNode } from 'react';
import { useMay, useOperator } from '../api/operator.ts';
import type { Exception, List } from '../api/operator-types.ts';
import { Facts, Foreign, Panel } from '../ui/parts.tsx';
import { DecidePayout } from './exceptions/decisions.tsx';
import { Decided, listApprovalFacts } from './exceptions.tsx';

/** Which rules hold the payout, who has released it so far, and the decisions about it. */
export function PayoutApproval({ payout }: { payout: string }): ReactNode {
  const mayDecide = useMay('decide');
  const { data } = useOperator<List<Exception>>(`exceptions?kind=approval&payout=${payout}`);
  const exception = data?.data[0];
  if (exception === undefined) return null;
  return (
    <Panel title="Approval">
      <div className="stack">
        <Facts
          facts={[
            { title: 'Rules', value: <Foreign>{exception.detail}</Foreign> },
            ...listApprovalFacts(exception),
          ]}
        />
        <Decided decisions={exception.decisions} />
        {mayDecide ? <DecidePayout exception={exception} /> : null}
      </div>
    </Panel>
  );
}
