import type { IncomingMessage } from 'node:http';
import type { LightLevel } from './light-authentication.ts';

// See server.ts of http: imports would load far more.
const https = process.getBuiltinModule('node:https');

type Certificate = Extract<LightLevel['authentication'], { kind: 'tls' }>;

/**
 * `fetch` with our client certificate. It does as much of `fetch` as the exchange with a partner uses:
 * texts as bodies, no redirects. A failure has its reason as `cause`, as that of `fetch`.
 */
export function createCertificateFetch(
  { certificate, privateKey, authority }: Certificate,
  connectionsMax: number,
): { readonly fetch: typeof fetch; close(): void } {
  const agent = new https.Agent({
    cert: certificate,
    key: privateKey,
    ...(authority === undefined ? {} : { ca: authority }),
    minVersion: 'TLSv1.2',
    keepAlive: true,
    maxSockets: connectionsMax,
  });
  const send = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const fail = (cause: Error): void => reject(new TypeError('fetch failed', { cause }));
    const { method = 'GET', headers, body, signal } = init;
    const options = {
      agent,
      method,
      headers: Object.fromEntries(new Headers(headers)),
      ...(signal === undefined || signal === null ? {} : { signal }),
    };
    const url = input instanceof Request ? input.url : input;
    const request = https.request(url, options, (incoming) => {
      const parts: Buffer[] = [];
      let length = 0;
      incoming.on('data', (part: Buffer) => {
        length += part.length;
        if (length > answerBytesMax) incoming.destroy(new Error('the answer is too long'));
        else parts.push(part);
      });
      incoming.once('error', fail);
      incoming.once('aborted', () => fail(new Error('the answer was cut')));
      incoming.once('end', () => {
        try {
          resolve(toResponse(incoming, Buffer.concat(parts)));
        } catch (error) {
          fail(error instanceof Error ? error : new Error('no response', { cause: error }));
        }
      });
    });
    request.on('error', fail);
    // Without this, Node destroys a request whose answer switches to another protocol, without an error.
    request.once('upgrade', (_incoming, socket) => {
      socket.destroy();
      fail(new Error('the answer is an upgrade'));
    });
    request.end(typeof body === 'string' ? body : undefined);
    return await promise;
  };
  return { fetch: send, close: () => agent.destroy() };
}

/** Statuses whose answers have no body. */
const emptyStatuses = new Set([204, 205, 304]);

/** @throws RangeError unless the status is from 200 to 599. */
function toResponse({ statusCode: status = 0, headers }: IncomingMessage, body: Buffer): Response {
  const received = Object.entries(headers).map(([name, value]): [string, string] => [
    name,
    [value ?? ''].flat().join(', '),
  ]);
  return new Response(emptyStatuses.has(status) ? null : body, { status, headers: received });
}

/** Above what the exchange takes. */
const answerBytesMax = 5 * 1024 * 1024;
