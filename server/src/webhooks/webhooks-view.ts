import { z } from 'zod';
import { formatSeconds } from '../core/clock.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { formatToken } from '../core/ids.ts';
import { wholeAnswer } from '../http/schema.ts';
import { deliveryKinds, deliveryResults } from './deliveries.sql.ts';
import { algorithms } from './signatures.ts';
import { type DeliveryRow, type EndpointRow, endpointStatuses } from './webhooks.sql.ts';
import type { ReplayPreview } from './webhooks.ts';

/** Webhooks and deliveries in the API. */

const endpointFields = {
  webhook_token: z.string().describe('The webhook'),
  url: z.string().describe('Where events are sent'),
  description: z.string().describe('Your own words about the endpoint'),
  event_types: z.array(z.string()).describe('Empty for all types'),
  status: z
    .enum(endpointStatuses)
    .describe('Only ENABLED gets events; PAUSED and DISABLED miss none: resume it to get them'),
  status_reason: z.string().describe('Why it is paused or disabled'),
  signature: z.enum(algorithms).describe('How deliveries are signed'),
  public_key: z.string().describe('whpk_…; empty for hmac-sha256'),
  previous_secret_until: z
    .string()
    .describe('Until then the secret before the last rotation signs too; empty if it does not'),
  failing_since: z.string().describe('The first failure since the last success; empty if none'),
  next_attempt_on: z.string().describe('When a failed delivery is due again; empty if none is'),
  backlog: wholeAnswer.describe('Events that are not sent yet, those of other types included'),
  replaying_until: wholeAnswer.describe('The last sequence of a replay under way; 0 without one'),
  created_on: z.string().describe('UTC, without offset'),
};

export const endpointAnswer = z.object(endpointFields).meta({ id: 'Webhook' });

export const endpointWithSecretAnswer = z
  .object({
    ...endpointFields,
    secret: z
      .string()
      .describe('whsec_…; shown in this answer only. Empty for ed25519: verify with public_key'),
  })
  .meta({ id: 'WebhookWithSecret' });

export function writeEndpoint(row: EndpointRow) {
  return {
    webhook_token: formatToken('webhook', row.id),
    url: row.url,
    description: row.description,
    event_types: row.event_types,
    status: row.status,
    status_reason: row.status_reason,
    signature: row.algorithm,
    public_key: row.public_key,
    previous_secret_until: writeTime(row.previous_expires_at),
    failing_since: writeTime(row.failing_since),
    // A stopped endpoint keeps the time at which it would have been tried.
    next_attempt_on: row.status === 'ENABLED' ? writeTime(row.next_at) : '',
    backlog: writeNumber(row.backlog),
    replaying_until: writeNumber(row.replay_end ?? 0n),
    created_on: formatSeconds(row.created_at),
  };
}

export const testAnswer = z
  .object({
    delivery_token: z.string().describe('Of the delivery that the log will have within seconds'),
  })
  .meta({ id: 'WebhookTest' });

export const replayAnswer = z
  .object({
    count: wholeAnswer.describe('Events that the endpoint gets again'),
    from: wholeAnswer.describe('The first sequence; 0 if there is none'),
    to: wholeAnswer.describe('The last sequence; 0 if there is none'),
    dry_run: z.boolean().describe('Whether the events were only counted'),
  })
  .meta({ id: 'WebhookReplay' });

export function writeReplay({ count, first, last }: ReplayPreview, isDryRun: boolean) {
  return {
    count: writeNumber(count),
    from: writeNumber(first ?? 0n),
    to: writeNumber(last ?? 0n),
    dry_run: isDryRun,
  };
}

const deliveryFields = {
  delivery_token: z.string().describe('One request to the endpoint'),
  webhook_id: z.string().describe('The header webhook-id: the same for every try about an event'),
  kind: z.enum(deliveryKinds).describe('Why it was sent'),
  sequence: wholeAnswer.describe('Of the event; 0 for a test'),
  type: z.string().describe('Of the event'),
  try: z.int().describe('1 for the first request about the event'),
  result: z
    .enum(deliveryResults)
    .describe('failed: tried again at `retry_on`, except for a test; abandoned: not tried again'),
  status_code: z.int().describe('0 if there was no answer'),
  error: z.string().describe('Why it failed'),
  duration_ms: z.int().describe('Milliseconds from the request to the answer'),
  created_on: z.string().describe('UTC, without offset'),
  retry_on: z.string().describe('Empty if it is not tried again'),
};

export const deliveryAnswer = z.object(deliveryFields).meta({ id: 'WebhookDelivery' });

export const deliveryDetailAnswer = z
  .object({
    ...deliveryFields,
    request: z
      .object({
        url: z.string().describe('Where it was sent'),
        body: z.string().describe('Empty once the event is no longer kept'),
      })
      .meta({ id: 'WebhookRequest' }),
    answer: z
      .object({
        content_type: z.string().describe('The header Content-Type of the answer'),
        body: z.string().describe('The first 1,024 bytes'),
      })
      .meta({ id: 'WebhookAnswer' }),
  })
  .meta({ id: 'WebhookDeliveryDetail' });

export function writeDelivery(row: DeliveryRow) {
  return {
    delivery_token: formatToken('delivery', row.id),
    webhook_id: row.message_id,
    kind: row.kind,
    sequence: writeNumber(row.sequence ?? 0n),
    type: row.event_type,
    try: row.try,
    result: row.result,
    status_code: row.status_code ?? 0,
    error: row.error,
    duration_ms: row.duration_ms,
    created_on: formatSeconds(row.started_at),
    retry_on: writeTime(row.retry_at),
  };
}

const writeTime = (time: Date | null): string => (time === null ? '' : formatSeconds(time));

const writeNumber = (value: bigint): JsonNumber => new JsonNumber(value.toString());
