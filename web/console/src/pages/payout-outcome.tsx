import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Payout, Schemas } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { useMay } from '../api/operator.ts';
import { ProblemNotice } from '../ui/notice.tsx';
import { Panel } from '../ui/parts.tsx';

type Outcome = Schemas['SandboxOutcome']['outcome'];

const outcomes: readonly { outcome: Outcome; label: string }[] = [
  { outcome: 'completed', label: 'Pay it' },
  { outcome: 'ready_for_pickup', label: 'Ready for pickup' },
  { outcome: 'rejected', label: 'Reject it' },
  { outcome: 'returned', label: 'Send it back' },
  { outcome: 'unknown', label: 'Drop the answer' },
];

function listOutcomes({ status, delivery_type: delivery }: Payout): typeof outcomes {
  if (status === 'COMPLETED') return outcomes.filter(({ outcome }) => outcome === 'returned');
  if (!/^(?:PROCESSING|READY_FOR_PICKUP|HOLD)$/.test(status)) return [];
  return outcomes.filter(
    ({ outcome }) =>
      outcome !== 'returned' && (outcome !== 'ready_for_pickup' || delivery === 'CASH_PICKUP'),
  );
}

/** Staging only: what the simulated payer does next. */
export function OutcomePanel({ payout }: { payout: Payout }): ReactNode {
  const mayWrite = useMay('operate');
  if (listOutcomes(payout).length === 0 || !mayWrite) return null;
  return (
    <Panel title="Sandbox: what the payer does next">
      <OutcomeButtons payout={payout} />
    </Panel>
  );
}

export function OutcomeButtons({ payout }: { payout: Payout }): ReactNode {
  const api = useApi();
  const queries = useQueryClient();
  const { payout_token } = payout;
  const play = useMutation({
    mutationFn: (outcome: Outcome) => api.scriptSandboxPayout({ payout_token, body: { outcome } }),
    onSettled: () => queries.invalidateQueries({ queryKey: [api.account] }),
  });
  return (
    <>
      <div className="row">
        {listOutcomes(payout).map(({ outcome, label }) => (
          <Button
            key={outcome}
            className="button"
            isDisabled={play.isPending}
            onPress={() => play.mutate(outcome)}
          >
            {label}
          </Button>
        ))}
      </div>
      {play.error === null ? null : <ProblemNotice error={play.error} />}
    </>
  );
}
