import type { ReactNode } from 'react';
import type { Exception } from '../../api/operator-types.ts';
import { formatAmount } from '../../format/amount.ts';
import { Act } from '../../ui/act.tsx';
import { type DecisionAction, listActions } from './kinds.ts';

const effects: Readonly<Record<DecisionAction, { label: string; effect: string }>> = {
  release: { label: 'Release', effect: 'The payout continues: it is sent, or queried again.' },
  retry: {
    label: 'Try another payer',
    effect: 'It is sent by a payer that was not tried, within the quoted cost.',
  },
  paid: { label: 'It was paid', effect: 'The payout is completed: the recipient has the money.' },
  not_paid: {
    label: 'It was not paid',
    effect:
      'The payout is canceled and its money goes back to the balance. Be sure: your statement is recorded.',
  },
  refund: {
    label: 'Refund',
    effect: 'The payout is canceled and its money goes back to the balance.',
  },
  returned: {
    label: 'It came back',
    effect: 'The money came back and is returned to the balance.',
  },
  write_off: { label: 'Write off', effect: 'The payment is booked against suspense, as a loss.' },
  dismiss: { label: 'Dismiss', effect: 'The exception is closed. No money moves.' },
};

/** The decisions that fit the exception. The service refuses one that does not, and says why. */
export function DecidePayout({ exception }: { exception: Exception }): ReactNode {
  const { amount, currency, payout_token: payout, payout_version } = exception;
  if (payout === '') return null;
  const about =
    amount === null || currency === null ? '' : `: ${formatAmount(amount, currency)} ${currency}`;
  return (
    <div className="row">
      {listActions(exception.kind).map((action) => (
        <Act
          key={action}
          label={effects[action].label}
          title={`${effects[action].label}${about}`}
          request={{ path: `payouts/${payout}/decision`, body: { action, payout_version } }}
        >
          <p>{effects[action].effect}</p>
          <p>{describePersons(exception, action)}</p>
        </Act>
      ))}
    </div>
  );
}

/** How many operators it takes. Approval rules say their own number, for the release only. */
function describePersons({ approvers }: Exception, action: DecisionAction): string {
  if (action !== 'release' || approvers === null || approvers < 2) {
    return 'Large amounts need two operators: then this waits for the second one.';
  }
  return `It takes ${approvers} different operators: this waits until all of them have released it.`;
}
