import { createHash } from 'node:crypto';
import { canonicalizeJson, type ExactJson, parseExactBytes } from '../../core/exact-json.ts';
import type {
  CallbackMessage,
  CallbackReading,
  InboundMessage,
  RailHost,
  RailObservation,
} from '../contract/contract.ts';
import { describeExtras, describeFault, describeReturn, findFault, readMinor } from './answers.ts';
import { isAmount } from './payment-order.ts';
import { eventSchema, type PaymentEvent, readReason } from './protocol.ts';
import { findCursor, findPaymentRecord, moveCursor } from './records.ts';
import { type VerifyingKeys, verifyMessage } from './signatures.ts';

/** The partner's events, as it posts them to our callback address and lists them. */

export type CallbackSetup = {
  readonly host: RailHost;
  readonly partnerKeys: VerifyingKeys;
  readonly realNowMs: () => number;
};

/**
 * How far a signature's time may be from ours. Within it a callback can be played to us once more;
 * that is harmless, since an event counts once for ever.
 */
const windowS = 300;

export async function readCallback(
  message: CallbackMessage,
  setup: CallbackSetup,
): Promise<CallbackReading> {
  const proof = findProofFault(message, setup);
  if (proof !== undefined) return { kind: 'refused', detail: proof };
  const source = { channel: 'callback', raw: message.body } as const;
  const event = readEvent(message.body);
  const fault = typeof event === 'string' ? event : await findEchoFault(event, setup.host);
  if (typeof event === 'string' || fault !== undefined) {
    const detail = fault ?? '';
    return { kind: 'malformed', detail, message: describeMisfit(detail, source) };
  }
  return { kind: 'heard', message: describeMessage(event, source) };
}

/** A proven message that cannot be applied: it is kept, and an operator is asked. */
function describeMisfit(
  detail: string,
  { channel, raw }: Pick<InboundMessage, 'channel' | 'raw'>,
): InboundMessage {
  const id = `misfit:${createHash('sha256').update(raw).digest('hex').slice(0, 32)}`;
  const problem = { id, kind: 'not_understood', detail: `an event: ${detail}` } as const;
  return { id, channel, raw, observations: [], problems: [problem] };
}

/** The same event has the same message, whether it was told or asked for. */
function describeMessage(
  event: PaymentEvent,
  { channel, raw }: Pick<InboundMessage, 'channel' | 'raw'>,
): InboundMessage {
  return { id: `event:${event.id}`, channel, raw, observations: [describeEvent(event)] };
}

/**
 * An event may be of a payment that this rail does not know; then it is unmatched where it is applied.
 * That another amount was paid is an observation like any other, and asks a person there.
 */
async function findEchoFault(event: PaymentEvent, host: RailHost): Promise<string | undefined> {
  const { reference } = event.payment;
  const record = await findPaymentRecord(host.store, reference);
  if (record.state === 'none') return undefined;
  const expected = { amountMinor: record.amount, currency: record.currency };
  if (isAmount(event.payment, expected)) return undefined;
  const { state, currency } = event.payment;
  const isPaid = state === 'paid' && event.return === undefined;
  if (isPaid && currency === record.currency) return undefined;
  host.log('error', 'an event reports another amount', { reference });
  return `${state} of ${reference}: the amount or currency is not the one that was ordered`;
}

/** Pages of one pass: a list without an end must not keep a process from stopping. */
const pagesMax = 50;

/**
 * Reads what happened since the last time, page by page, which makes up for callbacks that got lost
 * on their way or here. An event that cannot be applied is kept as a problem and passed over: it would
 * come back every time and hide what is behind it. Answers true when there is more to read at once.
 */
export async function readEvents(
  host: RailHost,
  fetchPage: (after: string) => Promise<EventPage | undefined>,
): Promise<boolean> {
  let count = 0;
  for (let read = 0; read < pagesMax; read += 1) {
    const cursor = await findCursor(host.store);
    const page = await fetchPage(cursor.after);
    if (page === undefined || page.events.length === 0) return false;
    for (const entry of page.events) {
      if ((await hearEntry(host, entry)) === 'new') count += 1;
    }
    // Where another process has come further already, it goes on from there.
    if (page.next === cursor.after || !(await moveCursor(host.store, cursor, page.next))) {
      return false;
    }
  }
  if (count > 0) return true;
  host.log('warn', "the partner's list of events repeats itself", { pages: pagesMax });
  return false;
}

async function hearEntry(host: RailHost, entry: ExactJson): Promise<'new' | 'known'> {
  const event = readEventJson(entry);
  const fault = typeof event === 'string' ? event : await findEchoFault(event, host);
  const source = { channel: 'poll', raw: Buffer.from(canonicalizeJson(entry)) } as const;
  if (typeof event !== 'string' && fault === undefined) {
    return await host.receive(describeMessage(event, source));
  }
  host.log('error', 'an event of the partner cannot be applied', { detail: fault ?? '' });
  return await host.receive(describeMisfit(fault ?? '', source));
}

export type EventPage = { readonly events: readonly ExactJson[]; readonly next: string };

function findProofFault(message: CallbackMessage, setup: CallbackSetup): string | undefined {
  const { method, path, query, body } = message;
  if (method !== 'POST' || path !== '' || Object.keys(query).length > 0) {
    return 'callbacks are posted to the callback address as it is';
  }
  const request = { method, url: setup.host.callbackUrl, headers: { ...message.headers } };
  const verified = verifyMessage({ role: 'callback', message: request, body }, setup.partnerKeys);
  if (!verified.ok) return verified.detail;
  const nowS = setup.realNowMs() / 1000;
  if (Math.abs(nowS - verified.createdS) > windowS) return 'the signature is not of this time';
  return nowS > verified.expiresS + windowS ? 'the signature has expired' : undefined;
}

function readEvent(body: Uint8Array): PaymentEvent | string {
  let json: unknown;
  try {
    json = parseExactBytes(Buffer.from(body));
  } catch {
    return 'the body is not JSON';
  }
  return readEventJson(json);
}

export function readEventJson(json: unknown): PaymentEvent | string {
  const event = eventSchema.safeParse(json);
  if (!event.success) return describeFault(event.error);
  const { payment, return: entry } = event.data;
  if (payment.state === 'returned' && entry === undefined) {
    return 'an event of a return lacks the return';
  }
  if (entry !== undefined && !payment.returns.some(({ id }) => id === entry.id)) {
    return 'the return is not among those of the payment';
  }
  return findFault(payment) ?? event.data;
}

function describeEvent(event: PaymentEvent): RailObservation {
  const { payment, return: entry } = event;
  if (entry !== undefined) return describeReturn(payment, entry);
  const { state } = payment;
  return {
    id: `event:${event.id}`,
    reference: payment.reference,
    outcome: state,
    ...(state === 'rejected' ? { reason: readReason(payment.reason, 'other') } : {}),
    ...(state === 'paid' ? { amountMinor: readMinor(payment.amount, payment.currency) } : {}),
    atMs: Date.parse(event.occurred_at),
    ...describeExtras(payment),
  };
}
