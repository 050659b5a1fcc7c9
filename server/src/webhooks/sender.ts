import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import {
  type AddressRules,
  createCheckedLookup,
  hostOf,
  isAllowedAddress,
  RefusedAddress,
} from './addresses.ts';

/**
 * Sends one request to an endpoint. Redirects are not followed; time and answer are bounded; the
 * connection goes to an address that was checked (`addresses.ts`).
 */

export type WebhookRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** `error` is empty if the endpoint accepted the request with a status of 2xx. */
export type SendResult = {
  readonly error: string;
  readonly durationMs: number;
  readonly answer: EndpointAnswer | undefined;
};

export type EndpointAnswer = {
  readonly statusCode: number;
  /** Its beginning. */
  readonly body: Buffer;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
};

export type Sender = {
  /** Never rejects, except when `signal` ends it. */
  send(request: WebhookRequest, signal: AbortSignal): Promise<SendResult>;
  close(): void;
};

export type SenderOptions = {
  readonly rules: AddressRules;
  /** For connection and answer together. */
  readonly timeoutMs: number;
  readonly steadyMs: () => number;
};

/** Of an answer's body: what is read before the connection is cut, and what is kept. */
const answerBytesMax = 64 * 1024;
const answerBytesKept = 1024;
const headerBytesMax = 8 * 1024;
/** A connection that is not used for so long is closed. */
const idleMs = 30_000;

const userAgent = 'Outlay-Webhooks/1';

export function createSender({ rules, timeoutMs, steadyMs }: SenderOptions): Sender {
  const options = { keepAlive: true, timeout: idleMs, lookup: createCheckedLookup(rules) };
  const agents = { 'http:': new http.Agent(options), 'https:': new https.Agent(options) };
  const attempt = async (request: WebhookRequest, signal: AbortSignal): Promise<EndpointAnswer> => {
    const url = new URL(request.url);
    const host = hostOf(url);
    // An address is connected to without a look-up.
    if (isIP(host) !== 0 && !isAllowedAddress(host, rules)) {
      throw new RefusedAddress('the URL leads to a private or reserved address');
    }
    const isSecure = url.protocol === 'https:';
    const sent = (isSecure ? https : http).request(url, {
      method: 'POST',
      agent: agents[isSecure ? 'https:' : 'http:'],
      maxHeaderSize: headerBytesMax,
      signal,
      headers: {
        ...request.headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(request.body),
        'user-agent': userAgent,
      },
    });
    try {
      return await exchange(sent, request.body);
    } catch (error) {
      // The endpoint closed an idle connection while the request was on its way.
      if (sent.reusedSocket && codeOf(error) === 'ECONNRESET') return attempt(request, signal);
      throw error;
    }
  };
  return {
    send: async (request, signal) => {
      const beganMs = steadyMs();
      const timeout = AbortSignal.timeout(timeoutMs);
      const finish = (error: string, answer?: EndpointAnswer): SendResult => ({
        error,
        answer,
        durationMs: Math.round(steadyMs() - beganMs),
      });
      try {
        const answer = await attempt(request, AbortSignal.any([signal, timeout]));
        return finish(describeStatus(answer.statusCode), answer);
      } catch (error) {
        if (signal.aborted) throw error;
        return finish(timeout.aborted ? `no answer within ${timeoutMs} ms` : describeError(error));
      }
    },
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** Once the status is known, it decides, whatever becomes of the body. */
function exchange(sent: http.ClientRequest, body: string): Promise<EndpointAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<EndpointAnswer>();
  sent.on('error', reject);
  sent.on('response', (response) => {
    const chunks: Buffer[] = [];
    let count = 0;
    const finish = (): void =>
      resolve({
        statusCode: response.statusCode ?? 0,
        body: Buffer.concat(chunks).subarray(0, answerBytesKept),
        contentType: (response.headers['content-type'] ?? '').slice(0, 100),
        retryAfter: response.headers['retry-after'],
      });
    response.on('data', (chunk: Buffer) => {
      if (count < answerBytesKept) chunks.push(chunk);
      count += chunk.length;
      if (count > answerBytesMax) response.destroy();
    });
    response.on('error', finish);
    response.on('close', finish);
    sent.off('error', reject).on('error', finish);
  });
  sent.end(body);
  return promise;
}

function describeStatus(status: number): string {
  if (status >= 200 && status < 300) return '';
  if (status >= 300 && status < 400) return `status ${status}: redirects are not followed`;
  return `status ${status}`;
}

const codeTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'the name does not resolve',
  EAI_AGAIN: 'the name does not resolve now',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the network is unreachable',
  ETIMEDOUT: 'the connection timed out',
  HPE_HEADER_OVERFLOW: 'the header of the answer is too large',
};

function describeError(error: unknown): string {
  if (error instanceof RefusedAddress) return error.message;
  const code = codeOf(error);
  return codeTexts[code] ?? (code === '' ? 'the request failed' : `the request failed: ${code}`);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : '';
}
