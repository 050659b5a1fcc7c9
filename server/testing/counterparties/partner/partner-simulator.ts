import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import type { z } from 'zod';
import { createCallbackSender } from './callback-sender.ts';
import { control } from './control.ts';
import { handleRequest, type PartnerState } from './handlers.ts';
import { openPaymentBook } from './payment-book.ts';
import { createPaymentLifecycle } from './payment-lifecycle.ts';
import { sendAnswer } from './signed-answers.ts';
import type { PartnerHttpRequest } from './simulator-level.ts';
import { createSimulatorLevel, secretsSchema } from './simulator-level.ts';
import {
  type Fault,
  type SimulatorOptions,
  simulatorOptionsSchema,
  takeFault,
} from './simulator-options.ts';

/**
 * A simulator of a partner: a process of its own with its own payment book, which speaks the other
 * side of the protocol, pays each reference once, and injects faults on request. Start it with
 * `node partner-simulator.ts --port 0 --folder books --secret-file keys.json`; it prints one line of
 * JSON with its port when it listens. With `--attached` it ends when its standard input does, so that
 * it does not outlive the process that started it. Never for real money.
 */

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

async function receive(request: IncomingMessage): Promise<PartnerHttpRequest> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
  );
  const path = request.url ?? '/';
  const url = `http://${headers['host'] ?? ''}${path}`;
  return { method: request.method ?? 'GET', url, path, headers, body: Buffer.concat(parts) };
}

async function handle(
  partner: PartnerState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const received = await receive(request);
  const { path } = received;
  if (path === '/records' || path.startsWith('/control/')) {
    const { status, json } = control(partner, received);
    await partner.books.flushed();
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(json));
    return;
  }
  const on = nameRequest(received);
  const reference = path.split('/')[2] ?? '';
  if (on === 'put')
    partner.orderCounts.set(reference, (partner.orderCounts.get(reference) ?? 0) + 1);
  const fault = takeFault(partner.options, { on, reference });
  if (await breakBefore(fault, response)) return;
  const reply = isBusy(fault)
    ? { status: 503, json: { error: 'busy' }, createdS: Math.floor(partner.nowMs() / 1000) }
    : handleRequest(partner, received);
  // A booking is on the disk before it is answered.
  await partner.books.flushed();
  await sendAnswer({ partner, received, reply, fault }, response);
}

function nameRequest({ method, path }: PartnerHttpRequest): Exclude<Fault['on'], 'any'> {
  if (path === '/health') return 'health';
  if (path === '/capabilities') return 'capabilities';
  if (path === '/account-check') return 'account';
  if (path === '/balances') return 'balances';
  if (path === '/prices') return 'prices';
  if (path.startsWith('/batches/')) return method === 'PUT' ? 'batch' : 'batch_query';
  if (method === 'PUT') return 'put';
  return method === 'POST' ? 'cancel' : 'get';
}

function isBusy(fault: Fault | undefined): boolean {
  return fault?.kind === 'busy';
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
    case 'silent_before':
      return true;
    default:
      return false;
  }
}

export type PartnerSimulator = {
  readonly port: number;
  /** For tests in the same process. */
  readonly state: PartnerState;
  /** Stops it as it is, as SIGTERM does. */
  close(): Promise<void>;
};

export type OpeningOptions = {
  /** 0 for a free one. */
  port: number;
  /** Where its books are. */
  folder: string;
  secrets: z.input<typeof secretsSchema>;
  options: z.input<typeof simulatorOptionsSchema>;
};

export async function openPartnerSimulator(opening: OpeningOptions): Promise<PartnerSimulator> {
  const secrets = secretsSchema.parse(opening.secrets);
  const books = openPaymentBook(opening.folder);
  const level = createSimulatorLevel(secrets);
  const state: { options: SimulatorOptions } = {
    options: simulatorOptionsSchema.parse(opening.options),
  };
  const getOptions = (): SimulatorOptions => state.options;
  const callbackSender = createCallbackSender({ books, level, nowMs, getOptions });
  const lifecycle = createPaymentLifecycle({
    books,
    nowMs,
    getOptions,
    onEvent: callbackSender.wake,
  });
  const partner: PartnerState = Object.assign(state, {
    books,
    lifecycle,
    level,
    nowMs,
    orderCounts: new Map<string, number>(),
  });
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    handle(partner, request, response).catch(() => response.destroy());
  };
  const tls = 'light' in secrets ? secrets.light.tls : undefined;
  const server =
    tls === undefined
      ? createServer(listener)
      : createSecureServer(
          {
            cert: tls.certificate,
            key: tls.privateKey,
            ca: tls.clientAuthority,
            requestCert: true,
            rejectUnauthorized: true,
          },
          listener,
        );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(opening.port, '127.0.0.1', resolve);
  });
  lifecycle.resume();
  callbackSender.wake();
  return {
    port: (server.address() as AddressInfo).port,
    state: partner,
    close: async () => {
      lifecycle.stop();
      server.close();
      server.closeAllConnections();
      await callbackSender.stop();
      await books.close();
    },
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      folder: { type: 'string' },
      'secret-file': { type: 'string' },
      options: { type: 'string', default: '{}' },
      attached: { type: 'boolean', default: false },
    },
  });
  const { folder, 'secret-file': secretFile } = values;
  if (folder === undefined || secretFile === undefined) {
    throw new Error('--folder and --secret-file are required');
  }
  const { port, close } = await openPartnerSimulator({
    port: Number(values.port),
    folder,
    secrets: JSON.parse(readFileSync(secretFile, 'utf8')),
    options: JSON.parse(values.options),
  });
  process.stdout.write(`${JSON.stringify({ port })}\n`);
  if (values.attached) process.stdin.resume().once('close', () => process.exit());
  process.once('SIGTERM', () => void close());
}

if (import.meta.main) await main();
