import { createHash, type KeyObject, verify } from 'node:crypto';
import type {
  CallbackMessage,
  CallbackReading,
  InboundMessage,
  RailHost,
} from '../contract/contract.ts';
import { readMinor } from '../kit/amounts.ts';
import { nameMember, parseExact } from '../kit/answers.ts';
import { readMisfit } from '../kit/problem-messages.ts';
import type { Payments } from './payments.ts';
import {
  eventSchema,
  stateChange,
  stateChangeSchema,
  transferRefund,
  transferRefundSchema,
} from './protocol.ts';
import { listRefundProblems, noteRefund, noteStatus, readReport } from './refunds.ts';
import { describeFee, nameStatus, observePaid, observeReturn, readStanding } from './states.ts';
import { openTransfers } from './transfer-records.ts';

/**
 * Webhooks of Wise, signed with its RSA key: `transfers#state-change`, version 2.0.0 or 4.0.0, and
 * `transfers#refund`.
 */

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
  const read =
    headers['x-test-notification'] === 'true' ? undefined : readers[event.data.event_type];
  if (read !== undefined) return read(json, { body, digest }, setup);
  // A test notification, or an event that the rail has no use for.
  return accept({ id: `event:${digest}`, raw: body, observations: [] });
}

type Reader = (
  json: unknown,
  raw: { readonly body: Uint8Array; readonly digest: string },
  setup: CallbackSetup,
) => Promise<CallbackReading>;

const readers: Readonly<Partial<Record<string, Reader>>> = {
  [stateChange]: readStateChange,
  [transferRefund]: readRefund,
};

function refuseForm(body: Uint8Array, member: string): CallbackReading {
  return readMisfit(body, {
    what: 'a webhook',
    detail: `${member} does not have the described form`,
  });
}

async function readStateChange(
  json: unknown,
  { body, digest }: { body: Uint8Array; digest: string },
  setup: CallbackSetup,
): Promise<CallbackReading> {
  const { host, payments, profileId, sourceCurrency } = setup;
  const event = stateChangeSchema.safeParse(json);
  if (!event.success) return refuseForm(body, nameMember(event.error));
  const { resource, current_state: status, occurred_at: atMs } = event.data.data;
  const ignored = { id: `event:${digest}`, raw: body, observations: [] };
  // Of another profile of the same application.
  if (resource.profile_id !== profileId) return accept(ignored);
  const transfer = await openTransfers(host.store).find(resource.id);
  // Of a transfer made outside Outlay, or made after the restored backup.
  if (transfer === undefined) return accept(ignored);
  const { reference, terms } = transfer.value;
  const fee = describeFee(terms?.feeMinor, sourceCurrency);
  const ended = { transferId: resource.id, reference, atMs, fee };
  const id = nameStatus(resource.id, status);
  const standing = readStanding(status);
  if (standing === 'paid') {
    return accept({ id, raw: body, observations: [observePaid(status, ended)] });
  }
  // What was refused or canceled here is refunded without a further outcome; paid it must not be.
  if (await isRefused(payments, reference)) return accept(ignored);
  if (standing === 'refunded') {
    const noted = await noteStatus(setup, resource.id);
    const returned = noted && readReport(noted, sourceCurrency);
    // The other event says how much came back, or a person does.
    if (returned === undefined) return accept(ignored);
    return accept({ id, raw: body, observations: [observeReturn({ ...ended, returned })] });
  }
  if (standing !== undefined) return accept(ignored);
  const detail = `transfer ${resource.id} of ${reference} has the status ${status}`;
  const problem = {
    id: `status:${resource.id}:${status}`,
    kind: 'not_understood',
    detail,
  } as const;
  return accept({ ...ignored, problems: [problem] });
}

/** It comes before or after the change of the state, or again. */
async function readRefund(
  json: unknown,
  { body, digest }: { body: Uint8Array; digest: string },
  setup: CallbackSetup,
): Promise<CallbackReading> {
  const { payments, profileId, sourceCurrency } = setup;
  const event = transferRefundSchema.safeParse(json);
  if (!event.success) return refuseForm(body, nameMember(event.error));
  const { resource, occurred_at: atMs } = event.data.data;
  const { id: transferId, refund_currency: currency } = resource;
  const amountMinor = readMinor(resource.refund_amount, currency);
  if (amountMinor === undefined) return refuseForm(body, 'data.resource.refund_amount');
  const message = { id: `event:${digest}`, raw: body, observations: [] };
  if (resource.profile_id !== profileId) return accept(message);
  const refund = { currency, amountMinor };
  const record = await noteRefund(setup, transferId, refund);
  if (record === undefined) return accept(message);
  const { reference, terms } = record.value;
  const isEnded = await isRefused(payments, reference);
  const problems = listRefundProblems(record, { refund, isRefused: isEnded }, sourceCurrency);
  const returned = isEnded ? undefined : readReport(record, sourceCurrency);
  if (returned === undefined) return accept({ ...message, problems });
  const fee = describeFee(terms?.feeMinor, sourceCurrency);
  const observation = observeReturn({ transferId, reference, atMs, fee, returned });
  return accept({ ...message, observations: [observation], problems });
}

async function isRefused(payments: Payments, reference: string): Promise<boolean> {
  const state = (await payments.find(reference))?.state;
  return state === 'refused' || state === 'cancelled';
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
