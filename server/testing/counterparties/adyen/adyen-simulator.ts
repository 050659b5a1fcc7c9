import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import type { Address } from '../../fault-proxy/fault-proxy.ts';
import { parseJson, readText } from '../read-request.ts';
import { type AdyenBooks, openAdyenBooks, type SimulatedTransfer } from './adyen-books.ts';
import {
  type Answer,
  type ApiSetup,
  createTransfer,
  decideTransfers,
  getBalanceAccount,
  getTransfer,
  listTransfers,
  refuse,
  unauthorizedOrder,
} from './api-handlers.ts';
import { countBalances, formatBalanceReport } from './balances.ts';
import { type Fault, simulatorOptionsSchema } from './simulator-options.ts';
import { createLifecycle, type ForcedEnd, type PlannedOutcome } from './transfer-lifecycle.ts';
import { createWebhookSender } from './webhook-sender.ts';

/**
 * A stateful Adyen for tests: orders under idempotency keys, transfers that go their way, webhooks
 * with HMAC signatures, reports, and faults. It moves no money.
 */

export type AdyenSimulator = {
  readonly address: Address;
  readonly books: AdyenBooks;
  /** Stronger than the patterns of the options. */
  expect(reference: string, plannedOutcome: PlannedOutcome): void;
  setOptions(changes: z.input<typeof simulatorOptionsSchema>): void;
  setWebhookUrl(url: string): void;
  setBalance(currency: string, balance: number): void;
  /** One step of every transfer, and the webhooks that are due. */
  advance(): Promise<void>;
  /** A transfer comes back, or fails, long after it was booked. */
  force(reference: string, status: 'returned' | 'failed', end?: Partial<ForcedEnd>): void;
  /** What the balance account of a recipient has got and kept. Minor units. */
  getWalletBalance(balanceAccountId: string): number;
  /** A Balance Report of this day, with its webhook. */
  publishBalanceReport(): string;
  close(): Promise<void>;
};

export type AdyenSimulatorOptions = {
  readonly port?: number;
  /** For books that survive a kill. */
  readonly folder?: string;
  readonly webhookUrl?: string;
  readonly apiKey: string;
  readonly webhookKey: string;
  readonly balanceAccountId: string;
  readonly nowMs?: () => number;
  readonly options?: z.input<typeof simulatorOptionsSchema>;
};

type World = ApiSetup & {
  readonly simulator: AdyenSimulatorOptions;
  readonly reports: Map<string, string>;
  readonly faultCounts: Map<Fault, number>;
  setOptions(changes: unknown): void;
  setWebhookUrl(url: string): void;
  force: AdyenSimulator['force'];
};

