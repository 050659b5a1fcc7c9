import { z } from 'zod';
import { listCurrencies } from '../../core/currency.ts';
import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
  RailModule,
} from '../contract/contract.ts';
import { deliveryTypes } from '../contract/declarations.ts';
import type { Reason } from '../contract/reasons.ts';
import { guardCall } from '../kit/guarded-calls.ts';
import { describePayment, describeReturns, type Reading, readExchange } from './answers.ts';
import { type EventPage, readCallback, readEvents } from './callbacks.ts';
import { createExchange, type Exchange } from './exchange.ts';
import {
  createOrder,
  formatFixedAmount,
  matchesInstruction,
  type OrderSetup,
} from './payment-order.ts';
import { eventPageSchema, healthSchema, paymentOrderSchema } from './protocol.ts';
import {
  beginSending,
  findPaymentRecord,
  markKnown,
  type PaymentRecord,
  type Sending,
  undoSending,
} from './records.ts';
import { findUnknownPayments, recoverPayments } from './recovery.ts';
import {
  createSigningKey,
  createVerifyingKeys,
  signingKeySchema,
  verifyingKeySchema,
} from './signatures.ts';

/**
 * Payments by the partner protocol (README.md, docs/partner-openapi.yaml): for a cash network, a
 * card programme or another partner whose field has no standard.
 */

const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** Orders hold personal data, so that plain HTTP is allowed within one machine only. */
function isSafeAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopbackHosts.has(url.hostname));
}

export const configSchema = z.strictObject({
  baseUrl: z
    .string()
    .max(1000)
    .refine(isSafeAddress, { error: 'must be an https address without user, query and fragment' })
    .transform((text) => text.replace(/\/+$/, '')),
  signingKey: signingKeySchema,
  /** More than one while the partner changes its key. */
  partnerKeys: z.array(verifyingKeySchema).min(1).max(8),
  /** Time-out of a request. */
  timeoutSeconds: z.number().min(0.1).max(120).default(20),
  /** How long an order is valid; the partner books none that is older. */
  orderSeconds: z.int().min(1).max(600).default(60),
  /** How often the partner's list of events is read, for lost callbacks. */
  eventsSeconds: z.int().min(1).max(86_400).default(60),
  /** How long the partner may take from checking the validity of an order to having booked it. */
  bookingSeconds: z.int().min(0).max(600).default(30),
});
export type PartnerConfig = z.output<typeof configSchema>;

type Setup = {
  readonly config: PartnerConfig;
  readonly host: RailHost;
  readonly exchange: Exchange;
  readonly order: OrderSetup;
  readonly realNowMs: () => number;
};

/** Between two passes over a list of events that is longer than one pass reads. */
const morePagesMs = 100;

const cryptocurrencies = listCurrencies()
  .filter(({ isCrypto }) => isCrypto)
  .map(({ code }) => code);

export const railModule: RailModule<PartnerConfig> = {
  kind: 'partner',
  about: 'Any partner that speaks a small signed HTTP protocol: cash networks, cards, others.',
  corridors: deliveryTypes.map((deliveryType) => ({
    countries: 'any',
    deliveryType,
    currencies: deliveryType === 'CRYPTOCURRENCY' ? cryptocurrencies : 'any',
  })),
  reference: { lengthMax: 64, charset: /^[0-9A-Za-z_-]+$/ },
  pace: { concurrencyMax: 16, perSecondMax: null },
  configSchema,
  create: async (config, host) => createPartnerRail(config, host),
};

