import { OutlayError } from './errors.ts';
import { parseJson } from './exact-json.ts';
import type { components } from './generated/api.ts';
import { loadCrypto, nowMs } from './platform.ts';

/** Verification of webhooks by Standard Webhooks 1.0. */

/** The message is not from Outlay, was changed, or is too old. Answer 400 and do not read it. */
export class WebhookVerificationError extends OutlayError {
  override readonly name: string = 'WebhookVerificationError';
}

/** What Outlay sends: an event, or a test (`webhook.test`). Its `timestamp` is an event's `created_on`. */
export type WebhookMessage =
  | components['schemas']['EventMessage']
  | components['schemas']['TestMessage'];

/** The headers of a request, as `Headers` or as an object with names in any case. */
export type WebhookHeaders =
  | Headers
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export type WebhookOptions = {
  /** `whsec_…` (HMAC-SHA256) or `whpk_…` (Ed25519). Several while one replaces another. */
  readonly keys: string | readonly string[];
  /** How far the time of the message may be from now, in seconds. Default: 300. */
  readonly toleranceSeconds?: number;
  /** The present time in milliseconds since 1970. */
  readonly nowMs?: number;
};

export type WebhookRequest = {
  readonly headers: WebhookHeaders;
  /** The body exactly as it arrived. */
  readonly body: string | Uint8Array;
};

/**
 * The JSON of a webhook whose signature is right, with exact amounts.
 * @throws WebhookVerificationError if it is not; TypeError for a malformed key, and for a body that is
 * neither text nor bytes.
 */
export async function verifyWebhook<Message = WebhookMessage>(
  { headers, body }: WebhookRequest,
  options: WebhookOptions,
): Promise<Message> {
  const id = readHeader(headers, 'webhook-id');
  const timestamp = readHeader(headers, 'webhook-timestamp');
  const signatures = readHeader(headers, 'webhook-signature').split(' ');
  checkTime(timestamp, options);
  const bytes = readBytes(body);
  const signed = join(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  for (const key of typeof options.keys === 'string' ? [options.keys] : options.keys) {
    if (!(await isSigned(key, signed, signatures))) continue;
    return parseJson(new TextDecoder().decode(bytes)) as Message;
  }
  throw new WebhookVerificationError('No signature of the webhook matches a key');
}

function readHeader(headers: WebhookHeaders, name: string): string {
  const value = isHeaders(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  const text = typeof value === 'object' ? value?.[0] : value;
  if (text === undefined || text === '') {
    throw new WebhookVerificationError(`The header ${name} is missing`);
  }
  return text;
}

/** By its method: a library or a test environment may have a class `Headers` of its own. */
function isHeaders(headers: WebhookHeaders): headers is Headers {
  return typeof headers.get === 'function';
}

function checkTime(timestamp: string, options: WebhookOptions): void {
  const { toleranceSeconds = 300, nowMs: now = nowMs() } = options;
  const offset = Math.abs(now / 1000 - Number(timestamp));
  // A tolerance that is not a number accepts nothing.
  if (!/^\d+$/.test(timestamp) || !(offset <= toleranceSeconds)) {
    throw new WebhookVerificationError('The time of the webhook is outside the tolerance');
  }
}

/** A framework may have parsed the body, and no signature of what it wrote again would be right. */
function readBytes(body: string | Uint8Array): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  throw new TypeError('body must be the text or the Uint8Array exactly as it arrived, not parsed');
}

type Bytes = Uint8Array<ArrayBuffer>;

function join(first: Uint8Array, second: Uint8Array): Bytes {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}

/** How a kind of key signs. Web Crypto compares in constant time. */
const kinds = {
  whsec_: { scheme: 'v1', algorithm: { name: 'HMAC', hash: 'SHA-256' } },
  whpk_: { scheme: 'v1a', algorithm: { name: 'Ed25519' } },
} as const;

/** The key is undefined where it is an environment variable that is not set. */
async function isSigned(
  key: string | undefined,
  signed: Bytes,
  signatures: string[],
): Promise<boolean> {
  const prefix = key?.startsWith('whpk_') === true ? 'whpk_' : 'whsec_';
  const { scheme, algorithm } = kinds[prefix];
  const raw = key?.startsWith(prefix) === true ? readBase64(key.slice(prefix.length)) : undefined;
  if (raw === undefined) throw new TypeError('A key must be whsec_ or whpk_ with Base64');
  const { subtle } = await loadCrypto();
  const imported = await subtle.importKey('raw', raw, algorithm, false, ['verify']);
  for (const text of signatures) {
    const signature = text.startsWith(`${scheme},`)
      ? readBase64(text.slice(scheme.length + 1))
      : undefined;
    if (signature === undefined) continue;
    if (await subtle.verify(algorithm.name, imported, signature, signed)) return true;
  }
  return false;
}

function readBase64(text: string): Bytes | undefined {
  if (
    !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text) ||
    text === ''
  ) {
    return undefined;
  }
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
