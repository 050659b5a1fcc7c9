import type { CallContext, Instruction, RailAnswer, RailHost } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { formatFixedAmount } from '../kit/amounts.ts';
import type { RailCall } from '../kit/guarded-calls.ts';
import type { Queried } from './announcements.ts';
import {
  describePayment,
  describeReturns,
  type OrderedMoney,
  type Reading,
  readExchange,
} from './answers.ts';
import type { PartnerConfig } from './config.ts';
import { findContradiction, reportContradiction, statesMoneyBack } from './contradictions.ts';
import type { Exchange } from './exchange.ts';
import type { LightLevel } from './light-authentication.ts';
import type { OrderBatches } from './order-batches.ts';
import { type NewOrder, type SendingParts, type SentOrder, sendAlone } from './order-sending.ts';
import { createOrder, type OrderSetup } from './payment-order.ts';
import type { Payment, RefusalCode } from './protocol.ts';
import {
  findOpenBatch,
  findPaymentRecord,
  markKnown,
  type PaymentRecord,
  type Sending,
  undoSending,
} from './records.ts';
import { listMissingFields } from './required-fields.ts';

/** Ordering, querying and canceling one payment, at either level of the protocol. */

export type Setup = {
  readonly config: PartnerConfig;
  readonly host: RailHost;
  readonly exchange: Exchange;
  readonly order: OrderSetup;
  readonly sending: SendingParts;
  /** Undefined without the capability. */
  readonly batches: OrderBatches | undefined;
  /** Undefined at the signed level. */
  readonly light: LightLevel | undefined;
  readonly realNowMs: () => number;
};

export const send: RailCall<Setup> = async (setup, instruction, context) => {
  if (await isIncomplete(setup, instruction)) {
    return { outcome: 'retry', reason: 'travel_rule_incomplete' };
  }
  const order = { instruction, body: JSON.stringify(createOrder(instruction, setup.order)) };
  const sent = await leave(setup, order, context);
  switch (sent.kind) {
    case 'known':
      return await query(setup, instruction, context);
    case 'mismatch':
      return await refuseOwnOrder(setup, instruction, sent.sending);
    case 'aborted':
      return { outcome: 'unknown', reason: 'no_answer' };
    case 'sent':
      return await readSent(setup, { instruction, ...sent }, context);
  }
};

async function leave(
  { batches, sending }: Setup,
  order: NewOrder,
  context: CallContext,
): Promise<SentOrder> {
  const left = await batches?.submit(order, context);
  if (left !== undefined && left.kind !== 'alone') return left;
  return await sendAlone(sending, order, context.signal);
}

async function readSent(
  setup: Setup,
  sent: { instruction: Instruction; sending: Sending; reading: Reading },
  context: CallContext,
): Promise<RailAnswer> {
  const { instruction, reading } = sent;
  if (reading.kind === 'payment') {
    return await settleAnswer(setup, { instruction, reading }, context);
  }
  if (reading.kind === 'refused' && reading.code === 'reference_conflict') {
    // It has another order under this reference; the query shows whether that is the same money.
    return await query(setup, instruction, context);
  }
  return await readFailedSending(setup, sent);
}

/**
 * Whether data that the partner requires has been lost since the commit, before anything left. An
 * order that may have left is repeated as it was.
 */
async function isIncomplete(
  { host, order, config }: Setup,
  instruction: Instruction,
): Promise<boolean> {
  const requirements = config.requiredFields;
  if (requirements.length === 0) return false;
  const { sender } = instruction.originator;
  const faults = listMissingFields(
    { requirements, payerCodes: order.payerCodes },
    { ...instruction, sender },
  );
  if (faults.length === 0) return false;
  return (await findPaymentRecord(host.store, instruction.reference)) === undefined;
}

/** The order does not match the instruction. Nothing is sent; what left earlier is not known. */
async function refuseOwnOrder(
  { host }: Setup,
  instruction: Instruction,
  sending: Sending,
): Promise<RailAnswer> {
  const { reference } = instruction;
  host.log('error', 'the order does not match its instruction, so it is not sent', { reference });
  await undoSending(host.store, instruction, sending);
  return { outcome: 'unknown', reason: 'not_readable' };
}

