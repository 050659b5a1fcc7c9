import { z } from 'zod';
import type { Instruction, RailStore } from '../contract/contract.ts';
import { minorUnits, openRecords, type TypedRecord } from '../kit/records.ts';
import type { OrderedMoney } from './answers.ts';
import { eventsFirst } from './protocol.ts';

/**
 * What the rail remembers of a payment. `sending`: it may have been sent; the body of the order is
 * kept so that another sending is the same to the byte. `known`: the partner has answered for it,
 * so that it is only queried from then on, and no personal data is kept.
 */
const valueSchema = z.object({
  amount: minorUnits,
  currency: z.string(),
  body: z.string().default(''),
  /** Until this second an order that left earlier may still be booked; 0: none has left. */
  inFlightUntilS: z.int().default(0),
  /** The last batch that had the order, and the expiry of its request. */
  batch: z.object({ id: z.string(), untilS: z.int() }).optional(),
  /** Of the light level: the partner has stated that it was paid, in an answer or an event. */
  wasPaid: z.literal(true).optional(),
  /** Of the light level, before an answer counts: an event has stated that it is booked. */
  wasBooked: z.literal(true).optional(),
  /** Of the light level: an answer has stated that it was rejected; a query is to confirm it. */
  wasRejected: z.literal(true).optional(),
  /** Of the light level: since this moment the partner's statements contradict each other. */
  contradictedSinceMs: z.int().optional(),
});

const openPayments = (store: RailStore) =>
  openRecords(store, {
    collection: 'payments',
    states: ['sending', 'known'],
    value: valueSchema,
    isOfRecipient: true,
  });

export type PaymentRecord = TypedRecord<'sending' | 'known', z.output<typeof valueSchema>>;

export async function findPaymentRecord(
  store: RailStore,
  reference: string,
): Promise<PaymentRecord | undefined> {
  return openPayments(store).find(reference);
}

/** Whether there is a record of the payment, or was one before its recipient was erased. */
export async function isKnownPayment(store: RailStore, reference: string): Promise<boolean> {
  const payments = openPayments(store);
  return (await payments.find(reference)) !== undefined || payments.isErased(reference);
}

/** A sending that has been recorded and may begin. */
export type Sending = {
  readonly body: string;
  readonly revision: number;
  /** `inFlightUntilS` without this sending. */
  readonly earlierUntilS: number;
  /** The record without this sending. */
  readonly earlier: PaymentValue;
};

type PaymentValue = z.output<typeof valueSchema>;

/**
 * Records that an order may leave, to be booked before `untilS`. `known`: the partner has answered
 * for the payment, so that nothing more is sent.
 */
export async function beginSending(
  store: RailStore,
  instruction: Instruction,
  order: { readonly body: string; readonly untilS: number; readonly batch?: string },
): Promise<Sending | 'known'> {
  const { untilS } = order;
  let earlier: PaymentValue = {
    ...describeMoney(instruction),
    body: order.body,
    inFlightUntilS: 0,
  };
  const { record, isChanged } = await openPayments(store).update(instruction.reference, (found) => {
    if (found?.state === 'known') return undefined;
    earlier = found?.value ?? earlier;
    const inFlightUntilS = Math.max(earlier.inFlightUntilS, untilS);
    const batch = order.batch === undefined ? {} : { batch: { id: order.batch, untilS } };
    return { state: 'sending', value: { ...earlier, inFlightUntilS, ...batch } };
  });
  if (!isChanged) return 'known';
  const { body, inFlightUntilS: earlierUntilS } = earlier;
  return { body, revision: record.revision, earlierUntilS, earlier };
}

function describeMoney({ amountMinor, currency }: OrderedMoney) {
  return { amount: amountMinor, currency };
}

/** Takes back that a sending may have left. False where another one has begun meanwhile. */
export async function undoSending(
  store: RailStore,
  { reference }: Instruction,
  { revision, earlier }: Sending,
): Promise<boolean> {
  const seen = { key: reference, revision };
  return openPayments(store).write(seen, { state: 'sending', value: earlier });
}

/**
 * Records that the partner has answered for the payment without contradicting itself, and what of the
 * answer is to be compared with later ones.
 */
export async function markKnown(
  store: RailStore,
  money: OrderedMoney,
  fact: { readonly wasPaid?: true; readonly wasRejected?: true } = {},
): Promise<void> {
  await openPayments(store).update(money.reference, (record) => {
    const earlier = record?.state === 'known' ? record.value : undefined;
    const { contradictedSinceMs, ...known } = earlier ?? {
      ...describeMoney(money),
      body: '',
      inFlightUntilS: 0,
      ...(record?.value.wasPaid && { wasPaid: true as const }),
    };
    const isNews =
      (fact.wasPaid === true && known.wasPaid === undefined) ||
      (fact.wasRejected === true && known.wasRejected === undefined);
    if (earlier !== undefined && contradictedSinceMs === undefined && !isNews) return undefined;
    return { state: 'known', value: { ...known, ...fact } };
  });
}

/** What an event has stated. What may be sent and queried stays as it is. */
export async function markAnnounced(
  store: RailStore,
  reference: string,
  { isPaid }: { readonly isPaid: boolean },
): Promise<void> {
  await openPayments(store).update(reference, (record) => {
    if (record === undefined) return undefined;
    const { state, value } = record;
    const isNews =
      (isPaid && value.wasPaid === undefined) ||
      (state === 'sending' && value.wasBooked === undefined);
    const facts = {
      ...(isPaid && { wasPaid: true as const }),
      ...(state === 'sending' && { wasBooked: true as const }),
    };
    return isNews ? { state, value: { ...value, ...facts } } : undefined;
  });
}

/** Returns the moment since which the partner contradicts itself: `nowMs` when it is new. */
export async function markContradiction(
  store: RailStore,
  money: OrderedMoney,
  nowMs: number,
): Promise<number> {
  const { record } = await openPayments(store).update(money.reference, (earlier) => {
    if (earlier?.value.contradictedSinceMs !== undefined) return undefined;
    const value = earlier?.value ?? { ...describeMoney(money), body: '', inFlightUntilS: 0 };
    return { state: earlier?.state ?? 'known', value: { ...value, contradictedSinceMs: nowMs } };
  });
  return record?.value.contradictedSinceMs ?? nowMs;
}

/**
 * The batch by which an order was sent last, as long as the request may still be carried out by our clock.
 * Afterwards only a query of the payment itself can end the doubt.
 */
export function findOpenBatch(
  record: PaymentRecord | undefined,
  realNowMs: number,
): string | undefined {
  if (record?.state !== 'sending') return undefined;
  const { batch, inFlightUntilS } = record.value;
  const isLast = batch?.untilS === inFlightUntilS;
  return isLast && realNowMs <= inFlightUntilS * 1000 ? batch?.id : undefined;
}

/** How far the partner's events have been read. */
export type Cursor = { readonly after: string; readonly revision: number };

const cursorKey = 'cursor';

const openCursors = (store: RailStore) =>
  openRecords(store, {
    collection: 'events',
    states: ['read'],
    value: z.object({ after: z.string() }),
  });

export async function findCursor(store: RailStore): Promise<Cursor> {
  const record = await openCursors(store).find(cursorKey);
  return { after: record?.value.after ?? eventsFirst, revision: record?.revision ?? 0 };
}

/** False where another process has moved it. */
export async function moveCursor(
  store: RailStore,
  { revision }: Cursor,
  after: string,
): Promise<boolean> {
  return openCursors(store).write(
    { key: cursorKey, revision },
    { state: 'read', value: { after } },
  );
}
