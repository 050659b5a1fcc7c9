import { randomBytes } from 'node:crypto';
import type { ExactJson } from '../../core/exact-json.ts';
import type { RailHost } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { parseExact } from '../kit/answers.ts';
import { exchangeHttp, type HttpRequest } from '../kit/http-exchange.ts';
import {
  digestBody,
  type SigningKey,
  signMessage,
  type VerifyingKeys,
  verifyMessage,
} from './signatures.ts';

/** One signed request to the partner and its signed answer. */

export type ExchangeOptions = Pick<RailHost, 'fetch' | 'realNowMs'> & {
  /** Without a final slash. */
  readonly baseUrl: string;
  readonly signingKey: SigningKey;
  readonly partnerKeys: VerifyingKeys;
  readonly timeoutMs: number;
};

export type PartnerRequest = {
  readonly method: 'GET' | 'PUT' | 'POST';
  /** After the base address, beginning with a slash. */
  readonly path: string;
  readonly body: string;
  /** The partner does not carry the request out from this second on. */
  readonly expiresS: number;
  readonly signal: AbortSignal;
};

/**
 * `answered`: signed by the partner for this very request, at `createdS` of its clock. `not_sent`: no
 * connection was made. `unclear`: everything else; the partner may have received the request.
 */
export type ExchangeResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly json: ExactJson;
      readonly raw: Buffer;
      readonly createdS: number;
      /** Of the Retry-After header, which is not signed: it only makes us wait. */
      readonly retryAfterMs: number;
    }
  | { readonly kind: 'not_sent' }
  | {
      readonly kind: 'unclear';
      readonly reason: Reason;
      readonly detail: string;
      readonly retryAfterMs?: number;
    };

export type Exchange = (partnerRequest: PartnerRequest) => Promise<ExchangeResult>;

/** A page of events is the longest. */
const answerBytesMax = 4 * 1024 * 1024;

export function createExchange(options: ExchangeOptions): Exchange {
  return async (partnerRequest) => {
    const request = await signRequest(partnerRequest, options);
    const { body, signal } = partnerRequest;
    const received = await receive({ ...request, body, signal }, options);
    if (received.kind !== 'received') return received;
    const { retryAfterMs } = received;
    const answer = readAnswer(received, request, options.partnerKeys);
    return answer.kind === 'not_sent' ? answer : { ...answer, retryAfterMs };
  };
}

export type Received = {
  readonly kind: 'received';
  readonly status: number;
  readonly headers: Headers;
  readonly raw: Buffer;
  readonly retryAfterMs: number;
};

/** Of both levels. */
export async function receive(
  request: HttpRequest,
  options: Pick<ExchangeOptions, 'fetch' | 'realNowMs' | 'timeoutMs'>,
): Promise<Received | Exclude<ExchangeResult, { kind: 'answered' }>> {
  const result = await exchangeHttp(request, { ...options, answerBytesMax });
  if (result.kind !== 'answered') {
    return result.kind === 'not_sent'
      ? { kind: 'not_sent' }
      : { kind: 'unclear', reason: 'no_answer', detail: 'no complete answer came' };
  }
  const { status, headers, body, retryAfterMs } = result;
  if (body === undefined) return notUnderstood('the answer is too long');
  return { kind: 'received', status, headers, raw: body, retryAfterMs };
}

type SentRequest = { method: string; url: string; headers: Record<string, string>; nonce: string };

async function signRequest(
  partnerRequest: PartnerRequest,
  options: ExchangeOptions,
): Promise<SentRequest> {
  const { method, path, body, expiresS } = partnerRequest;
  const url = options.baseUrl + path;
  const headers: Record<string, string> = {
    accept: 'application/json',
    // The digest covers the body as it is transferred, so it must not be compressed.
    'accept-encoding': 'identity',
    'content-digest': digestBody(Buffer.from(body)),
    ...(body === '' ? {} : { 'content-type': 'application/json' }),
  };
  const nonce = randomBytes(18).toString('base64url');
  const createdS = Math.min(Math.floor(options.realNowMs() / 1000), expiresS);
  const signed = await signMessage(
    { role: 'request', message: { method, url, headers } },
    options.signingKey,
    { createdS, expiresS, nonce },
  );
  return { method, url, headers: signed, nonce };
}

function readAnswer(
  { status, headers, raw }: Received,
  request: SentRequest,
  keys: VerifyingKeys,
): ExchangeResult {
  const message = { status, headers: Object.fromEntries(headers) };
  const verified = verifyMessage({ role: 'answer', message, request, body: raw }, keys);
  if (!verified.ok) return notUnderstood(`the answer has no valid signature: ${verified.detail}`);
  // The nonce keeps an answer to an earlier request from being replayed for this one.
  if (verified.nonce !== request.nonce)
    return notUnderstood('the answer belongs to another request');
  const json = parseExact(raw);
  if (json === undefined)
    return notUnderstood('the answer must be JSON in UTF-8, with no member twice in one object');
  return { kind: 'answered', status, json, raw, createdS: verified.createdS, retryAfterMs: 0 };
}

export function notUnderstood(detail: string): ExchangeResult & { readonly kind: 'unclear' } {
  return { kind: 'unclear', reason: 'not_understood', detail };
}