const refusalReasons: Readonly<Record<RefusalCode, Reason>> = {
  unknown_reference: 'not_understood',
  reference_conflict: 'duplicate',
  signature_refused: 'not_configured',
  malformed: 'not_readable',
  busy: 'busy',
  batch_too_large: 'not_configured',
};

/** Refusals after which certainly nothing was booked. */
const bookedNothing: ReadonlySet<RefusalCode> = new Set([
  'busy',
  'signature_refused',
  'batch_too_large',
]);

/** An answer without the payment's state: `retry` only where certainly nothing was sent. */
async function readFailedSending(
  setup: Setup,
  sent: { instruction: Instruction; sending: Sending; reading: Reading },
): Promise<RailAnswer> {
  const { instruction, sending, reading } = sent;
  const unknown = readNoPayment(setup, instruction, reading);
  const isOver = (createdS: number): boolean =>
    sending.earlierUntilS === 0 || isPast(setup, sending.earlierUntilS, createdS);
  const isDefinite =
    reading.kind === 'not_sent'
      ? sending.earlierUntilS === 0
      : // Whether an unsigned refusal is the partner's own is not known; the query decides.
        setup.light === undefined &&
        reading.kind === 'refused' &&
        bookedNothing.has(reading.code) &&
        isOver(reading.createdS);
  if (!isDefinite) return unknown;
  const isUndone = await undoSending(setup.host.store, instruction, sending);
  return isUndone ? { ...unknown, outcome: 'retry' } : unknown;
}

/** By the partner's clock, which is the one that it compares with the expiry of an order. */
function isPast({ config, light }: Setup, untilS: number, partnerS: number): boolean {
  return partnerS > untilS + config.bookingSeconds + (light?.queryLagSeconds ?? 0);
}

function readNoPayment({ host }: Setup, { reference }: OrderedMoney, reading: Reading) {
  const retryAfterMs = 'retryAfterMs' in reading ? (reading.retryAfterMs ?? 0) : 0;
  const wait = retryAfterMs > 0 ? { retryAfterMs } : {};
  const unknown = (reason: Reason) => ({ outcome: 'unknown', reason, ...wait }) as const;
  switch (reading.kind) {
    case 'not_sent':
      return unknown('unreachable');
    case 'refused':
      host.log('warn', 'the partner refused a request', { reference, code: reading.code });
      return unknown(refusalReasons[reading.code]);
    case 'unclear':
      host.log('warn', 'the partner gave no definite answer', {
        reference,
        detail: reading.detail,
      });
      return unknown(reading.reason);
    case 'payment':
      return unknown('other');
  }
}

/** Records that the partner has answered for the payment, then returns what it says. */
async function settle(
  { host, light }: Setup,
  money: OrderedMoney,
  reading: Reading & { kind: 'payment' },
): Promise<RailAnswer> {
  const { payment } = reading;
  for (const message of describeReturns(payment, reading.raw)) await host.receive(message);
  const isPaid = payment.state === 'paid' || payment.state === 'returned';
  await markKnown(host.store, money, isPaid && light !== undefined ? { wasPaid: true } : {});
  return describePayment(reading, host.nowMs());
}

/** The answer to an order or a cancellation. An unsigned one moves no money back by itself. */
async function settleAnswer(
  setup: Setup,
  { instruction, reading }: { instruction: Instruction; reading: Reading & { kind: 'payment' } },
  context: CallContext,
): Promise<RailAnswer> {
  const { payment } = reading;
  if (setup.light === undefined || !statesMoneyBack(payment)) {
    return await settle(setup, instruction, reading);
  }
  const isRejected = payment.state === 'rejected';
  const fact = isRejected ? ({ wasRejected: true } as const) : ({ wasPaid: true } as const);
  await markKnown(setup.host.store, instruction, fact);
  return (await queryPayment(setup, { money: instruction, stated: payment }, context)).answer;
}

export const query: RailCall<Setup> = async (setup, instruction, context) => {
  return (await queryPayment(setup, { money: instruction }, context)).answer;
};

