import type { z } from 'zod';
import { getCurrency } from '../../core/currency.ts';
import type { ExactJson } from '../../core/exact-json.ts';
import { parseAmount } from '../../core/money.ts';
import type {
  Charge,
  HeardMessage,
  Instruction,
  RailAnswer,
  RailObservation,
} from '../contract.ts';
import type { Reason } from '../reasons.ts';
import type { ExchangeResult } from './exchange.ts';
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
  | { readonly kind: 'refused'; readonly code: RefusalCode; readonly createdS: number }
  | { readonly kind: 'not_sent' }
  | { readonly kind: 'unclear'; readonly reason: Reason; readonly detail: string };

/** The echo is part of the answer: of another reference, amount or currency it proves nothing. */
export function readExchange(result: ExchangeResult, instruction: Instruction): Reading {
  if (result.kind !== 'answered') return result;
  const { status, json, raw, createdS } = result;
  if (status !== 200) return readRefusal(result);
  const payment = paymentSchema.safeParse(json);
  if (!payment.success) return notUnderstood(describeFault(payment.error));
  const { reference } = payment.data;
  if (reference !== instruction.reference || !isAmount(payment.data, instruction)) {
    return notUnderstood('the answer speaks of another payment');
  }
  const fault = findFault(payment.data);
  if (fault !== undefined) return notUnderstood(fault);
  return { kind: 'payment', payment: payment.data, createdS, raw };
}

function readRefusal({
  status,
  json,
  createdS,
}: {
  status: number;
  json: ExactJson;
  createdS: number;
}): Reading {
  const refusal = refusalSchema.safeParse(json);
  if (!refusal.success || refusalStatus[refusal.data.error] !== status) {
    return notUnderstood(`status ${status} is no definite answer`);
  }
  return { kind: 'refused', code: refusal.data.error, createdS };
}

function notUnderstood(detail: string): Reading {
  return { kind: 'unclear', reason: 'not_understood', detail };
}

/** Where the fault lies, without what is there: it could be anything, also a person's name. */
export function describeFault(error: z.ZodError): string {
  const [issue] = error.issues;
  return `${issue?.path.map(String).join('.') || 'the body'} is not as the protocol has it`;
}

/** What the form does not show: a currency may not have that many digits. */
export function findFault(payment: Payment): string | undefined {
  for (const { amount, currency } of payment.charges) {
    if (!parseAmount(amount, getCurrency(currency)).ok) return 'a charge has an impossible amount';
  }
  for (const { amount } of payment.returns) {
    if (!parseAmount(amount, getCurrency(payment.currency)).ok) {
      return 'a return has an impossible amount';
    }
  }
  if (payment.state === 'returned' && payment.returns.length === 0) {
    return 'a returned payment has no returns';
  }
  const returnIds = new Set(payment.returns.map(({ id }) => id));
  if (returnIds.size < payment.returns.length) return 'two returns have the same id';
  const ids = new Set(payment.charges.map(({ id }) => id));
  return ids.size < payment.charges.length ? 'two charges have the same id' : undefined;
}

/** Minor units of an amount that `findFault` has been over. */
function readMinor(amount: string, currency: string): bigint {
  const result = parseAmount(amount, getCurrency(currency));
  if (!result.ok) throw new Error(`an amount was not looked at before: ${result.fault}`);
  return result.minor;
}

export function describeExtras(payment: Payment) {
  const charges = payment.charges.map(
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
 * Where a payment stands, as an answer. What came back in parts is not: an answer has no identity,
 * and the same part could be counted twice. It is heard instead (`describeReturns`), and the answer
 * says what was before.
 */
export function describePayment(
  { payment, createdS }: { payment: Payment; createdS: number },
  nowMs: number,
): RailAnswer {
  const extras = describeExtras(payment);
  const { state, check_at: checkAt } = payment;
  // The partner's clock is the real one, and the environment's may have been moved.
  const check =
    checkAt === undefined
      ? {}
      : { checkAtMs: nowMs + Math.max(0, Date.parse(checkAt) - createdS * 1000) };
  switch (state) {
    case 'accepted':
    case 'ready_for_pickup':
    case 'paid':
      return { outcome: state, ...check, ...extras };
    case 'rejected':
      return { outcome: state, reason: readReason(payment.reason, 'other'), ...extras };
    case 'returned': {
      const whole = findWholeReturn(payment);
      if (whole === undefined) return { outcome: 'paid', ...extras };
      return { outcome: state, reason: readReason(whole.reason, 'sent_back'), ...extras };
    }
  }
}

/** The first return, where all came back by it at once. */
function findWholeReturn(payment: Payment): PaymentReturn | undefined {
  const [first] = payment.returns;
  if (first === undefined) return undefined;
  const { currency, amount } = payment;
  return readMinor(first.amount, currency) === readMinor(amount, currency) ? first : undefined;
}

/** Each return as heard by asking, in the words in which a callback tells it. */
export function describeReturns(payment: Payment, raw: Uint8Array): HeardMessage[] {
  const answered = payment.state === 'returned' ? findWholeReturn(payment) : undefined;
  const others = payment.returns.filter((entry) => entry !== answered);
  return others.map((entry) => {
    const observation = describeReturn(payment, entry);
    return { id: `poll:${observation.id}`, channel: 'poll', raw, observations: [observation] };
  });
}

export function describeReturn(payment: Payment, entry: PaymentReturn): RailObservation {
  // A return of all may have been told by an answer as well, and then adds nothing to it; with an
  // amount it would count once more.
  const isWhole = findWholeReturn(payment)?.id === entry.id;
  return {
    id: `return:${payment.reference}:${entry.id}`,
    reference: payment.reference,
    outcome: 'returned',
    reason: readReason(entry.reason, 'sent_back'),
    ...(isWhole ? {} : { amountMinor: readMinor(entry.amount, payment.currency) }),
    atMs: Date.parse(entry.occurred_at),
    ...describeExtras(payment),
  };
}
