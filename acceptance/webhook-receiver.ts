import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A client's webhook endpoint: records what it gets, and answers as the test says. */

export type Received = {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: WebhookBody;
  readonly path: string;
  /** What it was answered with. */
  readonly status: number;
};

export type WebhookBody = {
  readonly type: string;
  readonly timestamp: string;
  readonly sequence: number;
  readonly data: Readonly<Record<string, unknown>>;
};

/** A status, or what else happens to the request; `undefined` answers 200. */
export type Behavior = (
  body: WebhookBody,
  response: ServerResponse,
) => number | 'handled' | undefined;

export type Receiver = AsyncDisposable & {
  readonly url: string;
  readonly received: readonly Received[];
  /** What was accepted. */
  accepted(): Received[];
  behave(behavior: Behavior): void;
  /** Waits until the condition holds. */
  until(condition: () => boolean, what: string): Promise<void>;
};

const waitMsMax = 60_000;

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  let behavior: Behavior = () => undefined;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const body = JSON.parse(text) as WebhookBody;
      const answer = behavior(body, response) ?? 200;
      const status = answer === 'handled' ? 0 : answer;
      if (status !== 0) response.writeHead(status).end();
      received.push({ headers: request.headers, text, body, path: request.url ?? '', status });
      for (const check of waiting) check();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    accepted: () => received.filter(({ status }) => status >= 200 && status < 300),
    behave: (next) => {
      behavior = next;
    },
    until: (condition, what) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const timer = setTimeout(() => {
        reject(new Error(`${what}: not after ${received.length} requests`));
      }, waitMsMax);
      const check = (): void => {
        if (condition()) resolve();
      };
      waiting.add(check);
      check();
      return promise.finally(() => {
        waiting.delete(check);
        clearTimeout(timer);
      });
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * Settings under which a service may send to the receivers of tests. A process of tests may stall for seconds on
 * a busy machine, and what it answers too late is sent again.
 */
export const webhookSettings = { OUTLAY_WEBHOOK_LOOPBACK: 'allowed', OUTLAY_WEBHOOK_SECONDS: '6' };
