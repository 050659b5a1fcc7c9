import { z } from 'zod';
import { canonicalizeJson, type ExactJson } from '../../core/exact-json.ts';
import type {
  CallbackMessage,
  CallbackReading,
  InboundMessage,
  RailHost,
  RailObservation,
} from '../contract/contract.ts';
import { parseExact } from '../kit/answers.ts';
import { describeMisfit } from '../kit/problem-messages.ts';
import { describeExtras, describeFault, describeReturn, findFault, readMinor } from './answers.ts';
import { isAmount } from './payment-order.ts';
import { eventSchema, identifier, type PaymentEvent, readReason } from './protocol.ts';
import { findCursor, findPaymentRecord, markAnnounced, moveCursor } from './records.ts';
import { type VerifyingKeys, verifyMessage } from './signatures.ts';

/** The partner's events, which it posts to our callback address and lists. */

export type CallbackSetup = {
  readonly host: RailHost;
  readonly partnerKeys: VerifyingKeys;
  readonly realNowMs: () => number;
};

/**
 * How far a signature's time may be from ours. Within it a callback can be replayed, which is
 * harmless, since an event counts once.
 */
const windowS = 300;

const notExactJson = 'the body must be JSON in UTF-8, with no member twice in one object';

export async function readCallback(
  message: CallbackMessage,
  setup: CallbackSetup,
): Promise<CallbackReading> {
  const proof = findProofFault(message, setup);
  if (proof !== undefined) return { kind: 'refused', detail: proof };
  const source = { channel: 'callback', raw: message.body } as const;
  const json = parseExact(message.body);
  const event = json === undefined ? notExactJson : readEventJson(json);
  const fault = typeof event === 'string' ? event : await findEchoFault(event, setup.host);
  if (typeof event === 'string' || fault !== undefined) {
    const detail = fault ?? '';
    return { kind: 'malformed', detail, message: describeEventMisfit({ json, detail }, source) };
  }
  return { kind: 'accepted', message: describeMessage(event, source) };
}

/** A proven event that cannot be applied: it opens one exception, also if it is posted and listed. */
function describeEventMisfit(
  { json, detail }: { readonly json: unknown; readonly detail: string },
  source: Pick<InboundMessage, 'channel' | 'raw'>,
): InboundMessage {
  const id = z.object({ id: identifier }).safeParse(json).data?.id;
  const name = id === undefined ? undefined : `event:${id}`;
  const known = z.object({ payment: z.object({ reference: identifier }) }).safeParse(json).data;
  const event = id === undefined ? 'an event' : `event ${id}`;
  const of = known === undefined ? '' : ` of payment ${known.payment.reference}`;
  return describeMisfit({ name, detail: `${event}${of}: ${detail}` }, source);
}

/** An event has the same message id whether it was posted or listed. */
function describeMessage(
  event: PaymentEvent,
  { channel, raw }: Pick<InboundMessage, 'channel' | 'raw'>,
): InboundMessage {
  return { id: `event:${event.id}`, channel, raw, observations: [describeEvent(event)] };
}

/**
 * An event of a payment that this rail does not know is applied as unmatched. A paid amount other
 * than the ordered one is an observation, which opens an exception where it is applied.
 */
async function findEchoFault(event: PaymentEvent, host: RailHost): Promise<string | undefined> {
  const { reference } = event.payment;
  const record = await findPaymentRecord(host.store, reference);
  if (record === undefined) return undefined;
  const expected = { amountMinor: record.value.amount, currency: record.value.currency };
  if (isAmount(event.payment, expected)) return undefined;
  const { state, currency } = event.payment;
  const isPaid = state === 'paid' && event.return === undefined;
  if (isPaid && currency === expected.currency) return undefined;
  host.log('error', 'an event reports another amount', { reference });
  return `amount and currency must be those of the order (state ${state})`;
}

/** Pages of one pass: an endless list must not keep a process from stopping. */
const pagesMax = 50;

/**
 * Reads the events since the last pass, page by page, which makes up for lost callbacks. An event
 * that cannot be applied is stored as a problem and skipped, because it would come back in each pass
 * and hide those behind it. `more`: there is more to read at once; `unread`: the list was not read to its end.
 */
