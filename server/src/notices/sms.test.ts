import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import type { Notice } from './channel.ts';
import { openCulture } from './culture.ts';
import { createSmsChannel, readSmsProvider } from './sms.ts';
import { openTemplates } from './templates.ts';

const notice: Notice = {
  id: '0198f0f4-0000-7000-8000-000000000002',
  recipientName: 'Ana Gómez',
  email: 'ana@example.org',
  mobileNumber: '525512345678',
  composition: {
    template: openTemplates(undefined).choose('es', 'ready_for_pickup').template,
    values: { sender: 'Aurelia', amount: '$100.00', payer: 'Elektra', pickup_code: '12345678' },
    culture: openCulture({ language: 'es', country: 'MX', timeZone: 'America/Mexico_City' }),
    environment: 'live',
  },
  brand: { color: '', logo: Buffer.alloc(0) },
};
const token = 'secret-token';

type Request = { path: string; headers: IncomingHttpHeaders; body: string };
type Reply = { status: number; headers?: Record<string, string> };

async function exchange(reply: Reply | 'hang', changes: Partial<Notice> = {}) {
  const requests: Request[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      requests.push({ path: request.url ?? '', headers: request.headers, body });
      if (reply !== 'hang') response.writeHead(reply.status, reply.headers).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const courier = createSmsChannel({
    provider: { url: `http://127.0.0.1:${port}/messages`, token },
    realNowMs: Date.now,
    steadyMs: () => performance.now(),
    timeoutMs: reply === 'hang' ? 200 : 30_000,
  }).open();
  const outcome = await courier.send({ ...notice, ...changes }, new AbortController().signal);
  courier.close();
  server.closeAllConnections();
  server.close();
  return { outcome, requests };
}

test('the provider gets number, text and language, with token, key and signature', async () => {
  const { outcome, requests } = await exchange({ status: 202 });
  assert.deepEqual(outcome, { kind: 'sent' });
  const [{ path, headers, body } = assert.fail()] = requests;
  assert.equal(path, '/messages');
  assert.equal(headers.authorization, 'Bearer secret-token');
  assert.equal(headers['idempotency-key'], notice.id);
  assert.deepEqual(JSON.parse(body), {
    id: notice.id,
    to: '+525512345678',
    text: '$100.00 de Aurelia: listo para retirar en Elektra. Código: 12345678. Lleve un documento de identidad.',
    language: 'es',
  });
  const secret = Buffer.from(token).toString('base64');
  new Webhook(secret).verify(body, headers as Record<string, string>);
});

test('400 and 422 are final; every other failure is tried again', async () => {
  for (const status of [400, 422]) {
    assert.deepEqual((await exchange({ status })).outcome, {
      kind: 'refused',
      reason: `the provider: status ${status}`,
    });
  }
  for (const status of [302, 401, 404, 409, 500, 503]) {
    const { outcome } = await exchange({ status });
    assert.ok(outcome.kind === 'delayed' && outcome.isChannelDown, String(status));
  }
  const busy = await exchange({ status: 429, headers: { 'retry-after': '120' } });
  assert.ok(busy.outcome.kind === 'delayed');
  assert.equal(busy.outcome.retryAfterMs, 120_000);
});

test('a provider that hangs is left in time', async () => {
  const { outcome } = await exchange('hang');
  assert.ok(outcome.kind === 'delayed');
  assert.match(outcome.reason, /no answer within/);
});

test('a recipient without a number is skipped', async () => {
  const { outcome, requests } = await exchange({ status: 200 }, { mobileNumber: '' });
  assert.equal(outcome.kind, 'skipped');
  assert.deepEqual(requests, []);
});

test('the URL has the token, and leads neither into the network nor over plain HTTP', () => {
  assert.deepEqual(readSmsProvider('https://:to%2Fken@sms.example.com/v1?x=1'), {
    url: 'https://sms.example.com/v1?x=1',
    token: 'to/ken',
  });
  assert.deepEqual(readSmsProvider('http://:t@127.0.0.1:9000/'), {
    url: 'http://127.0.0.1:9000/',
    token: 't',
  });
  for (const [wrong, fault] of [
    ['x', /must be a URL/],
    ['https://sms.example.com', /must have a token/],
    ['https://user:t@sms.example.com', /must have a token/],
    ['http://:t@sms.example.com', /must begin with https/],
    ['https://:t@10.0.0.1/', /private or reserved/],
    ['https://:t@0x0a000001/', /private or reserved/],
    ['https://:t@169.254.169.254/', /private or reserved/],
  ] as const) {
    const read = readSmsProvider(wrong);
    assert.ok(typeof read === 'string');
    assert.match(read, fault);
  }
});
