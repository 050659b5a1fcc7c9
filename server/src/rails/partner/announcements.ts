import { z } from 'zod';
import type {
  CallbackMessage,
  CallbackReading,
  CallContext,
  InboundMessage,
  InboundProblem,
  RailAnswer,
  RailHost,
} from '../contract/contract.ts';
import { reportProblem } from '../kit/problem-messages.ts';
import { openRecords } from '../kit/records.ts';
import { type OrderedMoney, readMinor } from './answers.ts';
import { readEvent } from './callbacks.ts';
import { isLater, reportUnclear } from './contradictions.ts';
import { type LightLevel, verifyAuthorization } from './light-authentication.ts';
import { type Payment, type PaymentEvent, paymentStates } from './protocol.ts';
import { findPaymentRecord, isKnownPayment, markAnnounced } from './records.ts';

/**
 * Events of the light level, posted or listed. They prove nothing, so that each only asks for a query
 * of its payment; the query's answer is what is applied. An announcement stays until a query states
 * as much, because the partner's queries may lag behind its events.
 */

const announcementSchema = z.object({
  state: z.enum(paymentStates),
  returnId: z.string().default(''),
  sinceMs: z.int(),
});

const openAnnouncements = (host: RailHost) =>
  openRecords(host.store, {
    collection: 'announcements',
    states: ['open'],
    value: announcementSchema,
  });

type Announcement = z.output<typeof announcementSchema>;

export type LightSetup = { readonly host: RailHost; readonly light: LightLevel };

/** Longer than any partner needs to deliver what it has signed. */
const validityMaxS = 600;

export async function readAnnouncement(
  message: CallbackMessage,
  { host, light }: LightSetup,
): Promise<CallbackReading> {
  const { method, path, query, body, headers } = message;
  if (method !== 'POST' || path !== '' || Object.keys(query).length > 0) {
    const detail = 'a callback must be a POST to the callback address, without a query';
    return { kind: 'refused', detail };
  }
  const called = {
    role: 'callback',
    method,
    path: new URL(host.callbackUrl).pathname,
    body,
  } as const;
  const verified = verifyAuthorization(called, headers, light.callbackKeys);
  if (!verified.ok) return { kind: 'refused', detail: verified.detail };
  const nowS = host.realNowMs() / 1000;
  if (nowS >= verified.expiresS || verified.expiresS > nowS + validityMaxS) {
    const detail = `Outlay-Expires must be within the next ${validityMaxS} seconds`;
    return { kind: 'refused', detail };
  }
  const event = readEvent(body);
  if (typeof event === 'string') return { kind: 'malformed', detail: event };
  await announce(host, event);
  host.wake();
  const id = `announced:${event.id}`;
  return { kind: 'accepted', message: { id, channel: 'callback', raw: body, observations: [] } };
}

/**
 * After an event of `paid` a query that states rejected is a contradiction, and after any event of a booked
 * payment one that does not know it. An event of a payment without a record is nothing to query: a person
 * compares it with the partner.
 */
export async function announce(host: RailHost, event: PaymentEvent): Promise<void> {
  const { payment, return: entry } = event;
  const key = payment.reference;
  if ((await findPaymentRecord(host.store, key)) === undefined) {
    await reportUnordered(host, event);
    return;
  }
  if (payment.state !== 'rejected') {
    const isPaid = payment.state === 'paid' || payment.state === 'returned';
    await markAnnounced(host.store, key, { isPaid });
  }
  const sinceMs = Math.floor(host.realNowMs());
  const next = { state: payment.state, returnId: entry?.id ?? '', sinceMs };
  await openAnnouncements(host).update(key, (earlier) => {
    const isNews =
      earlier === undefined ||
      isLater(next.state, earlier.value.state) ||
      (next.returnId !== '' && next.returnId !== earlier.value.returnId);
    return isNews ? { state: 'open', value: next } : undefined;
  });
}

