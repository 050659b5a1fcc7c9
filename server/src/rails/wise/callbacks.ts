import { createHash, type KeyObject, verify } from 'node:crypto';
import type {
  CallbackMessage,
  CallbackReading,
  InboundMessage,
  RailHost,
} from '../contract/contract.ts';
import { nameMember, parseExact } from '../kit/answers.ts';
import { readMisfit } from '../kit/problem-messages.ts';
import { openTransfers, type Payments } from './payments.ts';
import { eventSchema, stateChange, stateChangeSchema } from './protocol.ts';
import { describeFee, nameStatus, observe, readStanding } from './states.ts';

/** Webhooks of Wise: `transfers#state-change`, version 2.0.0 or 4.0.0, signed with Wise's RSA key. */

export type CallbackSetup = {
  readonly host: RailHost;
  readonly payments: Payments;
  readonly webhookKeys: readonly KeyObject[];
  readonly profileId: string;
  readonly sourceCurrency: string;
};

export async function readCallback(
  message: CallbackMessage,
  setup: CallbackSetup,
): Promise<CallbackReading> {
  const { method, path, query, headers, body } = message;
  if (method !== 'POST' || path !== '' || Object.keys(query).length > 0) {
    return {
      kind: 'refused',
      detail: 'a callback must be a POST to the callback address, without a query',
    };
  }
  if (!isSigned(body, headers['x-signature-sha256'] ?? '', setup.webhookKeys)) {
    return { kind: 'refused', detail: "X-Signature-SHA256 must be Wise's signature of the body" };
  }
  const digest = createHash('sha256').update(body).digest('hex').slice(0, 32);
  const json = parseExact(body);
  const event = eventSchema.safeParse(json);
  if (!event.success) {
    return readMisfit(body, { what: 'a webhook', detail: 'the body must be an event' });
  }
  // A test notification, or an event that the rail has no use for.
  const isOther = event.data.event_type !== stateChange;
  if (isOther || headers['x-test-notification'] === 'true') {
    return accept({ id: `event:${digest}`, raw: body, observations: [] });
  }
  return readStateChange(json, { body, digest }, setup);
}

async function readStateChange(
  json: unknown,
  { body, digest }: { body: Uint8Array; digest: string },
  { host, payments, profileId, sourceCurrency }: CallbackSetup,
): Promise<CallbackReading> {
  const event = stateChangeSchema.safeParse(json);
  if (!event.success) {
    const detail = `${nameMember(event.error)} does not have the described form`;
    return readMisfit(body, { what: 'a webhook', detail });
  }
  const { resource, current_state: status, occurred_at: atMs } = event.data.data;
  const ignored = { id: `event:${digest}`, raw: body, observations: [] };
  // Of another profile of the same application.
  if (resource.profile_id !== profileId) return accept(ignored);
  const transfer = await openTransfers(host.store).find(resource.id);
  // Of a transfer made outside Outlay, or made after the restored backup.
  if (transfer === undefined) return accept(ignored);
  const { reference } = transfer.value;
  const payment = await payments.find(reference);
  const fee = describeFee(payment?.value.order?.feeMinor, sourceCurrency);
  const observation = observe(status, { transferId: resource.id, reference, atMs, fee });
  // What was refused or canceled here is refunded without a further outcome; paid it must not be.
  const isEnded = payment?.state === 'refused' || payment?.state === 'cancelled';
  if (isEnded && observation?.outcome !== 'paid') return accept(ignored);
  if (observation !== undefined) {
    const id = nameStatus(resource.id, status);
    return accept({ id, raw: body, observations: [observation] });
  }
  if (readStanding(status) !== undefined) return accept(ignored);
  const detail = `transfer ${resource.id} of ${reference} has the status ${status}`;
  const problem = {
    id: `status:${resource.id}:${status}`,
    kind: 'not_understood',
    detail,
  } as const;
  return accept({ ...ignored, problems: [problem] });
}

function accept(message: Omit<InboundMessage, 'channel'>): CallbackReading {
  return { kind: 'accepted', message: { ...message, channel: 'callback' } };
}

/** RSA with SHA-256 (PKCS #1 v1.5) over the bytes of the body, Base64. */
function isSigned(body: Uint8Array, signature: string, keys: readonly KeyObject[]): boolean {
  if (!/^[A-Za-z0-9+/]{300,1400}={0,2}$/.test(signature)) return false;
  const bytes = Buffer.from(signature, 'base64');
  return keys.some((key) => verify('RSA-SHA256', body, key, bytes));
}
