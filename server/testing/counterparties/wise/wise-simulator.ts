import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseJson, readText } from '../read-request.ts';
import { type Approvals, openApprovals } from './approvals.ts';
import { groupOperations } from './batch-groups.ts';
import {
  type BatchGroup,
  openBooks,
  type Pricing,
  type Quote,
  type Recipient,
  refund,
  type Transfer,
} from './books.ts';
import { type Form, firstForms, isBouncing } from './forms.ts';
import { type Answer, type Simulation } from './operation.ts';
import { operations } from './operations.ts';
import {
  getSigningKeys,
  openWebhooks,
  type StateChange,
  type Subscription,
  triggers,
  type WebhookFaults,
} from './webhooks.ts';

/**
 * A Wise to test against: stateful, over HTTP, with the operations of the official description that the
 * rail uses and the simulation endpoints of Wise's sandbox. It enforces authentication, idempotency by
 * `customerTransactionId`, the validity of quotes, recipient requirements, funds and limits.
 */

export type Fault = {
  /** Matches `METHOD /path`. */
  readonly on: RegExp;
  readonly kind:
    | 'error_before'
    | 'error_after'
    | 'reset_before'
    | 'reset_after'
    | 'silent_after'
    | 'rate_limited'
    | 'maintenance'
    | 'forbidden'
    | 'garbage';
  /** How often; always when absent. */
  count?: number;
  readonly share?: number;
};

export type Exchange = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly status: number;
  readonly answer: string;
};

export type WiseOptions = {
  readonly balances?: Readonly<Record<string, string>>;
  readonly callbackUrl?: string;
  readonly nowMs?: () => number;
  /** Settles by itself at this pace, real time; by `advance` alone when absent. */
  readonly settleMs?: number;
  /** Fundings need strong customer authentication by this public key, PEM. */
  readonly customerKey?: string;
  readonly onExchange?: (exchange: Exchange) => void;
  /** A request, `METHOD /path`, that is carried out and never answered. */
  readonly onSilence?: (request: string) => void;
  readonly onWebhook?: (body: string) => void;
};

export type WiseSimulator = {
  readonly url: string;
  readonly port: number;
  readonly token: string;
  readonly client: { readonly id: string; readonly secret: string; readonly refreshToken: string };
  readonly profileId: string;
  readonly webhookKey: string;
  readonly transfers: readonly Transfer[];
  readonly groups: readonly BatchGroup[];
  readonly quotes: readonly Quote[];
  readonly recipients: readonly Recipient[];
  readonly pendingWebhooks: number;
  /** No transfer will change by itself. */
  readonly isSettled: boolean;
  find(reference: string): Transfer | undefined;
  balance(currency: string): bigint;
  /** To all events, or to one. */
  subscribe(url: string, only?: Subscription['trigger']): void;
  setFaults(faults: readonly Fault[]): void;
  setWebhookFaults(faults: WebhookFaults): void;
  setPricing(pricing: Partial<Pricing>): void;
  setLimitMinor(limitMinor: bigint): void;
  setPerSecondMax(count: number): void;
  /** From now on recipient accounts in the currency have this form. */
  setForm(currency: string, form: Form): void;
  /** Makes every OAuth token invalid. */
  revokeTokens(): void;
  move(reference: string, status: string): void;
  /** One step of every funded transfer, and one try to deliver each webhook. */
  advance(): Promise<void>;
  close(): Promise<void>;
};

type State = {
  faults: readonly Fault[];
  pricing: Pricing;
  limitMinor: bigint;
  perSecondMax: number;
  readonly tokens: Set<string>;
  readonly recent: number[];
  readonly approvals: Approvals | undefined;
};

const client = {
  id: 'outlay',
  secret: 'secret of the client',
  refreshToken: 'refresh of the user',
};