export async function openAdyenSimulator(
  simulator: AdyenSimulatorOptions,
): Promise<AdyenSimulator> {
  let options = simulatorOptionsSchema.parse(simulator.options ?? {});
  let { webhookUrl } = simulator;
  const nowMs = simulator.nowMs ?? Date.now;
  const books = openAdyenBooks(simulator.folder);
  const plannedOutcomes = new Map<string, PlannedOutcome>();
  const balances = countBalances(books);
  const sender = createWebhookSender({
    books,
    url: () => webhookUrl,
    key: simulator.webhookKey,
    options: () => options,
    nowMs,
    fetch,
  });
  const announce = sender.announceTransfer;
  const lifecycle = createLifecycle({
    books,
    options: () => options,
    nowMs,
    plannedOutcomes,
    balances,
    announce,
  });
  const force: AdyenSimulator['force'] = (reference, status, end = {}) => {
    for (const transfer of books.listPayments()) {
      if (transfer.reference !== reference) continue;
      lifecycle.force(transfer, { reason: 'counterpartyAccountClosed', ...end, status });
    }
  };
  const setOptions = (changes: unknown): void => {
    options = simulatorOptionsSchema.parse({ ...options, ...(changes as object) });
  };
  const world: World = {
    books,
    lifecycle,
    options: () => options,
    nowMs,
    balanceAccountId: simulator.balanceAccountId,
    balances,
    simulator,
    reports: new Map(),
    faultCounts: new Map(),
    setOptions,
    setWebhookUrl: (url) => {
      webhookUrl = url;
    },
    force,
  };
  const server = createServer((request, response) => {
    serve(world, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(simulator.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const advance = async (): Promise<void> => {
    lifecycle.advance();
    await sender.deliver();
  };
  const timers = startTimers(options.settleMs, lifecycle.advance, sender.deliver);
  return {
    address: { host: '127.0.0.1', port },
    books,
    expect: (reference, plannedOutcome) => void plannedOutcomes.set(reference, plannedOutcome),
    setOptions,
    setWebhookUrl: world.setWebhookUrl,
    setBalance: (currency, balance) => void balances.set(currency, { balance, reserved: 0 }),
    advance,
    force,
    getWalletBalance: (id) =>
      books
        .listPayments()
        .filter(({ order }) => order.counterparty.balanceAccountId === id)
        .filter(({ paidCount }) => paidCount > 0)
        .reduce((sum, { order, returnedValue }) => sum + order.amount.value - returnedValue, 0),
    publishBalanceReport: () => {
      const day = new Date(nowMs()).toISOString().slice(0, 10);
      const fileName = `balanceplatform_balance_report_${day.replaceAll('-', '_')}.csv`;
      world.reports.set(fileName, formatBalanceReport(world, day));
      const downloadUrl = `http://127.0.0.1:${port}/balanceplatform/reports/${fileName}`;
      const reportType = 'balanceplatform_balance_report';
      sender.announceReport({ fileName, reportType, downloadUrl });
      return fileName;
    },
    close: async () => {
      for (const timer of timers) clearInterval(timer);
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

function startTimers(
  settleMs: number,
  advance: () => void,
  deliver: () => Promise<void>,
): NodeJS.Timeout[] {
  if (settleMs === 0) return [];
  let isDelivering = false;
  const tick = (): void => {
    if (isDelivering) return;
    isDelivering = true;
    void deliver().finally(() => {
      isDelivering = false;
    });
  };
  return [setInterval(advance, settleMs), setInterval(tick, Math.min(settleMs, 50))];
}

type Operation = Fault['on'] | 'other';

async function serve(world: World, request: IncomingMessage, response: ServerResponse) {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const body = await readText(request);
  response.setHeader('date', new Date(world.nowMs()).toUTCString());
  if (url.pathname.startsWith('/control/') || url.pathname === '/records') {
    return writeAnswer(response, control(world, url.pathname, body), {});
  }
  const operation = nameOperation(request.method ?? '', url.pathname);
  const fault = chooseFault(world, operation);
  if (fault?.kind === 'delay') await sleep(fault.delayMs);
  if (await failBefore(fault, response)) return;
  const { answer, headers } = answerCall(world, { request, url, body, operation });
  return finish(response, fault, { answer, headers });
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function nameOperation(method: string, path: string): Operation {
  if (path.startsWith('/balanceplatform/reports/')) return 'report';
  if (path.startsWith('/bcl/v2/balanceAccounts/')) return 'balance';
  if (path === '/btl/v4/transfers') return method === 'POST' ? 'create' : 'list';
  if (path === '/btl/v4/transfers/cancel' || path === '/btl/v4/transfers/approve') return 'cancel';
  return path.startsWith('/btl/v4/transfers/') ? 'get' : 'other';
}

function chooseFault(world: World, operation: Operation): Fault | undefined {
  const { faults } = world.options();
  const chosen = faults.find((fault) => {
    const used = world.faultCounts.get(fault) ?? 0;
    if (fault.on !== operation || used >= (fault.count ?? Infinity)) return false;
    return fault.share >= 1 || Math.random() < fault.share;
  });
  if (chosen !== undefined) {
    world.faultCounts.set(chosen, (world.faultCounts.get(chosen) ?? 0) + 1);
  }
  return chosen;
}

/** True where the call ends before it has an effect. */
async function failBefore(fault: Fault | undefined, response: ServerResponse): Promise<boolean> {
  switch (fault?.kind) {
    case 'error_before':
      writeAnswer(response, refuse(500, '10_002'), {});
      return true;
    case 'busy':
      writeAnswer(response, refuse(503, '10_003'), { 'transient-error': 'true' });
      return true;
    case 'rate_limited':
      writeAnswer(response, refuse(429, '10_004'), { 'retry-after': '1' });
      return true;
    case 'reset_before':
      response.destroy();
      return true;
    case 'silent_before':
      return true;
    default:
      return false;
  }
}

type Headers = Record<string, string>;
type Called = { request: IncomingMessage; url: URL; body: string; operation: Operation };

function answerCall(world: World, called: Called): { answer: Answer; headers: Headers } {
  const { request, operation } = called;
  const plain = (answer: Answer) => ({ answer, headers: {} });
  if (world.options().isInMaintenance) {
    return { answer: refuse(503, '10_005'), headers: { 'transient-error': 'true' } };
  }
  if (request.headers['x-api-key'] !== world.simulator.apiKey) {
    return plain(operation === 'create' ? unauthorizedOrder : refuse(401, '00_401'));
  }
  const key = request.headers['idempotency-key'];
  if (request.method !== 'POST' || typeof key !== 'string') return plain(handle(world, called));
  if (key.length === 0 || key.length > 64) return plain(refuse(422, '702'));
  const headers = { 'idempotency-key': key };
  const stored = world.books.answers.get(key);
  if (stored !== undefined && world.nowMs() - stored.atMs < world.options().keyMs) {
    return { answer: { status: stored.status, body: JSON.parse(stored.body) }, headers };
  }
  const answer = world.books.keepTogether(() => {
    const made = handle(world, called);
    const body = JSON.stringify(made.body);
    world.books.keepAnswer({ key, atMs: world.nowMs(), status: made.status, body });
    return made;
  });
  return { answer, headers };
}

function handle(world: World, { url, body, operation }: Called): Answer {
  const id = decodeURIComponent(url.pathname.split('/').at(-1) ?? '');
  switch (operation) {
    case 'create':
      return createTransfer(world, parseJson(body));
    case 'list':
      return listTransfers(world, url.searchParams);
    case 'get':
      return getTransfer(world, id);
    case 'cancel':
      return decideTransfers(world, id === 'cancel' ? 'cancel' : 'approve', parseJson(body));
    case 'balance':
      return getBalanceAccount(world, id);
    case 'report': {
      const text = world.reports.get(id);
      return text === undefined ? refuse(404, '00_404') : { status: 200, body: text };
    }
    case 'other':
      return refuse(404, '00_404');
  }
}

function finish(
  response: ServerResponse,
  fault: Fault | undefined,
  { answer, headers }: { answer: Answer; headers: Headers },
): void {
  switch (fault?.kind) {
    case 'error_after':
      return writeAnswer(response, refuse(500, '10_002'), {});
    case 'reset_after':
      return void response.destroy();
    case 'silent_after':
      return;
    case 'garbage':
      return void response.writeHead(200).end('<html>\u0000 not JSON');
    case 'cut': {
      const text = JSON.stringify(answer.body);
      response.writeHead(answer.status, { 'content-length': String(text.length) });
      response.write(text.slice(0, text.length / 2), () => response.destroy());
      return;
    }
    case 'wrong_amount': {
      const text = JSON.stringify(answer.body).replaceAll(/"value":\d+/g, '"value":1');
      return writeAnswer(response, { ...answer, body: JSON.parse(text) }, headers);
    }
    default:
      return writeAnswer(response, answer, headers);
  }
}

function writeAnswer(response: ServerResponse, { status, body }: Answer, headers: Headers): void {
  const isText = typeof body === 'string';
  response
    .writeHead(status, { 'content-type': isText ? 'text/csv' : 'application/json', ...headers })
    .end(isText ? body : JSON.stringify(body));
}

const webhooksSchema = z.strictObject({ url: z.url() });
const forceSchema = z.strictObject({
  reference: z.string(),
  status: z.enum(['returned', 'failed']),
  value: z.int().min(1).optional(),
});

export type SimulatedRecord = Pick<
  SimulatedTransfer,
  'reference' | 'status' | 'paidCount' | 'returnedValue'
> & {
  readonly value: number;
  readonly currency: string;
};
export type AdyenRecords = {
  readonly transfers: readonly SimulatedRecord[];
  readonly pendingWebhooks: number;
};

/** Without a signature, for tests. */
function control(world: World, path: string, body: string): Answer {
  if (path === '/control/options') world.setOptions(parseJson(body));
  else if (path === '/control/webhooks') {
    world.setWebhookUrl(webhooksSchema.parse(parseJson(body)).url);
  } else if (path === '/control/force') {
    const { reference, status, value } = forceSchema.parse(parseJson(body));
    world.force(reference, status, { value });
  } else if (path === '/records') return { status: 200, body: listRecords(world.books) };
  else return refuse(404, '00_404');
  return { status: 200, body: {} };
}

export function listRecords(books: AdyenBooks): AdyenRecords {
  return {
    transfers: books
      .listPayments()
      .map(({ reference, status, paidCount, returnedValue, order }) => ({
        reference,
        status,
        paidCount,
        returnedValue,
        value: order.amount.value,
        currency: order.amount.currency,
      })),
    pendingWebhooks: books.webhooks.size,
  };
}
