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
        const status = incoming.statusCode ?? 0;
        const received = Object.entries(incoming.headers).map(([name, value]): [string, string] => [
          name,
          [value ?? ''].flat().join(', '),
        ]);
        const hasBody = status !== 204 && status !== 304;
        const text = hasBody ? Buffer.concat(parts) : null;
        resolve(new Response(text, { status, headers: received }));
      });
    });
    request.once('error', fail);
    request.end(typeof body === 'string' ? body : undefined);
    return await promise;
  };
  return { fetch: send, close: () => agent.destroy() };
}

/** Above what the exchange takes. */
const answerBytesMax = 5 * 1024 * 1024;
