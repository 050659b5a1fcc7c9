import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { type MailServerOptions, startMailServer } from '../../testing/setups/mail.ts';
import { readSmtpServer } from '../core/smtp-server.ts';
import type { Notice } from './channel.ts';
import { openCulture } from './culture.ts';
import { checkSmtp, createEmailChannel, type EmailOptions } from './email.ts';
import { openTemplates } from './templates.ts';

/** The way to the mail server: TLS, login, what is final and what is not. */

let folder: string;
let key: string;
let cert: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outlay-mail-'));
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  await promisify(execFile)('openssl', [
    ...'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost'.split(' '),
    '-addext',
    'subjectAltName=DNS:localhost,IP:127.0.0.1',
    '-keyout',
    keyFile,
    '-out',
    certFile,
  ]);
  [key, cert] = await Promise.all([readFile(keyFile, 'utf8'), readFile(certFile, 'utf8')]);
});
after(() => rm(folder, { recursive: true }));

const templates = openTemplates(undefined);
const login = { user: 'outlay', pass: 'p@ss/word' };
const culture = openCulture({ language: 'ja', country: 'JP', timeZone: 'Asia/Tokyo' });
const notice: Notice = {
  id: '0198f0f4-0000-7000-8000-000000000001',
  recipientName: '山田花子',
  email: 'hanako@example.jp',
  mobileNumber: '',
  composition: {
    template: templates.choose('ja', 'completed').template,
    values: { sender: 'Aurelia\r\nBcc: x@example.org', amount: '￥1,500', recipient: '山田花子' },
    culture,
    environment: 'live',
  },
  brand: { color: '#7a1fa2', logo: Buffer.from('89504e47', 'hex') },
};
const never = new AbortController().signal;

type Security = EmailOptions['server']['security'];
const send = async (
  port: number,
  security: Security,
  changes: { ca?: string; pass?: string; timeoutMs?: number } = {},
) => {
  const { pass = login.pass, ...options } = changes;
  const courier = createEmailChannel({
    server: { host: '127.0.0.1', port, security, login: { ...login, pass } },
    from: 'no-reply@outlay.example',
    layout: templates.layout,
    timeoutMs: 30_000,
    ...options,
  }).open();
  try {
    return await courier.send(notice, never);
  } finally {
    courier.close();
  }
};

const withLogin = (server: MailServerOptions['server']): MailServerOptions => ({
  server: {
    authOptional: false,
    disabledCommands: [],
    onAuth: ({ username, password }, _session, done) =>
      username === login.user && password === login.pass
        ? done(null, { user: username })
        : done(new Error('wrong')),
    ...server,
  },
});

test('STARTTLS is required, and the certificate is checked', async () => {
  await using server = await startMailServer(withLogin({ key, cert, hideSTARTTLS: false }));
  assert.deepEqual(await send(server.port, 'starttls', { ca: cert }), { kind: 'sent' });
  const untrusted = await send(server.port, 'starttls');
  assert.equal(untrusted.kind, 'delayed');
  await using plain = await startMailServer();
  const refused = await send(plain.port, 'starttls', { ca: cert });
  assert.ok(refused.kind === 'delayed' && refused.isChannelDown);
  assert.equal(plain.tries.length, 0);
});

test('TLS from the start', async () => {
  await using server = await startMailServer(withLogin({ secure: true, key, cert }));
  assert.deepEqual(await send(server.port, 'tls', { ca: cert }), { kind: 'sent' });
  const [mail] = server.mails;
  assert.equal(mail?.messageId, `<${notice.id}@outlay.example>`);
  assert.match(mail.subject ?? '', /￥1,500/);
  // No line of a name becomes a header.
  assert.deepEqual(mail.headers.has('bcc'), false);
  assert.deepEqual(mail.envelope.to, ['hanako@example.jp']);
  assert.equal(mail.attachments[0]?.contentType, 'image/png');
  assert.match(String(mail.html), /<html lang="ja" dir="ltr">/);
});

test('a wrong password delays all notices, and refuses none', async () => {
  await using server = await startMailServer(withLogin({ secure: true, key, cert }));
  const outcome = await send(server.port, 'tls', { ca: cert, pass: 'wrong' });
  assert.deepEqual(outcome, {
    kind: 'delayed',
    reason: 'the server answered 535 at AUTH PLAIN',
    isChannelDown: true,
    retryAfterMs: 0,
  });
});

test('a server that never greets is left in time', async () => {
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as { port: number };
  const outcome = await send(port, 'none', { timeoutMs: 20 });
  assert.ok(outcome.kind === 'delayed' && outcome.isChannelDown);
  silent.close();
});

test('the check of the doctor logs in and sends nothing', async () => {
  await using server = await startMailServer(withLogin({ secure: true, key, cert }));
  const to = (pass: string) => ({
    server: { host: '127.0.0.1', port: server.port, security: 'tls', login: { ...login, pass } },
    ca: cert,
  });
  await checkSmtp(to(login.pass) as Parameters<typeof checkSmtp>[0]);
  await assert.rejects(checkSmtp(to('wrong') as Parameters<typeof checkSmtp>[0]), /535/);
  assert.equal(server.tries.length, 0);
});

test('the URL of a mail server', () => {
  assert.deepEqual(readSmtpServer('smtp://a%40b:p%2Fw@mail.example.com'), {
    host: 'mail.example.com',
    port: 587,
    security: 'starttls',
    login: { user: 'a@b', pass: 'p/w' },
  });
  assert.deepEqual(readSmtpServer('smtps://mail.example.com'), {
    host: 'mail.example.com',
    port: 465,
    security: 'tls',
    login: undefined,
  });
  assert.equal(readSmtpServer('smtp://127.0.0.1:25')?.security, 'none');
  assert.equal(readSmtpServer('smtp://[::1]:25')?.host, '::1');
  const texts = ['mail.example.com', 'http://x', 'smtp://', 'smtp://x/y', 'smtp://u:%zz@x'];
  for (const wrong of [...texts, 'smtps://%ff:p@x']) {
    assert.equal(readSmtpServer(wrong), undefined, wrong);
  }
});