export async function readEvents(
  host: RailHost,
  fetchPage: (after: string) => Promise<EventPage | undefined>,
  receive: (host: RailHost, entry: ExactJson) => Promise<'new' | 'known'> = receiveEntry,
): Promise<'read' | 'more' | 'unread'> {
  let count = 0;
  for (let read = 0; read < pagesMax; read += 1) {
    const cursor = await findCursor(host.store);
    const page = await fetchPage(cursor.after);
    if (page === undefined) return 'unread';
    if (page.events.length === 0) return 'read';
    for (const entry of page.events) {
      if ((await receive(host, entry)) === 'new') count += 1;
    }
    // Another process has read further, and continues from there.
    if (page.next === cursor.after || !(await moveCursor(host.store, cursor, page.next))) {
      return 'read';
    }
  }
  if (count > 0) return 'more';
  host.log('warn', "the partner's list of events repeats itself", { pages: pagesMax });
  return 'unread';
}

/** As `receiveEntry`, of an event that only asks for a query. */
export async function announceEntry(
  host: RailHost,
  entry: ExactJson,
  announce: (host: RailHost, event: PaymentEvent) => Promise<void>,
): Promise<'new' | 'known'> {
  const event = readEventJson(entry);
  if (typeof event === 'string') return await receiveEntry(host, entry);
  if (await isKnownBooking(host, event)) {
    await markAnnounced(host.store, event.payment.reference, { isPaid: false });
  } else {
    await announce(host, event);
  }
  return 'new';
}

/**
 * Whether an event says only that an order was booked which the record has. It changes no outcome, and there
 * is one for each payment; one without a record is applied as unmatched.
 */
async function isKnownBooking(host: RailHost, event: PaymentEvent): Promise<boolean> {
  const { payment } = event;
  if (payment.state !== 'accepted' || payment.returns.length > 0) return false;
  const record = await findPaymentRecord(host.store, payment.reference);
  if (record === undefined) return false;
  const { amount: amountMinor, currency } = record.value;
  return isAmount(payment, { amountMinor, currency });
}

async function receiveEntry(host: RailHost, entry: ExactJson): Promise<'new' | 'known'> {
  const event = readEventJson(entry);
  if (typeof event !== 'string' && (await isKnownBooking(host, event))) return 'new';
  const fault = typeof event === 'string' ? event : await findEchoFault(event, host);
  const source = { channel: 'poll', raw: Buffer.from(canonicalizeJson(entry)) } as const;
  if (typeof event !== 'string' && fault === undefined) {
    return await host.receive(describeMessage(event, source));
  }
  host.log('error', 'an event of the partner cannot be applied', { detail: fault ?? '' });
  return await host.receive(describeEventMisfit({ json: entry, detail: fault ?? '' }, source));
}

export type EventPage = { readonly events: readonly ExactJson[]; readonly next: string };

function findProofFault(message: CallbackMessage, setup: CallbackSetup): string | undefined {
  const { method, path, query, body } = message;
  if (method !== 'POST' || path !== '' || Object.keys(query).length > 0) {
    return 'a callback must be a POST to the callback address, without a query';
  }
  const request = { method, url: setup.host.callbackUrl, headers: { ...message.headers } };
  const verified = verifyMessage({ role: 'callback', message: request, body }, setup.partnerKeys);
  if (!verified.ok) return verified.detail;
  const nowS = setup.realNowMs() / 1000;
  if (Math.abs(nowS - verified.createdS) > windowS)
    return 'the signature must have been created within the last 300 seconds';
  return nowS > verified.expiresS + windowS ? 'the signature has expired' : undefined;
}

export function readEvent(body: Uint8Array): PaymentEvent | string {
  const json = parseExact(body);
  return json === undefined ? notExactJson : readEventJson(json);
}

export function readEventJson(json: unknown): PaymentEvent | string {
  const event = eventSchema.safeParse(json);
  if (!event.success) return describeFault(event.error);
  const { payment, return: entry } = event.data;
  if (payment.state === 'returned' && entry === undefined) {
    return 'an event of a return must have the return';
  }
  if (entry !== undefined && !payment.returns.some(({ id }) => id === entry.id)) {
    return 'the return must be among the returns of the payment';
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
