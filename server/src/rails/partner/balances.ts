import { findCurrency } from '../../core/currency.ts';
import { formatScaled, readDecimal } from '../../core/money.ts';
import type { CallContext, RailFunds } from '../contract/contract.ts';
import { balancesSchema } from './capability-protocol.ts';
import { ask, type Setup } from './payments.ts';

/**
 * What is left to pay from at the partner. An answer counts as a whole or not at all, so that an amount
 * that cannot be read is never shown as missing money.
 *
 * @throws Error where there is no definite answer; the last reading stays.
 */
export async function readFunds(setup: Setup, context: CallContext): Promise<RailFunds[]> {
  const request = { method: 'GET', path: '/balances', body: '' } as const;
  const result = await ask(setup, context, request);
  if (result.kind !== 'answered' || result.status !== 200) {
    const found = result.kind === 'answered' ? `status ${result.status}` : result.kind;
    throw new Error(`the partner does not state its balances: ${found}`);
  }
  const answer = balancesSchema.safeParse(result.json);
  if (!answer.success) throw new Error('the answer to GET /balances does not have its form');
  const { balances, as_of: asOf } = answer.data;
  if (new Set(balances.map(({ currency }) => currency)).size < balances.length) {
    throw new Error('the answer to GET /balances has a currency twice');
  }
  // The partner's clock is real time, and the environment's may be ahead.
  const age =
    asOf === undefined
      ? {}
      : { asOfMs: setup.host.nowMs() - Math.max(0, result.createdS * 1000 - Date.parse(asOf)) };
  return balances.flatMap(({ currency: code, available }) => {
    const currency = findCurrency(code);
    // A currency that we do not know pays nothing of ours.
    if (currency === undefined) return [];
    return [{ currency: code, amount: readAvailable(available, currency), ...age }];
  });
}

function readAvailable(text: string, { code, scale }: { code: string; scale: number }): string {
  const isNegative = text.startsWith('-');
  const decimal = readDecimal(isNegative ? text.slice(1) : text);
  if (decimal === undefined || decimal.scale > scale) {
    throw new Error(`the answer to GET /balances has a wrong amount of ${code}`);
  }
  const amount = formatScaled(decimal.digits, decimal.scale);
  return isNegative && decimal.digits > 0n ? `-${amount}` : amount;
}