function createPartnerRail(config: PartnerConfig, host: RailHost): RailCalls {
  const partnerKeys = createVerifyingKeys(config.partnerKeys);
  const setup: Setup = {
    config,
    host,
    realNowMs: host.realNowMs,
    exchange: createExchange({
      baseUrl: config.baseUrl,
      signingKey: createSigningKey(config.signingKey),
      partnerKeys,
      fetch: host.fetch,
      timeoutMs: config.timeoutSeconds * 1000,
      realNowMs: host.realNowMs,
    }),
    order: { payerCodes: readPayerCodes(host), callbackUrl: host.callbackUrl },
  };
  return {
    send: guardCall(setup, send),
    query: guardCall(setup, query),
    cancel: guardCall(setup, cancel),
    readCallback: (message) =>
      readCallback(message, { host, partnerKeys, realNowMs: host.realNowMs }),
    work: async (context) => {
      const hasMore = await readEvents(host, (after) => fetchEvents(setup, after, context));
      return hasMore ? host.nowMs() + morePagesMs : undefined;
    },
    workIdleMs: config.eventsSeconds * 1000,
    check: (context) => check(setup, context),
    recover: (_sinceMs, context) =>
      recoverPayments(host, (after) => fetchEvents(setup, after, context)),
    findUnknownPayments: (context) =>
      findUnknownPayments(host, (after) => fetchEvents(setup, after, context)),
  };
}

function readPayerCodes(host: RailHost): ReadonlyMap<string, string> {
  return new Map(host.payers.map(({ key, options }) => [key, options['code'] ?? key]));
}

async function send(
  setup: Setup,
  instruction: Instruction,
  context: CallContext,
): Promise<RailAnswer> {
  const { host, config } = setup;
  const expiresS = Math.ceil(setup.realNowMs() / 1000) + config.orderSeconds;
  const body = JSON.stringify(createOrder(instruction, setup.order));
  const sending = await beginSending(host.store, instruction, { body, untilS: expiresS });
  if (sending === 'known') return await query(setup, instruction, context);
  const order = paymentOrderSchema.safeParse(JSON.parse(sending.body));
  if (!order.success || !matchesInstruction(order.data, instruction)) {
    return await refuseOwnOrder(setup, instruction, sending);
  }
  const result = await setup.exchange({
    method: 'PUT',
    path: `/payments/${instruction.reference}`,
    body: sending.body,
    expiresS,
    signal: context.signal,
  });
  const reading = readExchange(result, instruction);
  if (reading.kind === 'payment') return await settle(setup, instruction, reading);
  if (reading.kind === 'refused' && reading.code === 'reference_conflict') {
    // It has another order under this reference; the query shows whether that is the same money.
    return await query(setup, instruction, context);
  }
  return await readFailedSending(setup, { instruction, sending, reading });
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

const refusalReasons: Readonly<Record<(Reading & { kind: 'refused' })['code'], Reason>> = {
  unknown_reference: 'not_understood',
  reference_conflict: 'duplicate',
  signature_refused: 'not_configured',
  malformed: 'not_readable',
  busy: 'busy',
};

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
      : reading.kind === 'refused' &&
        (reading.code === 'busy' || reading.code === 'signature_refused') &&
        isOver(reading.createdS);
  if (!isDefinite) return unknown;
  const isUndone = await undoSending(setup.host.store, instruction, sending);
  return isUndone ? { ...unknown, outcome: 'retry' } : unknown;
}

/** By the partner's clock, which is the one that it compares with the expiry of an order. */
function isPast({ config }: Setup, untilS: number, partnerS: number): boolean {
  return partnerS > untilS + config.bookingSeconds;
}

function readNoPayment({ host }: Setup, { reference }: Instruction, reading: Reading) {
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
  { host }: Setup,
  instruction: Instruction,
  reading: Reading & { kind: 'payment' },
): Promise<RailAnswer> {
  for (const message of describeReturns(reading.payment, reading.raw)) await host.receive(message);
  await markKnown(host.store, instruction);
  return describePayment(reading, host.nowMs());
}

