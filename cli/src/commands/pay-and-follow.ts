import type { Client, Payout, PayoutAddress } from '../../../sdk/src/index.ts';
import type { Context } from '../command.ts';
import { Failure } from '../failure.ts';
import { printable } from '../table.ts';
import { formatCode, readDuration } from '../values.ts';
import { commitPayout, describeCommit, findRefusal, followCommitted } from './commit.ts';
import { describeExpected, ended, followPayout, saveReceipt } from './payouts.ts';

/** The second half of `pay`: from a quote to its receipt. */

type Order = {
  readonly address: PayoutAddress;
  readonly quote: Payout;
  readonly values: { readonly wait: string | undefined; readonly receipt: string | undefined };
  /** An earlier run has committed it: the commit is answered as that one was, and moves nothing. */
  readonly isRepeated: boolean;
};

/** @throws Failure of the commit, or of the payout where it has ended unpaid. */
export async function commitAndFollow(
  context: Context,
  client: Client,
  { address, quote, values, isRepeated }: Order,
): Promise<void> {
  const { output } = context;
  const result = { ...address, repeated: isRepeated };
  const committed = await commitPayout(context, client, address);
  const refusal = findRefusal(committed);
  if (refusal !== undefined) {
    const { code, message, next } = refusal;
    if (code === 'duplicate_transfer') throw new Failure(message, { code, next });
    output.result({ ...result, commit: committed }, () => describeCommit(committed));
    throw refusal;
  }
  if (!output.isJson) output.note(describeCommit(committed));
  const { payout, file } = await followCommitted(context, {
    known: { ...result, commit: committed, payout: null, receipt: null },
    next: `outlay payout watch ${address.payout_token}`,
    follow: () => followToReceipt(context, client, { address, quote, values }),
  });
  output.result({ ...result, commit: committed, payout, receipt: file }, () =>
    describeEnd(payout, file),
  );
  // ERROR has not ended: an operator can still send it through another payer, and a second payout would pay twice.
  if (payout.status === 'CANCELLED') throw ended(payout);
  if (payout.status !== 'COMPLETED') output.next(`outlay payout watch ${address.payout_token}`);
}

async function followToReceipt(
  context: Context,
  client: Client,
  { address, quote, values }: Omit<Order, 'isRepeated'>,
): Promise<{ payout: Payout; file: string }> {
  const { output, signal } = context;
  const payout = await followPayout(context, client, {
    ...address,
    seconds: values.wait === undefined ? chooseSeconds(quote) : readDuration(values.wait, '--wait'),
    known: quote.timeline.length,
    show: (_state, steps) => {
      if (!output.isJson && steps !== '') output.note(steps);
    },
  });
  const { file } = await saveReceipt(client, { ...address, file: values.receipt, signal });
  return { payout, file };
}

/** Times of the API are UTC, also those without an offset. */
export function withZone(time: string): string {
  return time.endsWith('Z') ? time : `${time}Z`;
}

/** A payout that takes hours is not waited for, only seen on its way. */
function chooseSeconds({ created_at, estimated_availability }: Payout): number {
  const lastsMs = Date.parse(withZone(estimated_availability)) - Date.parse(withZone(created_at));
  return lastsMs < 3_600_000 ? 15 : 2;
}

function describeEnd(payout: Payout, file: string): string {
  const { status, status_reason, actor, payout_token } = payout;
  const expected = describeExpected(payout);
  const state = `${payout_token} is ${formatCode(status)}`;
  const when = expected === '' ? '' : `, expected by ${expected}`;
  const isWaiting = status === 'HOLD' || status === 'ERROR';
  const details = isWaiting ? `, to act: ${actor}: ${printable(status_reason)}` : when;
  return `${state}${details}. Receipt: ${file}`;
}
