import type { ReactNode } from 'react';
import type { Payout } from '../api/client.ts';
import { useOperator } from '../api/operator.ts';
import type { Margin } from '../api/operator-types.ts';
import { readable } from '../format/words.ts';
import { Amount, Panel } from '../ui/parts.tsx';

/** What rails took for the payout besides its amount, which the operator bears. Nothing where none did. */
export function PayoutCharges({ payout }: { payout: Payout }): ReactNode {
  const { data } = useOperator<Margin>(`payouts/${payout.payout_token}/margin`);
  const charges = data?.margin.charges ?? [];
  if (charges.length === 0) return null;
  return (
    <Panel title="Charges of the rail">
      <dl className="facts money">
        {charges.map(({ rail, kind, currency, amount }, index) => (
          <div key={`${rail}-${index}`} className="pair">
            <dt>
              {readable(kind)}, <code>{rail}</code>
            </dt>
            <dd>
              <Amount value={amount} currency={currency} />
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