async function reportUnordered(host: RailHost, event: PaymentEvent): Promise<void> {
  const { payment, return: entry } = event;
  const { reference, state, currency } = payment;
  const isNews = entry !== undefined || state === 'rejected' || state === 'returned';
  // Its recipient was erased after it had been paid.
  if (!isNews && (await isKnownPayment(host.store, reference))) return;
  const announced = entry === undefined ? state : `the return ${entry.id}`;
  const detail = `event ${event.id} announces ${announced} of ${reference}, which has no record here`;
  const id = `unordered:${reference}:${entry?.id ?? state}`;
  const amountMinor = readMinor((entry ?? payment).amount, currency);
  const problem: InboundProblem = { id, kind: 'unmatched', detail, currency, amountMinor };
  await reportProblem(host, problem, JSON.stringify(event));
}

export type Queried = {
  readonly answer: RailAnswer;
  /** What the partner stated, where it gave a definite answer. */
  readonly payment?: Payment;
  readonly raw?: Buffer;
  /** Where the partner contradicts itself: whether there is an exception about it. */
  readonly contradiction?: 'recent' | 'reported';
};

/** Returns whether announcements are left that the next pass asks for again. */
export async function queryAnnounced(
  setup: LightSetup,
  query: (money: OrderedMoney) => Promise<Queried>,
  context: CallContext,
): Promise<boolean> {
  const { host } = setup;
  let isLeft = false;
  for await (const { key, revision, value } of openAnnouncements(host).list()) {
    if (context.signal.aborted) return true;
    const record = await findPaymentRecord(host.store, key);
    const remove = async (): Promise<void> => {
      await host.store.write([{ collection: 'announcements', key, revision, next: undefined }]);
    };
    if (record === undefined) {
      await remove();
      continue;
    }
    const { amount: amountMinor, currency } = record.value;
    const queried = await query({ reference: key, amountMinor, currency });
    const message = describeAnswer(key, queried, host.nowMs());
    if (message !== undefined) await host.receive(message);
    if (queried.contradiction === 'reported') await remove();
    else if (queried.contradiction === 'recent') isLeft = true;
    else if (isStated(value, queried.payment)) await remove();
    else if (await reportUnstated(setup, key, value)) await remove();
    else isLeft = true;
  }
  return isLeft;
}

function isStated({ state, returnId }: Announcement, payment: Payment | undefined): boolean {
  if (payment === undefined) return false;
  if (returnId !== '') return payment.returns.some(({ id }) => id === returnId);
  return payment.state === state || isLater(payment.state, state);
}

async function reportUnstated(
  { host, light }: LightSetup,
  reference: string,
  { state, returnId, sinceMs }: Announcement,
): Promise<boolean> {
  if (host.realNowMs() - sinceMs < light.confirmSeconds * 1000) return false;
  const announced = returnId === '' ? state : `the return ${returnId}`;
  const detail = `an event announced ${announced}, which no query has stated`;
  const id = `unstated:${reference}:${returnId === '' ? state : returnId}`;
  await reportUnclear(host, { id, reference, detail, raw: detail });
  return true;
}

/** What a query states, as an observation; the same statement again has the same id. */
function describeAnswer(
  reference: string,
  { answer, raw }: Queried,
  nowMs: number,
): InboundMessage | undefined {
  const { outcome } = answer;
  if (raw === undefined || outcome === 'unknown' || outcome === 'retry') return undefined;
  const id = `stated:${reference}:${outcome}`;
  const { charges, providerReference, code } = answer;
  const observation = {
    id,
    reference,
    outcome,
    atMs: nowMs,
    ...('reason' in answer ? { reason: answer.reason } : {}),
    ...('amountMinor' in answer && answer.amountMinor !== undefined
      ? { amountMinor: answer.amountMinor }
      : {}),
    ...(charges === undefined ? {} : { charges }),
    ...(providerReference === undefined ? {} : { providerReference }),
    ...(code === undefined ? {} : { code }),
  };
  return { id, channel: 'poll', raw, observations: [observation] };
}
