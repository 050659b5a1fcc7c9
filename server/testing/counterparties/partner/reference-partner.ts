import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import {
  createSigningKey,
  createVerifyingKeys,
  signingKeySchema,
  verifyingKeySchema,
} from '../../../src/rails/partner/signatures.ts';
import { sendAnswer } from './reference-answer.ts';
import { openBooks } from './reference-books.ts';
import { createCourier } from './reference-callbacks.ts';
import { control } from './reference-control.ts';
import { decide, type Partner, type Received } from './reference-desk.ts';
import { type Fault, type Knobs, knobsSchema, takeFault } from './reference-knobs.ts';
import { createLife } from './reference-life.ts';

/**
 * A partner as one could be: a process of its own with its own books, which speaks the protocol's
 * other side, pays each reference once, and misbehaves on request. Run it by
 * `node reference-partner.ts --port 0 --folder books --secret-file keys.json`; it writes one line
 * of JSON with its port when it listens. With `--attached` it ends when its standard input does, so
 * that it does not outlive who started it. Never for real money.
 */

const secretsSchema = z.strictObject({
  outlayKeys: z.array(verifyingKeySchema).min(1),
  partnerKey: signingKeySchema,
});

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

async function receive(request: IncomingMessage): Promise<Received> {
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
  partner: Partner,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const received = await receive(request);
  const { path } = received;
  if (path === '/judge' || path.startsWith('/control/')) {
    const { status, json } = control(partner, received);
    await partner.books.flushed();
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(json));
    return;
  }
  const on = nameRequest(received);
  const reference = path.split('/')[2] ?? '';
  if (on === 'put') partner.seen.set(reference, (partner.seen.get(reference) ?? 0) + 1);
  const fault = takeFault(partner.knobs, { on, reference });
  if (await breakBefore(fault, response)) return;
  const reply = isBusy(fault)
    ? { status: 503, json: { error: 'busy' }, createdS: Math.floor(partner.nowMs() / 1000) }
    : decide(partner, received);
  // What is answered for is on the disk before.
  await partner.books.flushed();
  await sendAnswer({ partner, received, reply, fault }, response);
}

function nameRequest({ method, path }: Received): Exclude<Fault['on'], 'any'> {
  if (path === '/health') return 'health';
  if (method === 'PUT') return 'put';
  return method === 'POST' ? 'cancel' : 'get';
}

function isBusy(fault: Fault | undefined): boolean {
  return fault?.kind === 'busy';
}

/** Whether that was all. */
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

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      folder: { type: 'string' },
      'secret-file': { type: 'string' },
      knobs: { type: 'string', default: '{}' },
      attached: { type: 'boolean', default: false },
    },
  });
  const { folder, 'secret-file': secretFile } = values;
  if (folder === undefined || secretFile === undefined) {
    throw new Error('--folder and --secret-file are needed');
  }
  const secrets = secretsSchema.parse(JSON.parse(readFileSync(secretFile, 'utf8')));
  const books = openBooks(folder);
  const key = createSigningKey(secrets.partnerKey);
  const state: { knobs: Knobs } = { knobs: knobsSchema.parse(JSON.parse(values.knobs)) };
  const courier = createCourier({ books, key, nowMs, knobs: () => state.knobs });
  const life = createLife({ books, nowMs, knobs: () => state.knobs, onEvent: courier.wake });
  const outlayKeys = createVerifyingKeys(secrets.outlayKeys);
  const partner: Partner = Object.assign(state, {
    books,
    life,
    outlayKeys,
    key,
    nowMs,
    seen: new Map<string, number>(),
  });
  const server = createServer((request, response) => {
    handle(partner, request, response).catch(() => response.destroy());
  });
  server.listen(Number(values.port), '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    process.stdout.write(`${JSON.stringify({ port })}\n`);
    life.resume();
    courier.wake();
  });
  if (values.attached) process.stdin.resume().once('close', () => process.exit());
  process.once('SIGTERM', () => {
    life.stop();
    server.close();
    server.closeAllConnections();
    void courier.stop().then(books.close);
  });
}

await main();
