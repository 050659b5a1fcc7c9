import type { z } from 'zod';
import { getCurrency } from '../../core/currency.ts';
import type { ExactJson } from '../../core/exact-json.ts';
import { parseAmount } from '../../core/money.ts';
import type {
  Charge,
  InboundMessage,
  Instruction,
  RailAnswer,
  RailObservation,
} from '../contract/contract.ts';
import { nameMember } from '../kit/answers.ts';
import { type ExchangeResult, notUnderstood } from './exchange.ts';
import { isAmount } from './payment-order.ts';
import {
  type Payment,
  type PaymentReturn,
  paymentSchema,
  type RefusalCode,
  readReason,
  refusalSchema,
  refusalStatus,
} from './protocol.ts';

/** What the partner's answers mean. */

export type Reading =
  | {
      readonly kind: 'payment';
      readonly payment: Payment;
      readonly createdS: number;
      readonly raw: Buffer;
    }
  | {
      readonly kind: 'refused';
      readonly code: RefusalCode;
      readonly createdS: number;
      readonly retryAfterMs: number;
    }
  | Exclude<ExchangeResult, { readonly kind: 'answered' }>;

/** As much of an instruction as its answers are compared with. */
export type OrderedMoney = Pick<Instruction, 'reference' | 'amountMinor' | 'currency'>;

/** An answer with another reference, amount or currency proves nothing. */
export function readExchange(result: ExchangeResult, instruction: OrderedMoney): Reading {
  if (result.kind !== 'answered') return result;
  return result.status === 200 ? readStatement(result, instruction) : readRefusal(result);
}

/** What a definite answer states of a payment. */
export function readStatement(
  { json, raw, createdS }: { json: unknown; raw: Buffer; createdS: number },
  instruction: OrderedMoney,
): Reading {
  const payment = paymentSchema.safeParse(json);
  if (!payment.success) return notUnderstood(describeFault(payment.error));
  const { reference, currency, state } = payment.data;
  const isSameMoney =
    isAmount(payment.data, instruction) ||
    // Another amount was paid: a fact, which opens an exception.
    (state === 'paid' && currency === instruction.currency);
  if (reference !== instruction.reference || !isSameMoney) {
    return notUnderstood('the answer is about another payment');
  }
  const fault = findFault(payment.data);
  if (fault !== undefined) return notUnderstood(fault);
  return { kind: 'payment', payment: payment.data, createdS, raw };
}

/** What an answer of another status than 200 means. */
export function readRefusal({
  status,
  json,
  createdS,
  retryAfterMs,
}: {
  status: number;
  json: ExactJson;
  createdS: number;
  retryAfterMs: number;
}): Exclude<Reading, { kind: 'payment' }> {
  const refusal = refusalSchema.safeParse(json);
  if (!refusal.success || refusalStatus[refusal.data.error] !== status) {
    const isBusy = status === 429 || status === 503;
    const detail = `status ${status} is not a definite answer`;
    return { kind: 'unclear', reason: isBusy ? 'busy' : 'not_understood', detail, retryAfterMs };
  }
  return { kind: 'refused', code: refusal.data.error, createdS, retryAfterMs };
}

/** Names the field without its value, which could be personal. */
export function describeFault(error: z.ZodError): string {
  return `${nameMember(error) || 'the body'} does not have the form of the protocol`;
}

/** Rules beyond the schema, such as the number of digits of a currency. */
export function findFault(payment: Payment): string | undefined {
  if (!parseAmount(payment.amount, getCurrency(payment.currency)).ok) {
    return 'the amount of the payment must fit its currency';
  }
  for (const { amount, currency } of payment.charges) {
    if (!isNoCharge(amount) && !parseAmount(amount, getCurrency(currency)).ok) {
      return 'the amount of a charge must fit its currency';
    }
  }
  for (const { amount } of payment.returns) {
    if (!parseAmount(amount, getCurrency(payment.currency)).ok) {
      return 'the amount of a return must fit its currency';
    }
  }
  if (payment.state === 'returned' && payment.returns.length === 0) {
    return 'a returned payment must have its returns';
  }
  const returnIds = new Set(payment.returns.map(({ id }) => id));
  if (returnIds.size < payment.returns.length) return 'returns must have different ids';
  const ids = new Set(payment.charges.map(({ id }) => id));
  return ids.size < payment.charges.length ? 'charges must have different ids' : undefined;
}

/** A charge of zero counts as no charge. */
function isNoCharge(amount: string): boolean {
  return /^0(?:\.0+)?$/.test(amount);
}

/** Minor units of an amount that `findFault` has checked. */
export function readMinor(amount: string, currency: string): bigint {
  const result = parseAmount(amount, getCurrency(currency));
  if (!result.ok) throw new Error(`an amount was not checked before: ${result.fault}`);
  return result.minor;
}

export function describeExtras(payment: Payment) {
  const taken = payment.charges.filter(({ amount }) => !isNoCharge(amount));
  const charges = taken.map(
    ({ id, amount, currency }): Charge => ({
      id,
      kind: 'partner',
      currency,
      amountMinor: readMinor(amount, currency),
    }),
  );
  return {
    ...(charges.length === 0 ? {} : { charges }),
    ...(payment.partner_reference === undefined
      ? {}
      : { providerReference: payment.partner_reference }),
    ...(payment.code === undefined ? {} : { code: payment.code }),
  };
}

/**
 * The state of a payment as an answer. Returns are not part of it, because an answer has no id and the
 * same part could be counted twice: each return is an observation of its own (`describeReturns`), and
 * a returned payment answers `paid`.
 */
export function describePayment(
  { payment, createdS }: { payment: Payment; createdS: number },
  nowMs: number,
): RailAnswer {
  const extras = describeExtras(payment);
  const { state, check_at: checkAt } = payment;
  // The partner's clock is real time, and the environment's may be ahead.
  const check =
    checkAt === undefined
      ? {}
      : { checkAtMs: nowMs + Math.max(0, Date.parse(checkAt) - createdS * 1000) };
  switch (state) {
    case 'accepted':
    case 'ready_for_pickup':
      return { outcome: state, ...check, ...extras };
    case 'paid':
    case 'returned': {
      const amountMinor = readMinor(payment.amount, payment.currency);
      return { outcome: 'paid', amountMinor, ...(state === 'paid' ? check : {}), ...extras };
    }
    case 'rejected':
      return { outcome: state, reason: readReason(payment.reason, 'other'), ...extras };
  }
}

/** Each return as an observation, in the form in which a callback reports it. */
export function describeReturns(payment: Payment, raw: Uint8Array): InboundMessage[] {
  return payment.returns.map((entry) => {
    const observation = describeReturn(payment, entry);
    return { id: `poll:${observation.id}`, channel: 'poll', raw, observations: [observation] };
  });
}

export function describeReturn(payment: Payment, entry: PaymentReturn): RailObservation {
  return {
    id: `return:${payment.reference}:${entry.id}`,
    reference: payment.reference,
    outcome: 'returned',
    reason: readReason(entry.reason, 'sent_back'),
    amountMinor: readMinor(entry.amount, payment.currency),
    atMs: Date.parse(entry.occurred_at),
    ...describeExtras(payment),
  };
}
