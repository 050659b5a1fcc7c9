import { randomBytes } from 'node:crypto';
import { type ExactJson, parseExactBytes } from '../../core/exact-json.ts';
import type { Reason } from '../contract/reasons.ts';
import {
  digestBody,
  type SigningKey,
  signMessage,
  type VerifyingKeys,
  verifyMessage,
} from './signatures.ts';

/** One signed question to the partner and its signed answer. */

export type ExchangeOptions = {
  /** Without a final slash. */
  readonly baseUrl: string;
  readonly signingKey: SigningKey;
  readonly partnerKeys: VerifyingKeys;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  /** Real time: a partner's clock knows nothing of one that staging has moved. */
  readonly realNowMs: () => number;
};

export type Question = {
  readonly method: 'GET' | 'PUT' | 'POST';
  /** After the base address, beginning with a slash. */
  readonly path: string;
  readonly body: string;
  /** The partner does not carry the request out from this second on. */
  readonly expiresS: number;
  readonly signal: AbortSignal;
};

/**
 * `answered`: signed by the partner for this very question, at `createdS` of its clock. `not_sent`:
 * no connection came about. `unclear`: everything else, and the partner may have heard us.
 */
export type ExchangeResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly json: ExactJson;
      readonly raw: Buffer;
      readonly createdS: number;
      /** Of the Retry-After header, proven or not: it only makes us wait. */
      readonly retryAfterMs: number;
    }
  | { readonly kind: 'not_sent' }
  | {
      readonly kind: 'unclear';
      readonly reason: Reason;
      readonly detail: string;
      readonly retryAfterMs?: number;
    };

export type Exchange = (question: Question) => Promise<ExchangeResult>;

/** A page of events is the longest. */
const answerBytesMax = 4 * 1024 * 1024;

export function createExchange(options: ExchangeOptions): Exchange {
  return async (question) => {
    const request = await signRequest(question, options);
    const signal = AbortSignal.any([question.signal, AbortSignal.timeout(options.timeoutMs)]);
    let response: Response;
    let raw: Buffer | undefined;
    try {
      response = await options.fetch(request.url, {
        method: request.method,
        headers: request.headers,
        redirect: 'manual',
        signal,
        ...(question.body === '' ? {} : { body: question.body }),
      });
      raw = await readBytes(response);
    } catch (error) {
      if (isBeforeConnection(error)) return { kind: 'not_sent' };
      return { kind: 'unclear', reason: 'no_answer', detail: 'no whole answer came' };
    }
    if (raw === undefined) return notUnderstood('the answer is too long');
    const retryAfterMs = readRetryAfter(response.headers.get('retry-after'), options.realNowMs());
    const answer = readAnswer({ response, raw, request }, options.partnerKeys);
    return answer.kind === 'not_sent' ? answer : { ...answer, retryAfterMs };
  };
}

type SentRequest = { method: string; url: string; headers: Record<string, string>; nonce: string };

async function signRequest(question: Question, options: ExchangeOptions): Promise<SentRequest> {
  const { method, path, body, expiresS } = question;
  const url = options.baseUrl + path;
  const headers: Record<string, string> = {
    accept: 'application/json',
    // The digest is of the body as it travels, which has to be the one that is read.
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

async function readBytes(response: Response): Promise<Buffer | undefined> {
  if (response.body === null) return Buffer.alloc(0);
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body as ReadableStream<Uint8Array>) {
    length += part.length;
    if (length > answerBytesMax) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function readAnswer(
  { response, raw, request }: { response: Response; raw: Buffer; request: SentRequest },
  keys: VerifyingKeys,
): ExchangeResult {
  const { status } = response;
  const message = { status, headers: Object.fromEntries(response.headers) };
  const verified = verifyMessage({ role: 'answer', message, request, body: raw }, keys);
  if (!verified.ok) return notUnderstood(`the answer is not proven: ${verified.detail}`);
  // With the nonce an answer to an earlier question cannot be passed off as one to this.
  if (verified.nonce !== request.nonce) return notUnderstood('the answer is to another request');
  try {
    const { createdS } = verified;
    const json = parseExactBytes(raw);
    return { kind: 'answered', status, json, raw, createdS, retryAfterMs: 0 };
  } catch {
    return notUnderstood('the answer is not JSON');
  }
}

/** RFC 9110, section 10.2.3: seconds, or a date. */
export function readRetryAfter(value: string | null, nowMs: number): number {
  if (value === null) return 0;
  const waitMs = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : 0;
}

function notUnderstood(detail: string): ExchangeResult {
  return { kind: 'unclear', reason: 'not_understood', detail };
}

const connectionFaults: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const nameFaults: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'EAI_AGAIN']);

/** Whether it failed at a step before any byte of ours could leave. */
function isBeforeConnection(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  // Of a name with several addresses all have to have failed like this.
  const faults = cause instanceof AggregateError ? cause.errors : [cause];
  return faults.length > 0 && faults.every(isConnectionFault);
}

function isConnectionFault(fault: unknown): boolean {
  if (!(fault instanceof Error)) return false;
  const { code, syscall } = fault as { code?: unknown; syscall?: unknown };
  if (nameFaults.has(code)) return syscall === 'getaddrinfo';
  return connectionFaults.has(code) && (syscall === undefined || syscall === 'connect');
}
