import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import {
  type AddressRules,
  createCheckedLookup,
  hostOf,
  isAllowedAddress,
  RefusedAddress,
} from './addresses.ts';

// See server.ts of http: imports would load far more.
const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');

/**
 * Sends one request to an endpoint. Redirects are not followed; time and answer are bounded; the
 * connection goes to an address that was checked (`addresses.ts`).
 */

export type WebhookRequest = {
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
  /** Prepares requests to a URL. */
  open(url: string): Target;
  close(): void;
};

export type Target = {
  /** Never rejects, except when `signal` ends it. */
  send(request: WebhookRequest, signal: AbortSignal): Promise<SendResult>;
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
  return {
    open: (text) => {
      const url = new URL(text);
      const post = preparePosts(url, agents[url.protocol === 'https:' ? 'https:' : 'http:']);
      const host = hostOf(url);
      // An address is connected to without a look-up.
      const isRefused = isIP(host) !== 0 && !isAllowedAddress(host, rules);
      return {
        send: async (request, signal) => {
          const beganMs = steadyMs();
          const finish = (error: string, answer?: EndpointAnswer): SendResult => ({
            error,
            answer,
            durationMs: Math.round(steadyMs() - beganMs),
          });
          if (isRefused) return finish('the URL leads to a private or reserved address');
          try {
            const answer = await limit(post, { request, timeoutMs, signal });
            return finish(describeStatus(answer.statusCode), answer);
          } catch (error) {
            if (signal.aborted) throw error;
            return finish(describeError(error));
          }
        },
      };
    },
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

type Post = (request: WebhookRequest) => ClientRequest;

/** What is the same for every request is worked out once. */
function preparePosts(url: URL, agent: Agent): Post {
  const isSecure = url.protocol === 'https:';
  const fixed = {
    method: 'POST',
    hostname: hostOf(url),
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    maxHeaderSize: headerBytesMax,
    agent,
  };
  const { request: open } = isSecure ? https : http;
  return ({ headers, body }) =>
    open({
      ...fixed,
      headers: {
        ...headers,
        host: url.host,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': userAgent,
      },
    });
}

class TimedOut extends Error {}

/** Ends the exchange after the time limit, or when it is aborted. */
async function limit(
  post: Post,
  options: { request: WebhookRequest; timeoutMs: number; signal: AbortSignal },
): Promise<EndpointAnswer> {
  const { request, timeoutMs, signal } = options;
  let sent: ClientRequest;
  const end = (): void => {
    sent.destroy(new TimedOut(`no answer within ${timeoutMs} ms`));
  };
  const timer = setTimeout(end, timeoutMs);
  signal.addEventListener('abort', end);
  try {
    signal.throwIfAborted();
    for (;;) {
      sent = post(request);
      try {
        return await exchange(sent, request.body);
      } catch (error) {
        // Otherwise the endpoint closed an idle connection while the request was on its way.
        if (!sent.reusedSocket || codeOf(error) !== 'ECONNRESET') throw error;
      }
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

/** Once the status is known, it decides, whether or not the body arrives. */
function exchange(sent: ClientRequest, body: string): Promise<EndpointAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<EndpointAnswer>();
  const rejectClosed = (): void => reject(new Error('the connection ended without an answer'));
  sent.on('error', reject).on('close', rejectClosed);
  // Without this, Node destroys a request whose answer switches to another protocol, without an error.
  sent.on('upgrade', (response, socket) => {
    socket.destroy();
    resolve(describeAnswer(response, Buffer.alloc(0)));
  });
  sent.on('response', (response) => {
    sent.off('close', rejectClosed);
    const chunks: Buffer[] = [];
    let count = 0;
    const finish = (): void =>
      resolve(describeAnswer(response, Buffer.concat(chunks).subarray(0, answerBytesKept)));
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

function describeAnswer(
  { statusCode = 0, headers }: IncomingMessage,
  body: Buffer,
): EndpointAnswer {
  return {
    statusCode,
    body,
    contentType: (headers['content-type'] ?? '').slice(0, 100),
    retryAfter: headers['retry-after'],
  };
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
  if (error instanceof RefusedAddress || error instanceof TimedOut) return error.message;
  const code = codeOf(error);
  return codeTexts[code] ?? (code === '' ? 'the request failed' : `the request failed: ${code}`);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : '';
}