export type PaymentQuery = {
  readonly money: OrderedMoney;
  /** What the partner has just answered, which the query is to confirm. */
  readonly stated?: Payment;
};

export async function queryPayment(
  setup: Setup,
  { money, stated }: PaymentQuery,
  context: CallContext,
): Promise<Queried> {
  const { host, light } = setup;
  const { reference } = money;
  // The record is read before the query: an order that leaves in between is younger than it.
  const record = await findPaymentRecord(host.store, reference);
  const batch = findOpenBatch(record, setup.realNowMs());
  const reading =
    batch === undefined || setup.batches === undefined
      ? await queryAlone(setup, money, context)
      : (await setup.batches.query(batch))(money);
  const raw = reading.kind === 'payment' ? reading.raw : Buffer.alloc(0);
  const contradict = async (detail: string): Promise<Queried> => {
    const answer = { outcome: 'unknown', reason: 'not_understood' } as const;
    if (light === undefined) return { answer };
    const isReported = await reportContradiction({ host, light }, money, { detail, raw });
    return { answer, contradiction: isReported ? 'reported' : 'recent' };
  };
  if (reading.kind === 'payment') {
    const { payment } = reading;
    const detail = light && findContradiction(record, payment, stated?.state);
    if (detail !== undefined) return { ...(await contradict(detail)), payment };
    return { answer: await settle(setup, money, reading), payment, raw };
  }
  const isUnknownThere = reading.kind === 'refused' && reading.code === 'unknown_reference';
  if (!isUnknownThere) return { answer: readNoPayment(setup, money, reading) };
  // Only a query of the payment itself states that it is not booked, after the expiry of the batch.
  if (batch !== undefined) return { answer: { outcome: 'unknown', reason: 'no_answer' } };
  if (isNeverToArrive(setup, record, reading.createdS)) {
    return { answer: { outcome: 'retry', reason: 'unreachable' } };
  }
  if (record?.state !== 'known' && !record?.value.wasBooked) {
    return { answer: { outcome: 'unknown', reason: 'no_answer' } };
  }
  const detail = 'the partner does not know a payment that it has answered for or announced';
  host.log('error', detail, { reference });
  return await contradict(detail);
}

async function queryAlone(
  setup: Setup,
  money: OrderedMoney,
  context: CallContext,
): Promise<Reading> {
  const path = `/payments/${money.reference}`;
  const request = { method: 'GET', path, body: '' } as const;
  return readExchange(await askInTurn(setup, context, request), money);
}

/** The partner does not know the reference: whether no earlier order can still arrive. */
function isNeverToArrive(
  setup: Setup,
  record: PaymentRecord | undefined,
  partnerS: number,
): boolean {
  if (record === undefined) return true;
  const { inFlightUntilS, wasBooked } = record.value;
  if (record.state === 'known' || wasBooked) return false;
  return inFlightUntilS === 0 || isPast(setup, inFlightUntilS, partnerS);
}

/** The partner stores a tombstone for an unknown reference, and never pays it later. */
export const cancel: RailCall<Setup> = async (setup, instruction, context) => {
  const { reference, currency, amountMinor } = instruction;
  const amount = formatFixedAmount(amountMinor, currency);
  const result = await askInTurn(setup, context, {
    method: 'POST',
    path: `/payments/${reference}/cancel`,
    body: JSON.stringify({ reference, amount, currency }),
  });
  const reading = readExchange(result, instruction);
  if (reading.kind === 'payment')
    return await settleAnswer(setup, { instruction, reading }, context);
  return readNoPayment(setup, instruction, reading);
};

/** As `ask`, among the requests of payments, whose number is limited with batches. */
function askInTurn(setup: Setup, context: CallContext, request: Parameters<typeof ask>[2]) {
  return ask({ ...setup, exchange: setup.sending.exchange }, context, request);
}

/** A request that moves no money may be late; the expiry only limits how long it can be replayed. */
export async function ask(
  { exchange, realNowMs, config }: Setup,
  context: CallContext,
  request: { method: 'GET' | 'POST'; path: string; body: string },
) {
  const expiresS = Math.ceil(realNowMs() / 1000) + config.orderSeconds;
  return await exchange({ ...request, expiresS, signal: context.signal });
}
