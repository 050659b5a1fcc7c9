import { createVerify, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import type { BookedEvent, PaypalBooks } from './paypal-books.ts';
import { isHit, type SimulatorOptions } from './simulator-options.ts';

/**
 * Webhooks as PayPal signs them: RSA and SHA-256 over transmission id, time, webhook id and the CRC32 of
 * the body, separated by `|` (PayPal, Webhooks integration).
 */

export type WebhookSender = {
  /** Posts what has not been accepted, all at once; what is refused is posted again next time. */
  deliver(): Promise<void>;
  /** Answers `verify-webhook-signature`, whose text is given. */
  verify(text: string): boolean;
};

export type WebhookSenderOptions = {
  readonly books: PaypalBooks;
  readonly getOptions: () => SimulatorOptions;
  readonly nowMs: () => number;
  readonly webhookId: string;
  readonly url: string;
};

const postTimeoutMs = 10_000;
const certUrl = 'https://api.sandbox.paypal.com/v1/notifications/certs/CERT-simulated';

type Pair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
let pair: Pair | undefined;
let strangers: Pair | undefined;

/** One for all simulators of a process, because a key takes long to make. */
const getPair = (): Pair => (pair ??= generateKeyPairSync('rsa', { modulusLength: 2048 }));
const getStrangers = (): Pair =>
  (strangers ??= generateKeyPairSync('rsa', { modulusLength: 2048 }));

export function createWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { books, getOptions, webhookId } = options;
  const deliverOne = async (event: BookedEvent): Promise<void> => {
    const { lostShare, duplicateShare, lateShare, forgedShare } = getOptions();
    if (isHit(lateShare)) return;
    if (isHit(lostShare)) return books.setDelivered(event.id);
    if (isHit(forgedShare)) await post(event, options, getStrangers());
    if (!(await post(event, options, getPair()))) return;
    if (isHit(duplicateShare)) await post(event, options, getPair());
    books.setDelivered(event.id);
  };
  return {
    deliver: async () => {
      await Promise.all([...books.pending.values()].map(deliverOne));
    },
    verify: (text) => isGenuine(text, webhookId),
  };
}

async function post(
  event: BookedEvent,
  { url, webhookId, nowMs }: WebhookSenderOptions,
  { privateKey }: Pair,
): Promise<boolean> {
  const body = JSON.stringify(event.body);
  const id = randomUUID();
  const time = `${new Date(nowMs()).toISOString().slice(0, 19)}Z`;
  const signed = Buffer.from(`${id}|${time}|${webhookId}|${crc32(body)}`);
  const headers = {
    'content-type': 'application/json',
    'paypal-auth-algo': 'SHA256withRSA',
    'paypal-cert-url': certUrl,
    'paypal-transmission-id': id,
    'paypal-transmission-sig': sign('RSA-SHA256', signed, privateKey).toString('base64'),
    'paypal-transmission-time': time,
  };
  try {
    const signal = AbortSignal.timeout(postTimeoutMs);
    const response = await fetch(url, { method: 'POST', headers, body, signal });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

const requestSchema = z.object({
  auth_algo: z.literal('SHA256withRSA'),
  cert_url: z.literal(certUrl),
  transmission_id: z.string(),
  transmission_sig: z.string(),
  transmission_time: z.string(),
  webhook_id: z.string(),
  webhook_event: z.object({}),
});

const eventMember = '"webhook_event":';

/** The event is checked as its bytes were posted, not as its JSON would be written anew. */
function isGenuine(text: string, webhookId: string): boolean {
  const request = requestSchema.safeParse(JSON.parse(text)).data;
  if (request === undefined || request.webhook_id !== webhookId) return false;
  const { transmission_id: id, transmission_time: time, transmission_sig: signature } = request;
  const from = text.indexOf(eventMember) + eventMember.length;
  const event = text.slice(from, text.lastIndexOf('}'));
  const verifier = createVerify('RSA-SHA256');
  verifier.update(`${id}|${time}|${webhookId}|${crc32(event)}`);
  return verifier.verify(getPair().publicKey, signature, 'base64');
}
