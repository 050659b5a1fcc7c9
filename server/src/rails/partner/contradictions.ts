import type { RailHost } from '../contract/contract.ts';
import { reportProblem } from '../kit/problem-messages.ts';
import type { OrderedMoney } from './answers.ts';
import type { LightLevel } from './light-authentication.ts';
import { type Payment, paymentStates } from './protocol.ts';
import { markContradiction, type PaymentRecord } from './records.ts';

/**
 * What the rail does about unsigned statements: money moves back only by what a query states and no
 * other statement contradicts. A contradiction leaves the outcome unknown; one that lasts opens an
 * exception, so that a person asks the partner.
 */

/** Whether an answer states that money is not, or no longer, with the recipient. */
export function statesMoneyBack({ state, returns }: Payment): boolean {
  return state === 'rejected' || state === 'returned' || returns.length > 0;
}

/** Why what a query states does not count by itself; undefined where it does. */
export function findContradiction(
  record: PaymentRecord | undefined,
  { state }: Pick<Payment, 'state'>,
  stated: Payment['state'] | undefined,
): string | undefined {
  if (state === 'rejected' && record?.value.wasPaid) {
    return 'the query states rejected, but the payment was stated paid before';
  }
  const isOpen = state === 'accepted' || state === 'ready_for_pickup';
  if (!isOpen) return undefined;
  if (stated !== undefined && isLater(stated, state)) {
    return `the query states ${state}, but the answer stated ${stated}`;
  }
  return record?.value.wasRejected
    ? `the query states ${state}, but an earlier answer stated rejected`
    : undefined;
}

export function isLater(state: Payment['state'], than: Payment['state']): boolean {
  return paymentStates.indexOf(state) > paymentStates.indexOf(than);
}

/** Opens an exception, once, when the contradiction is older than `confirmSeconds`. Whether it is. */
export async function reportContradiction(
  { host, light }: { readonly host: RailHost; readonly light: LightLevel },
  money: OrderedMoney,
  found: { readonly detail: string; readonly raw: Uint8Array },
): Promise<boolean> {
  const { reference } = money;
  const nowMs = Math.floor(host.realNowMs());
  const sinceMs = await markContradiction(host.store, money, nowMs);
  host.log('warn', 'the partner contradicts itself', { reference, detail: found.detail });
  if (nowMs - sinceMs < light.confirmSeconds * 1000) return false;
  await reportUnclear(host, { id: `contradiction:${reference}`, reference, ...found });
  return true;
}

/** Opens an exception, once for each id, about a payment whose outcome a person must find out. */
export async function reportUnclear(
  host: RailHost,
  found: { id: string; reference: string; detail: string; raw: Uint8Array | string },
): Promise<void> {
  const { id, reference, raw } = found;
  const detail = `${reference}: ${found.detail}. Ask the partner, and confirm the outcome by hand.`;
  await reportProblem(host, { id, kind: 'not_understood', detail }, raw);
}
