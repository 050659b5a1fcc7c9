import type { Payout } from '../api/client.ts';
import { nameActor, type Tone } from '../format/words.ts';

export type Wait = { tone: Tone; title: string; reason: string; question: string; actor: string };

type Waiting = Pick<Payout, 'status' | 'status_reason' | 'reason_code' | 'actor'>;

const titles: Readonly<Record<string, { tone: Tone; title: string }>> = {
  HOLD: { tone: 'warning', title: 'This payout is on hold' },
  ERROR: { tone: 'danger', title: 'This payout needs a decision' },
  CANCELLED: { tone: 'neutral', title: 'This payout was canceled' },
  SCHEDULED: { tone: 'neutral', title: 'This payout waits' },
  READY_FOR_PICKUP: { tone: 'neutral', title: 'The cash waits for the recipient' },
  PROCESSING: { tone: 'warning', title: 'This payout is overdue' },
};

/** Undefined for a payout that runs as it should. */
export function describeWait({ status, ...payout }: Waiting): Wait | undefined {
  const known = titles[status];
  const isExplained = payout.reason_code !== '' || payout.status_reason !== '';
  if (known === undefined || (status !== 'HOLD' && status !== 'ERROR' && !isExplained)) {
    return undefined;
  }
  const isApproval = status === 'HOLD' && payout.reason_code === 'needs_approval';
  return {
    ...known,
    ...(isApproval && { title: 'This payout waits for approval' }),
    reason: payout.status_reason || payout.reason_code,
    question: status === 'CANCELLED' ? 'For the next one to succeed, it is on' : 'Who acts next',
    actor: nameActor(payout.actor),
  };
}