export async function openWise(options: WiseOptions = {}): Promise<WiseSimulator> {
  const nowMs = options.nowMs ?? Date.now;
  const token = randomUUID();
  const profileId = '30000001';
  const books = openBooks(options.balances ?? { EUR: '1000000', USD: '1000000' });
  const webhooks = openWebhooks(options.onWebhook ?? (() => undefined));
  const forms = new Map(Object.entries(firstForms));
  const subscriptions = new Map<string, Subscription>();
  const state: State = {
    faults: [],
    pricing: { fixedMinor: 50n, basisPoints: 60n, worseBasisPoints: 0 },
    limitMinor: 100_000_000n,
    perSecondMax: Infinity,
    tokens: new Set([token]),
    recent: [],
    approvals: options.customerKey === undefined ? undefined : openApprovals(options.customerKey),
  };
  const move: Simulation['move'] = (transfer, status) => {
    const from = transfer.status === '' ? null : transfer.status;
    transfer.status = status;
    const { id: transferId, targetAccount: accountId } = transfer;
    const change: StateChange = {
      transferId,
      accountId,
      profileId,
      from,
      to: status,
      atMs: nowMs(),
      ...(status === 'funds_refunded' ? { refund: refund(books, transfer) } : {}),
    };
    webhooks.announce(change, subscriptions.values());
  };
  const simulation: Simulation = {
    books,
    profileId,
    forms,
    subscriptions,
    pricing: () => state.pricing,
    limitMinor: () => state.limitMinor,
    nowMs,
    move,
  };
  const subscribe: WiseSimulator['subscribe'] = (url, only) => {
    for (const trigger of only === undefined ? triggers : [only]) {
      const id = randomUUID();
      subscriptions.set(id, { id, name: 'outlay', url, trigger });
    }
  };
  if (options.callbackUrl !== undefined) subscribe(options.callbackUrl);
  const server = createServer((request, response) => {
    serve(request, response, { simulation, state, ...options }).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const advance = async (): Promise<void> => {
    for (const transfer of books.transfers.values()) settle(simulation, transfer);
    await webhooks.deliver();
  };
  const stop = repeat(advance, options.settleMs);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    token,
    client,
    profileId,
    webhookKey: getSigningKeys().publicPem,
    get transfers() {
      return [...books.transfers.values()];
    },
    get quotes() {
      return [...books.quotes.values()];
    },
    get groups() {
      return [...books.groups.values()];
    },
    get recipients() {
      return [...books.recipients.values()];
    },
    get isSettled() {
      return [...books.transfers.values()].every(
        (transfer) => findNext(simulation, transfer) === undefined,
      );
    },
    get pendingWebhooks() {
      return webhooks.pending;
    },
    find: (reference) => books.byReference.get(reference),
    balance: (currency) => books.balances.get(currency) ?? 0n,
    subscribe,
    setFaults: (faults) => void (state.faults = faults),
    setWebhookFaults: webhooks.setFaults,
    setPricing: (pricing) => void (state.pricing = { ...state.pricing, ...pricing }),
    setLimitMinor: (limitMinor) => void (state.limitMinor = limitMinor),
    setPerSecondMax: (count) => void (state.perSecondMax = count),
    setForm: (currency, form) => void forms.set(currency, form),
    revokeTokens: () => {
      state.tokens.clear();
      state.tokens.add(token);
    },
    move: (reference, status) => {
      const transfer = books.byReference.get(reference);
      if (transfer === undefined) throw new Error(`no transfer has the reference ${reference}`);
      move(transfer, status);
    },
    advance,
    close: async () => {
      await stop();
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

const nextStatus: Readonly<Record<string, string>> = {
  processing: 'funds_converted',
  funds_converted: 'outgoing_payment_sent',
  bounced_back: 'cancelled',
};

/** The next status by itself; undefined where there is none. */
function findNext({ books }: Simulation, transfer: Transfer): string | undefined {
  const { status, fundings, targetAccount } = transfer;
  const details = books.recipients.get(targetAccount)?.details ?? {};
  if (status === 'cancelled' && fundings > 0) return 'funds_refunded';
  if (status === 'outgoing_payment_sent' && isBouncing(details)) return 'bounced_back';
  return nextStatus[status];
}

function settle(simulation: Simulation, transfer: Transfer): void {
  const next = findNext(simulation, transfer);
  if (next !== undefined) simulation.move(transfer, next);
}

/** Returns how to end it. */
function repeat(act: () => Promise<void>, everyMs: number | undefined): () => Promise<void> {
  if (everyMs === undefined) return async () => undefined;
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= act().finally(() => {
      running = undefined;
    });
  }, everyMs);
  return async () => {
    clearInterval(timer);
    await running;
  };
}

type Place = {
  readonly simulation: Simulation;
  readonly state: State;
} & Pick<WiseOptions, 'onExchange' | 'onSilence'>;

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { simulation, state, onExchange, onSilence }: Place,
): Promise<void> {
  const { method = '', url = '/', headers } = request;
  const body = await readText(request);
  const fault = takeFault(state, `${method} ${url}`);
  if (fault?.kind === 'reset_before') return void response.destroy();
  const early = fault === undefined ? undefined : readFault(fault);
  const answer = early ?? handle({ method, url, headers, body }, { simulation, state });
  if (fault?.kind === 'reset_after') return void response.destroy();
  // The client's time-out ends the connection.
  if (fault?.kind === 'silent_after') return onSilence?.(`${method} ${url}`);
  if (fault?.kind === 'error_after') return void response.writeHead(500).end('Internal error');
  if (fault?.kind === 'garbage') return void response.writeHead(200).end('\u0000{]');
  const text = answer.body === undefined ? '' : JSON.stringify(answer.body);
  onExchange?.({ method, path: url, headers, body, status: answer.status, answer: text });
  response
    .writeHead(answer.status, {
      'content-type': 'application/json',
      'x-trace-id': randomUUID().replaceAll('-', ''),
      ...(answer.status === 429
        ? { 'retry-after': '1', 'x-rate-limited-by': 'wise-public-api' }
        : {}),
      ...answer.headers,
    })
    .end(text);
}

function takeFault(state: State, request: string): Fault | undefined {
  const fault = state.faults.find(
    ({ on, count, share = 1 }) =>
      on.test(request) && (count === undefined || count > 0) && Math.random() < share,
  );
  if (fault?.count !== undefined) fault.count -= 1;
  return fault;
}

/** Answers without anything being done. */
function readFault({ kind }: Fault): Answer | undefined {
  if (kind === 'error_before') return { status: 500, body: { error: 'Internal error' } };
  if (kind === 'maintenance') return { status: 503, body: { error: 'Under maintenance' } };
  if (kind === 'rate_limited') return { status: 429, body: {} };
  if (kind === 'forbidden') return { status: 403, body: { error: 'Forbidden' } };
  return undefined;
}

type Request = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};

