import { formatSecondsZ } from '../core/clock.ts';
import { formatToken } from '../core/ids.ts';
import { type EventRow, writeEvent } from '../events/events.ts';

/** What a delivery says: the payload of Standard Webhooks 1.0, `type`, `timestamp` and `data`. */

export type Message = {
  /** The same for every try, replay and endpoint: receivers recognize a repetition by it. */
  readonly id: string;
  readonly type: string;
  readonly body: string;
};

/** The other fields of the event stand beside the three. */
export function writeMessage(accountId: string, row: EventRow): Message {
  const { type, created_on: createdOn, data, ...others } = writeEvent(row);
  return {
    id: nameMessage(accountId, row.sequence),
    type,
    body: JSON.stringify({ type, timestamp: `${createdOn}Z`, ...others, data }),
  };
}

export function nameMessage(accountId: string, sequence: bigint): string {
  return `event_${accountId}_${sequence}`;
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
