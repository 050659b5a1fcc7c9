import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { z } from 'zod';
import { createLifecycle } from './lifecycle.ts';
import { type BookedBatch, openPaypalBooks, type PaypalBooks } from './paypal-books.ts';
import {
  answerRequest,
  listAmounts,
  type PaypalRequest,
  type PaypalState,
  type Reply,
} from './routes.ts';
import {
  type Fault,
  type SimulatorOptions,
  simulatorOptionsSchema,
  takeFault,
} from './simulator-options.ts';
import { showError } from './views.ts';
import { createWebhookSender } from './webhook-sender.ts';

/**
 * A simulated PayPal: tokens, payouts, reports and webhooks, with books of its own and faults on
 * request. It pays no money.
 */
export type PaypalSimulator = {
  readonly port: number;
  readonly baseUrl: string;
  readonly webhookId: string;
  readonly credentials: { readonly clientId: string; readonly clientSecret: string };
  readonly books: PaypalBooks;
  /** Orders received, repeated and refused ones included. */
  readonly orders: { readonly count: number };
  setOptions(changes: z.input<typeof simulatorOptionsSchema>): void;
  expect(reference: string, outcome: 'paid' | 'rejected' | 'returned'): void;
  /** The amounts of all that was or may be paid under the reference. */
  listAmounts(reference: string): readonly bigint[];
  /** One turn: the next statuses, and the webhooks of all that happened. */
  advance(): Promise<void>;
  /** Tokens that were given out are refused from now on. */
  revokeTokens(): void;
  close(): Promise<void>;
};

export type PaypalOpening = {
  /** Where webhooks go. */
  readonly webhookUrl: string;
  readonly nowMs?: () => number;
  readonly options?: z.input<typeof simulatorOptionsSchema>;
  /** Where its books are kept; absent: in memory. */
  readonly folder?: string;
  /** 0 for a free one. */
  readonly port?: number;
  readonly credentials?: PaypalSimulator['credentials'];
};

const scopes = [
  'https://uri.paypal.com/payments/payouts',
  'https://uri.paypal.com/services/reporting/search/read',
  'https://uri.paypal.com/services/reporting/balances/read',
  'https://uri.paypal.com/services/applications/webhooks',
];
const tokenSeconds = 32_400;

export async function openPaypalSimulator(opening: PaypalOpening): Promise<PaypalSimulator> {
  const { webhookUrl, nowMs = Date.now } = opening;
  const books = openPaypalBooks(opening.folder);
  const webhookId = '1JE4291016473214C';
  const held = { options: simulatorOptionsSchema.parse(opening.options ?? {}) };
  const getOptions = (): SimulatorOptions => held.options;
  const lifecycle = createLifecycle({ books, getOptions, nowMs });
  const webhooks = createWebhookSender({ books, getOptions, nowMs, webhookId, url: webhookUrl });
  const state: PaypalState = Object.assign(held, {
    books,
    lifecycle,
    webhooks,
    webhookId,
    webhookUrl,
    nowMs,
  });
  const credentials = opening.credentials ?? {
    clientId: `simulated-${randomBytes(8).toString('hex')}`,
    clientSecret: randomBytes(24).toString('hex'),
  };
  const tokens = new Map<string, number>();
  const orders = { count: 0 };
  const server = createServer((request, response) => {
    serve({ state, credentials, tokens, orders }, request, response).catch(() =>
      response.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(opening.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    baseUrl: `http://127.0.0.1:${port}`,
    webhookId,
    credentials,
    books,
    orders,
    setOptions: (changes) => setOptions(state, changes),
    expect: lifecycle.expect,
    listAmounts: (reference) => listAmounts(state, reference),
    advance: async () => {
      lifecycle.advance();
      // What a webhook says is on the disk before.
      await books.flushed();
      await webhooks.deliver();
    },
    revokeTokens: () => tokens.clear(),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      await books.close();
    },
  };
}

/** Without the defaults of what was not given. */
function setOptions(
  state: Pick<PaypalState, 'options'>,
  changes: z.input<typeof simulatorOptionsSchema>,
): void {
  const parsed = simulatorOptionsSchema.parse(changes);
  const given = Object.entries(parsed).filter(([name]) => Object.hasOwn(changes, name));
  state.options = { ...state.options, ...Object.fromEntries(given) };
}

/** The simulator's books, for those who run it as a process. */
export type PaypalRecords = {
  readonly batches: readonly BookedBatch[];
  /** Events that the webhook has not accepted yet. */
  readonly pendingEvents: number;
};

/** `GET /control/records` and `POST /control/options`, without a token; for tests only. */
function control(state: PaypalState, { method, body }: PaypalRequest): PaypalRecords {
  if (method === 'POST') {
    setOptions(state, JSON.parse(body) as z.input<typeof simulatorOptionsSchema>);
  }
  const { batches, pending } = state.books;
  return { batches: [...batches.values()], pendingEvents: pending.size };
}

type Serving = {
  readonly state: PaypalState;
  readonly credentials: PaypalSimulator['credentials'];
  /** Until when each is valid. */
  readonly tokens: Map<string, number>;
  readonly orders: { count: number };
};

async function serve(
  serving: Serving,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const received = await receive(request);
  if (received.url.pathname.startsWith('/control/')) {
    const json = control(serving.state, received);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    return;
  }
  const on = nameRequest(received);
  if (on === 'order') serving.orders.count += 1;
  const fault = takeFault(serving.state.options, on);
  if (await breakBefore(fault, response)) return;
  const reply = handle(serving, received, fault);
  // A booking is on the disk before it is answered.
  await serving.state.books.flushed();
  if (breakAfter(fault, response)) return;
  response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
  response.end(JSON.stringify(reply.json));
}

async function receive(request: IncomingMessage): Promise<PaypalRequest> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
  );
  return {
    method: request.method ?? 'GET',
    url: new URL(request.url ?? '/', 'http://127.0.0.1'),
    headers,
    body: Buffer.concat(parts).toString('utf8'),
  };
}

