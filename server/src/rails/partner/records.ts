import { z } from 'zod';
import type { Instruction, RailStore } from '../contract/contract.ts';
import { eventsFirst } from './protocol.ts';

/**
 * What the rail remembers of a payment. `sending`: it may have been sent; the body of the order is
 * kept so that another sending is the same to the byte. `known`: the partner has answered for it,
 * so that it is only asked from then on, and nothing of a person is kept any more.
 */
const collection = 'payments';

const sendingSchema = z.object({
  body: z.string(),
  amount: z.string().transform(BigInt),
  currency: z.string(),
  /** Until this second an order that left earlier may still be booked; 0: none has left. */
  inFlightUntilS: z.int(),
});
const knownSchema = z.object({ amount: z.string().transform(BigInt), currency: z.string() });

export type PaymentRecord =
  | { readonly state: 'none' }
  | ({ readonly state: 'sending'; readonly revision: number } & z.output<typeof sendingSchema>)
  | ({ readonly state: 'known'; readonly revision: number } & z.output<typeof knownSchema>);

export async function findPaymentRecord(
  store: RailStore,
  reference: string,
): Promise<PaymentRecord> {
  const record = await store.get(collection, reference);
  if (record === undefined) return { state: 'none' };
  const { revision, value } = record;
  return record.state === 'known'
    ? { state: 'known', revision, ...knownSchema.parse(value) }
    : { state: 'sending', revision, ...sendingSchema.parse(value) };
}

/** A sending that has been recorded and may begin. */
export type Sending = {
  readonly body: string;
  readonly revision: number;
  /** `inFlightUntilS` without this sending. */
  readonly earlierUntilS: number;
};

/**
 * Records that an order may leave, to be booked before `untilS`.
 *
 * `known` where there is nothing to send any more; undefined where another one keeps changing the
 * record.
 */
export async function beginSending(
  store: RailStore,
  instruction: Instruction,
  order: { readonly body: string; readonly untilS: number },
): Promise<Sending | 'known' | undefined> {
  const { reference } = instruction;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const record = await findPaymentRecord(store, reference);
    if (record.state === 'known') return 'known';
    const fresh = { ...describeMoney(instruction), body: order.body };
    const earlier = record.state === 'none' ? { revision: 0, inFlightUntilS: 0 } : record;
    const value = {
      ...(record.state === 'none' ? fresh : describeSending(record)),
      inFlightUntilS: Math.max(earlier.inFlightUntilS, order.untilS),
    };
    const change = { collection, key: reference, revision: earlier.revision };
    if (await store.write([{ ...change, next: { state: 'sending', value } }])) {
      const revision = earlier.revision + 1;
      return { body: value.body, revision, earlierUntilS: earlier.inFlightUntilS };
    }
  }
  return undefined;
}

function describeMoney({ amountMinor, currency }: Instruction) {
  return { amount: amountMinor.toString(), currency };
}

function describeSending(record: z.output<typeof sendingSchema>) {
  return { amount: record.amount.toString(), currency: record.currency, body: record.body };
}

/** Takes back that a sending may have left. False where another one has begun meanwhile. */
export async function undoSending(
  store: RailStore,
  instruction: Instruction,
  sending: Sending,
): Promise<boolean> {
  const money = describeMoney(instruction);
  const value = { ...money, body: sending.body, inFlightUntilS: sending.earlierUntilS };
  const { reference: key } = instruction;
  const { revision } = sending;
  return await store.write([{ collection, key, revision, next: { state: 'sending', value } }]);
}

/** Records that the partner has answered for the payment. Lost, it is only answered for once more. */
export async function markKnown(store: RailStore, instruction: Instruction): Promise<void> {
  const { reference } = instruction;
  const value = describeMoney(instruction);
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const record = await findPaymentRecord(store, reference);
    if (record.state === 'known') return;
    const revision = record.state === 'none' ? 0 : record.revision;
    const change = { collection, key: reference, revision };
    if (await store.write([{ ...change, next: { state: 'known', value } }])) return;
  }
}

/** How far the partner's events have been read. */
export type Cursor = { readonly after: string; readonly revision: number };

const cursorSchema = z.object({ after: z.string() });
const cursorAt = { collection: 'events', key: 'cursor' };

export async function findCursor(store: RailStore): Promise<Cursor> {
  const record = await store.get(cursorAt.collection, cursorAt.key);
  if (record === undefined) return { after: eventsFirst, revision: 0 };
  return { ...cursorSchema.parse(record.value), revision: record.revision };
}

/** False where another one has moved it. */
export async function moveCursor(
  store: RailStore,
  { revision }: Cursor,
  after: string,
): Promise<boolean> {
  return await store.write([{ ...cursorAt, revision, next: { state: 'read', value: { after } } }]);
}