async function query(
  setup: Setup,
  instruction: Instruction,
  context: CallContext,
): Promise<RailAnswer> {
  // The record is read before the query: an order that leaves in between is younger than it.
  const record = await findPaymentRecord(setup.host.store, instruction.reference);
  const result = await ask(setup, context, {
    method: 'GET',
    path: `/payments/${instruction.reference}`,
    body: '',
  });
  const reading = readExchange(result, instruction);
  if (reading.kind === 'payment') return await settle(setup, instruction, reading);
  const isUnknownThere = reading.kind === 'refused' && reading.code === 'unknown_reference';
  if (!isUnknownThere) return readNoPayment(setup, instruction, reading);
  if (isNeverToArrive(setup, record, reading.createdS)) {
    return { outcome: 'retry', reason: 'unreachable' };
  }
  if (record?.state === 'known') {
    const { reference } = instruction;
    setup.host.log('error', 'the partner does not know a payment that it has answered for', {
      reference,
    });
    return { outcome: 'unknown', reason: 'not_understood' };
  }
  return { outcome: 'unknown', reason: 'no_answer' };
}

/** The partner does not know the reference: whether no earlier order can still arrive. */
function isNeverToArrive(
  setup: Setup,
  record: PaymentRecord | undefined,
  partnerS: number,
): boolean {
  if (record === undefined) return true;
  if (record.state === 'known') return false;
  const { inFlightUntilS } = record.value;
  return inFlightUntilS === 0 || isPast(setup, inFlightUntilS, partnerS);
}

/** The partner stores a tombstone for an unknown reference, and never pays it later. */
async function cancel(
  setup: Setup,
  instruction: Instruction,
  context: CallContext,
): Promise<RailAnswer> {
  const { reference, currency, amountMinor } = instruction;
  const amount = formatFixedAmount(amountMinor, currency);
  const result = await ask(setup, context, {
    method: 'POST',
    path: `/payments/${reference}/cancel`,
    body: JSON.stringify({ reference, amount, currency }),
  });
  const reading = readExchange(result, instruction);
  if (reading.kind === 'payment') return await settle(setup, instruction, reading);
  return readNoPayment(setup, instruction, reading);
}

/** A request that moves no money may be late; the expiry only limits how long it can be replayed. */
async function ask(
  { exchange, realNowMs, config }: Setup,
  context: CallContext,
  request: { method: 'GET' | 'POST'; path: string; body: string },
) {
  const expiresS = Math.ceil(realNowMs() / 1000) + config.orderSeconds;
  return await exchange({ ...request, expiresS, signal: context.signal });
}

/** Undefined where the partner gives no definite answer; the next pass requests it again. */
async function fetchEvents(
  setup: Setup,
  after: string,
  context: CallContext,
): Promise<EventPage | undefined> {
  const result = await ask(setup, context, { method: 'GET', path: `/events/${after}`, body: '' });
  if (result.kind === 'answered' && result.status === 200) {
    const page = eventPageSchema.safeParse(result.json);
    if (page.success) return page.data as EventPage;
  }
  const detail = result.kind === 'answered' ? `status ${result.status}` : result.kind;
  setup.host.log('warn', "the partner's list of events cannot be read", { detail });
  return undefined;
}

const clockFaultS = 30;

async function check(setup: Setup, context: CallContext): Promise<readonly string[]> {
  const result = await ask(setup, context, { method: 'GET', path: '/health', body: '' });
  if (result.kind === 'not_sent')
    return ['the partner cannot be reached: check baseUrl and the network'];
  if (result.kind === 'unclear') return [result.detail];
  const health = healthSchema.safeParse(result.json);
  if (result.status !== 200 || !health.success) {
    return [`the partner answers ${result.status} to GET /health`];
  }
  const faults: string[] = [];
  if (health.data.status !== 'ok') faults.push('the partner reports that it is not working');
  const apartS = Math.round(Math.abs(setup.realNowMs() / 1000 - result.createdS));
  if (apartS > clockFaultS) faults.push(`the partner's clock differs from ours by ${apartS} s`);
  return faults;
}