function nameRequest({ method, url: { pathname } }: PaypalRequest): Exclude<Fault['on'], 'any'> {
  if (pathname === '/v1/oauth2/token') return 'token';
  if (pathname.endsWith('/cancel')) return 'cancel';
  if (!pathname.startsWith('/v1/payments/payouts')) return 'other';
  return method === 'POST' ? 'order' : 'batch';
}

const maintenance: Reply = {
  status: 503,
  json: showError('SERVICE_UNAVAILABLE', 'Service Unavailable.'),
};
const busy: Reply = {
  status: 429,
  headers: { 'retry-after': '2' },
  json: showError('RATE_LIMIT_REACHED', 'Too many requests.'),
};

function handle(serving: Serving, received: PaypalRequest, fault: Fault | undefined): Reply {
  const { state } = serving;
  if (state.options.isInMaintenance || fault?.kind === 'maintenance') return maintenance;
  if (fault?.kind === 'busy') return busy;
  if (received.url.pathname === '/v1/oauth2/token') return giveToken(serving, received);
  const [, token = ''] = /^Bearer (.+)$/.exec(received.headers['authorization'] ?? '') ?? [];
  if ((serving.tokens.get(token) ?? 0) <= state.nowMs()) {
    const message =
      'Authentication failed due to missing authorization header, or invalid authentication credentials.';
    return { status: 401, json: showError('AUTHENTICATION_FAILURE', message) };
  }
  return answerRequest(state, received);
}

function giveToken(
  { credentials, tokens, state }: Serving,
  { headers, body, method }: PaypalRequest,
): Reply {
  const expected = `Basic ${btoa(`${credentials.clientId}:${credentials.clientSecret}`)}`;
  const isKnown = headers['authorization'] === expected;
  if (method !== 'POST' || !isKnown || body !== 'grant_type=client_credentials') {
    const error_description = 'Client Authentication failed';
    return { status: 401, json: { error: 'invalid_client', error_description } };
  }
  const token = randomBytes(48).toString('base64url');
  tokens.set(token, state.nowMs() + tokenSeconds * 1000);
  return {
    status: 200,
    json: {
      scope: scopes.join(' '),
      access_token: token,
      token_type: 'Bearer',
      app_id: 'APP-80W284485P519543T',
      expires_in: tokenSeconds,
      nonce: '2026-01-01T00:00:00Z',
    },
  };
}

/** Whether nothing else is to be answered. */
async function breakBefore(fault: Fault | undefined, response: ServerResponse): Promise<boolean> {
  switch (fault?.kind) {
    case 'delay':
      await new Promise((resolve) => {
        setTimeout(resolve, fault.delayMs);
      });
      return false;
    case 'error_before':
      response.writeHead(500).end('failed');
      return true;
    case 'reset_before':
      response.socket?.resetAndDestroy();
      return true;
    default:
      return false;
  }
}

function breakAfter(fault: Fault | undefined, response: ServerResponse): boolean {
  switch (fault?.kind) {
    case 'error_after':
      response.writeHead(500).end('failed');
      return true;
    case 'reset_after':
      response.socket?.resetAndDestroy();
      return true;
    case 'silent_after':
      return true;
    case 'garbage':
      response.writeHead(200, { 'content-type': 'application/json' }).end(randomBytes(200));
      return true;
    default:
      return false;
  }
}