const funding = /^\/v3\/profiles\/[^/]+\/(?:transfers|batch-payments)\/[^/]+\/payments$/;

function handle(
  request: Request,
  { simulation, state }: Pick<Place, 'simulation' | 'state'>,
): Answer {
  const { method, headers, body } = request;
  const { pathname, searchParams: query } = new URL(request.url, 'http://127.0.0.1');
  if (pathname === '/oauth/token') return grantToken(request, state);
  const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
  if (!state.tokens.has(token)) {
    return { status: 401, body: { error: 'invalid_token', error_description: 'Invalid token' } };
  }
  if (isTooFast(state)) return { status: 429, body: {} };
  const profileId = /^\/v\d\/profiles\/([^/]+)/.exec(pathname)?.[1];
  if (profileId !== undefined && profileId !== simulation.profileId) {
    return { status: 403, body: { error: 'Forbidden' } };
  }
  if (method === 'POST' && funding.test(pathname)) {
    const challenge = state.approvals?.challenge(headers);
    if (challenge !== undefined) return { status: 403, body: undefined, headers: challenge };
  }
  for (const [verb, path, handler] of [...operations, ...groupOperations]) {
    const match = verb === method ? path.exec(pathname) : null;
    if (match === null) continue;
    return handler({ simulation, params: match.slice(1), query, body: parseJson(body) });
  }
  return { status: 404, body: { error: 'Not found' } };
}

function grantToken({ headers, body }: Request, state: State): Answer {
  const basic = Buffer.from(`${client.id}:${client.secret}`).toString('base64');
  const form = new URLSearchParams(body);
  const isValid =
    headers.authorization === `Basic ${basic}` &&
    form.get('grant_type') === 'refresh_token' &&
    form.get('refresh_token') === client.refreshToken;
  if (!isValid)
    return { status: 401, body: { error: 'invalid_grant', error_description: 'Invalid' } };
  const accessToken = randomUUID();
  state.tokens.add(accessToken);
  return {
    status: 200,
    body: {
      access_token: accessToken,
      token_type: 'bearer',
      refresh_token: client.refreshToken,
      expires_in: 43_199,
      scope: 'transfers',
    },
  };
}

function isTooFast({ recent, perSecondMax }: State): boolean {
  const now = performance.now();
  while (recent[0] !== undefined && recent[0] < now - 1000) recent.shift();
  if (recent.length >= perSecondMax) return true;
  recent.push(now);
  return false;
}
