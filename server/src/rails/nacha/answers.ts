import type { RailAnswer } from '../contract/contract.ts';
import {
  addBankingDays,
  findNextClosing,
  fromEastern,
  nextBankingDay,
  toEastern,
} from './banking-days.ts';
import type { NachaConfig } from './config.ts';
import type { Payment, PaymentRecord } from './records.ts';

type Situation = { readonly config: NachaConfig; readonly nowMs: number };

/** What the rail answers from the record of a payment. */
export function describePayment({ state, value }: PaymentRecord, situation: Situation): RailAnswer {
  const { reason = 'other', trace, code } = value;
  const extras = {
    ...(trace === undefined ? {} : { providerReference: trace }),
    ...(code === undefined ? {} : { code }),
  };
  switch (state) {
    case 'waiting':
    case 'filed':
      return { ...extras, outcome: 'accepted', checkAtMs: estimatePaid(value, situation) };
    case 'paid':
      return { ...extras, outcome: 'paid' };
    case 'returned': {
      const parts = Object.values(value.returnedMinor);
      const amountMinor = parts.reduce((sum, part) => sum + part, 0n);
      return { ...extras, outcome: 'returned', reason, amountMinor };
    }
    case 'rejected':
    case 'cancelled':
      return { ...extras, outcome: 'rejected', reason };
  }
}

/** When the payment counts as paid if nothing comes back; never before the next half hour. */
function estimatePaid({ sentAtMs }: Payment, { config, nowMs }: Situation): number {
  const closesAtMs = findNextClosing(config.windows, sentAtMs)?.closesAtMs ?? sentAtMs;
  const settlesOn = nextBankingDay(toEastern(closesAtMs).day);
  const day = addBankingDays(settlesOn, config.paidAfterBankingDays);
  const dueMs = fromEastern({ day, time: config.paidAt });
  return Math.max(dueMs, nowMs + 30 * 60_000);
}
