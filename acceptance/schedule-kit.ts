import assert from 'node:assert/strict';
import type { ExactNumber } from './exact.ts';
import {
  commitPayout,
  createPayout,
  type Payout,
  payoutPath,
  type Recipient,
  readPayout,
} from './recipients.ts';
import { type Api, daySeconds, ok } from './service.ts';

/** Scheduled payouts on the sandbox's clock. */

export type Scheduled = Payout & {
  shortfall?: { amount: ExactNumber; currency_code: string };
  total_debit: ExactNumber;
  cancelable: boolean;
  refund?: unknown;
  timeline: { status: string; time: string; reason_code: string; actor: string }[];
};

export const readNowMs = async (through: Api): Promise<number> =>
  Date.parse(ok(await through.get<{ now: string }>('/sandbox/clock')).now);

export const moveTo = async (through: Api, to: string): Promise<void> => {
  ok(await through.post('/sandbox/clock', { to }));
};

export const isoOf = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, 19)}Z`;

export const read = async (through: Api, recipient: Recipient, token: string | undefined) =>
  (await readPayout(through, recipient, token)) as Scheduled;

export const cancellationPath = (recipient: Recipient, token: string): string =>
  `${payoutPath(recipient, token)}/cancellation`;

export const cancel = (through: Api, recipient: Recipient, token: string) =>
  through.post<Scheduled>(cancellationPath(recipient, token), undefined);

/** Commits a payout to run in two days. */
export async function schedule(
  through: Api,
  recipient: Recipient,
  changes: Record<string, unknown> = {},
): Promise<Scheduled & { payout_token: string; runs_at: string; runs_until: string }> {
  const scheduledFor = isoOf((await readNowMs(through)) + 2 * daySeconds * 1000);
  const request = { scheduled_for: scheduledFor, ...changes };
  const payout = await createPayout(through, recipient, request);
  const committed = await commitPayout(through, recipient, payout['payout_token']);
  assert.equal(committed.status, 'success', committed.errors);
  return payout as Awaited<ReturnType<typeof schedule>>;
}

export const courseOf = ({ timeline }: Scheduled): string[][] =>
  timeline.map(({ status, reason_code: code }) => (code === '' ? [status] : [status, code]));
