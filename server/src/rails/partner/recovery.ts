import type { RailHost, RecoveredPayment } from '../contract/contract.ts';
import { readMinor } from './answers.ts';
import { type EventPage, readEventJson } from './callbacks.ts';
import type { PaymentEvent } from './protocol.ts';
import { findCursor, isKnownPayment } from './records.ts';

/**
 * What the partner's list of events shows after the last event that this database has read. After a
 * restore that is everything since the backup. The cursor is not moved, so that each event is also
 * applied in the ordinary way afterwards.
 */

type FetchPage = (after: string) => Promise<EventPage | undefined>;

/** @throws Error where the list cannot be read to its end. */
export async function recoverPayments(
  host: RailHost,
  fetchPage: FetchPage,
): Promise<RecoveredPayment[]> {
  const events = await readUnread(host, fetchPage, recoverPagesMax);
  const latest = new Map<string, PaymentEvent>();
  for (const event of events) {
    const known = latest.get(event.payment.reference);
    if (known === undefined || readMs(known) <= readMs(event)) {
      latest.set(event.payment.reference, event);
    }
  }
  return [...latest.values()].map(describeEvent);
}

function readMs({ occurred_at: occurredAt }: PaymentEvent): number {
  return Date.parse(occurredAt);
}

/** Whether there are events of payments that this database has no record of. */
export async function findUnknownPayments(
  host: RailHost,
  fetchPage: FetchPage,
): Promise<string | undefined> {
  const events = await readUnread(host, fetchPage, startPagesMax);
  const references = new Set(events.map(({ payment }) => payment.reference));
  let unknown = 0;
  for (const reference of references) {
    if (!(await isKnownPayment(host.store, reference))) unknown += 1;
  }
  return unknown === 0
    ? undefined
    : `the partner lists ${unknown} payments that this database has no record of`;
}

/** A hundred events each. */
const recoverPagesMax = 10_000;
const startPagesMax = 20;

async function readUnread(
  host: RailHost,
  fetchPage: FetchPage,
  pagesMax: number,
): Promise<PaymentEvent[]> {
  const events: PaymentEvent[] = [];
  let { after } = await findCursor(host.store);
  for (let read = 0; read < pagesMax; read += 1) {
    const page = await fetchPage(after);
    if (page === undefined) throw new Error("the partner's list of events cannot be read");
    for (const entry of page.events) {
      const event = readEventJson(entry);
      if (typeof event !== 'string') events.push(event);
    }
    if (page.events.length === 0 || page.next === after) return events;
    after = page.next;
  }
  if (pagesMax === startPagesMax) return events;
  throw new Error("the partner's list of events has no end");
}

function describeEvent(event: PaymentEvent): RecoveredPayment {
  const { id, payment } = event;
  const { reference, currency, state, partner_reference: providerReference } = payment;
  return {
    reference,
    currency,
    amountMinor: readMinor(payment.amount, currency),
    outcome: state,
    ...(providerReference === undefined ? {} : { providerReference }),
    atMs: readMs(event),
    detail: `event ${id}`,
  };
}
