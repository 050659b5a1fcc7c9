import { formatSecondsZ } from '../core/clock.ts';
import { formatToken } from '../core/ids.ts';
import type { EventRow } from '../events/events.ts';

/** What a delivery says: the payload of Standard Webhooks 1.0, `type`, `timestamp` and `data`. */

export type Message = {
  /** The same for every try, replay and endpoint: receivers recognize a repetition by it. */
  readonly id: string;
  readonly type: string;
  readonly body: string;
};

/** An event as the feed answers it. */
export type RenderedEvent = {
  readonly type: string;
  /** UTC, without offset. */
  readonly created_on: string;
  readonly data: unknown;
};

/** The events of an account as the feed answers them, in the same order. */
export type RenderEvents = (
  accountId: string,
  rows: readonly EventRow[],
) => Promise<readonly RenderedEvent[]>;

/** The messages of events, in the same order. */
export async function writeMessages(
  renderEvents: RenderEvents,
  accountId: string,
  rows: readonly EventRow[],
): Promise<Message[]> {
  const rendered = await renderEvents(accountId, rows);
  return rendered.map((event, index) => {
    const row = rows[index];
    if (row === undefined) throw new Error('impossible: more events than rows');
    return { ...writePayload(event), id: nameMessage(accountId, row) };
  });
}

/** The other fields of the event stand beside the three. */
function writePayload(event: RenderedEvent): Omit<Message, 'id'> {
  const { type, created_on: createdOn, data, ...others } = event;
  return { type, body: JSON.stringify({ type, timestamp: `${createdOn}Z`, ...others, data }) };
}

/**
 * With the time, because a database that was restored from a backup uses the sequences after it
 * again, for other events.
 */
export function nameMessage(
  accountId: string,
  event: { readonly sequence: bigint; readonly created_at: Date },
): string {
  return `event_${accountId}_${event.sequence}_${event.created_at.getTime()}`;
}

export const testType = 'webhook.test';

export function writeTestMessage(test: { id: string; endpointId: string; nowMs: number }): Message {
  return {
    id: nameTest(test.id),
    type: testType,
    body: JSON.stringify({
      type: testType,
      timestamp: formatSecondsZ(new Date(test.nowMs)),
      data: { webhook_token: formatToken('webhook', test.endpointId) },
    }),
  };
}

export function nameTest(id: string): string {
  return `test_${id}`;
}
