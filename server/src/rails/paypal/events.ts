import { z } from 'zod';
import type { RailHost } from '../contract/contract.ts';
import { reportMissing } from '../kit/missing-reports.ts';
import { openRecords } from '../kit/records.ts';
import { describeResult } from './api.ts';
import { eventListSchema, eventSchema, type PaypalEvent, readTime } from './messages.ts';
import type { RailParts } from './parts.ts';
import { findBatchId, isPayoutEvent, markUnread, type Unread } from './unread.ts';

/** PayPal's list of the app's events, which makes up for lost webhooks. Times are real ones. */

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** Events appear out of order, and PayPal's clock is not ours, so this much is read again. */
const overlapMs = 10 * minuteMs;
/** PayPal lists events of the last 30 days. */
const historyMs = 29 * dayMs;
/** One list is of so much time at most, so that it has an end. */
const windowMs = dayMs;
const windowsMax = 8;
const pagesMax = 500;
const pageSize = 100;
const seenMax = 5_000;

const cursorKey = 'cursor';

const openCursors = ({ store }: Pick<RailHost, 'store'>) =>
  openRecords(store, {
    collection: 'events',
    states: ['read'],
    /** `seen`: ids of the events of the last `overlapMs` before `untilMs`. */
    value: z.object({ untilMs: z.number(), seen: z.array(z.string()) }),
  });

/** Until when events were read; undefined: never. */
export async function findCursor(host: RailHost): Promise<number | undefined> {
  return (await openCursors(host).find(cursorKey))?.value.untilMs;
}

/** Marks the batches of new events. True where there is more to read at once. */
export async function pollEvents(
  parts: RailParts,
  unread: Unread,
  signal: AbortSignal,
): Promise<boolean> {
  const cursors = openCursors(parts.host);
  const nowMs = parts.host.realNowMs();
  for (let count = 0; count < windowsMax; count += 1) {
    const cursor = await cursors.find(cursorKey);
    const sinceMs = Math.max(cursor?.value.untilMs ?? nowMs, nowMs - historyMs) - overlapMs;
    const untilMs = Math.min(sinceMs + overlapMs + windowMs, nowMs);
    const events = await listEvents(parts, { sinceMs, untilMs }, signal);
    if (events === undefined) return false;
    await reportLost(parts.host, cursor?.value.untilMs ?? nowMs, nowMs - historyMs);
    const seen = new Set(cursor?.value.seen);
    for (const event of events) {
      const batchId = findBatchId(event);
      if (!seen.has(event.id) && batchId !== undefined) await markUnread(unread, batchId);
    }
    const recent = events.filter(
      ({ create_time: time }) => (readTime(time) ?? untilMs) >= untilMs - overlapMs,
    );
    const isMoved = await cursors.write(
      { key: cursorKey, revision: cursor?.revision ?? 0 },
      { state: 'read', value: { untilMs, seen: recent.slice(-seenMax).map(({ id }) => id) } },
    );
    // Another process has read further, and continues from there.
    if (!isMoved || untilMs >= nowMs) return false;
  }
  return true;
}

/** Of what is older than its history PayPal lists nothing any more. */
async function reportLost(host: RailHost, readMs: number, firstMs: number): Promise<void> {
  if (readMs >= firstMs) return;
  const detail =
    `PayPal's events from ${formatTime(readMs)} to ${formatTime(firstMs)} were not read in time and are no ` +
    'longer listed: look for returns of that time in the account';
  await reportMissing(host, { id: `lost-events:${readMs}`, detail });
}

type Span = { readonly sinceMs: number; readonly untilMs: number };

/** Events of payouts; undefined where the list cannot be read to its end. */
export async function listEvents(
  { api, host }: Pick<RailParts, 'api' | 'host'>,
  { sinceMs, untilMs }: Span,
  signal: AbortSignal,
): Promise<readonly PaypalEvent[] | undefined> {
  const base = '/v1/notifications/webhooks-events';
  const first = new URLSearchParams({
    page_size: String(pageSize),
    start_time: formatTime(sinceMs),
    end_time: formatTime(untilMs),
  });
  const events: PaypalEvent[] = [];
  let query = `?${first.toString()}`;
  for (let page = 0; page < pagesMax; page += 1) {
    const result = await api.call({ method: 'GET', path: base + query }, signal);
    const list =
      result.kind === 'answered' && result.status === 200
        ? eventListSchema.safeParse(result.json).data
        : undefined;
    if (list === undefined) {
      host.log('warn', "PayPal's list of events cannot be read", describeResult(result));
      return undefined;
    }
    for (const entry of list.events) {
      const event = eventSchema.safeParse(entry).data;
      if (event !== undefined && isPayoutEvent(event)) events.push(event);
    }
    const next = list.links.find(({ rel }) => rel === 'next')?.href;
    const url = next === undefined ? null : URL.parse(next, 'https://api-m.paypal.com');
    // Only its query is followed, and only at the address that is configured.
    if (url === null || list.events.length === 0 || url.search === query) return events;
    query = url.search;
  }
  host.log('warn', "PayPal's list of events has no end", { pages: pagesMax });
  return undefined;
}

/** RFC 3339 in whole seconds, as PayPal's examples have it. */
export function formatTime(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}
