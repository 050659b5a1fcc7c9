import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { upload } from './batch-kit.ts';
import { createLiveOwner, runCommand } from './commands.ts';
import {
  commitPayout,
  createPayout,
  createUser,
  deliveryCases,
  fillAttributes,
  findPayer,
  type Recipient,
  readAttributes,
} from './recipients.ts';
import {
  type Account,
  type Api,
  createAccount,
  type Headers,
  ok,
  type Service,
  startService,
} from './service.ts';
import { assertProblem } from './shapes.ts';

/** Clients that announce a large body and hardly send any of it. */

const onLive = { host: 'api.example.test' };
const settings = { OUTLAY_ENVIRONMENTS: 'staging,live' };

let dataDirectory: string;
let service: Service;
let live: Api;
let tenantA: Account;
let tenantB: Account;

before(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), 'outlay-uploads-'));
  const words = ['account', 'create', '--environment', 'live', '--name', 'Live'];
  const owner = await createLiveOwner({ dataDirectory, settings });
  const made = await runCommand({ dataDirectory, settings: { ...settings, ...owner } }, words);
  service = await startService({ isEmbedded: true, dataDirectory, settings });
  live = service.demo.withToken(made['api_key'] ?? '');
  tenantA = await createAccount(service, { USD: '10000' });
  tenantB = await createAccount(service);
});
after(async () => {
  await service.stop();
  await rm(dataDirectory, { recursive: true });
});

type Line = { path: string; token?: string; contentType?: string; host?: string };

type Idle = {
  socket: Socket;
  /** All bytes from the service. */
  received: () => string;
  closed: Promise<void>;
};

/** Announces 30 MB of a body and sends one byte of it. */
async function openIdle({ path, token, contentType, host }: Line): Promise<Idle> {
  const { hostname, port } = new URL(service.baseUrl);
  const socket = connect({ host: hostname, port: Number(port) });
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: ${host ?? hostname}`,
    `Content-Type: ${contentType ?? 'application/json'}`,
    'Content-Length: 30000000',
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n[`);
  return { socket, received: () => text, closed };
}

/** For as long as a service may take for it on a busy machine; what follows asserts it. */
async function waitUntil(holds: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + 10_000;
  while (!(await holds()) && performance.now() < endMs) await sleep(10);
}

/** Opens so many, of which at least `refused` are answered at once: the others hold their slots then. */
async function openMany(
  count: number,
  line: Line,
  refused = 1,
): Promise<AsyncDisposable & { idles: Idle[] }> {
  const idles = await Promise.all(Array.from({ length: count }, () => openIdle(line)));
  await waitUntil(async () => idles.filter(isAnswered).length >= refused);
  return {
    idles,
    [Symbol.asyncDispose]: async () => {
      for (const { socket } of idles) socket.destroy();
      await Promise.all(idles.map(({ closed }) => closed));
    },
  };
}

const isAnswered = ({ received }: Idle): boolean => received() !== '';

async function closesWithin({ closed }: Idle, limitMs: number): Promise<boolean> {
  return Promise.race([closed.then(() => true), sleep(limitMs, false, { ref: false })]);
}

const csv =
  'client_transfer_id,destination_token,destination_currency_code,source_amount,user_token\r\n,,,,';

async function assertTakesBatch(api: Api, headers: Headers = {}): Promise<void> {
  const sent = { 'content-type': 'text/csv', ...(headers as Record<string, string>) };
  const reply = await upload(api, csv, sent);
  assert.equal(reply.status, 200, reply.text);
}

/** A body that is read and refused shows that the upload was admitted. */
async function assertTakesImages(api: Api): Promise<void> {
  const userToken = await createUser(api);
  assertProblem(await api.post(`/user/${userToken}/kyc/id`, []), 400);
}

async function readLink({ api }: Account): Promise<{ link: string; userToken: string }> {
  const userToken = await createUser(api);
  const payer = await findPayer(api, deliveryCases.cash, 'amount=1500');
  const attrSetToken = await fillAttributes(api, {
    userToken,
    payer,
    delivery: deliveryCases.cash,
  });
  const recipient: Recipient = { userToken, payer, delivery: deliveryCases.cash, attrSetToken };
  const payout = await createPayout(api, recipient, { source_amount: 1500 });
  await commitPayout(api, recipient, payout['payout_token']);
  const attributes = await readAttributes(api, {
    userToken,
    destinationToken: payer.destination_token,
    currency: 'MXN',
  });
  const selfie = attributes.find(({ type }) => type === 'IDSelfieCollection');
  return { link: new URL(String(selfie?.value)).pathname, userToken };
}

test('a link that receives images uses one slot, and none of another tenant', async () => {
  const { link } = await readLink(tenantA);
  await using held = await openMany(12, { path: link }, 11);
  const refused = held.idles.filter(({ received }) => received().startsWith('HTTP/1.1 503'));
  assert.equal(refused.length, 11);
  await assertTakesImages(tenantB.api);
  await assertTakesImages(tenantA.api);
  await assertTakesBatch(tenantB.api);
});

test('disconnected uploads free their slots', async () => {
  const { link } = await readLink(tenantA);
  const { credentials, api } = tenantA;
  const userToken = await createUser(api);
  const lines: Line[] = [
    { path: link },
    { path: `/v0.1.4/user/${userToken}/kyc/id`, token: credentials.api_key },
  ];
  for (let round = 0; round < 40; round += 1) {
    const idles = await Promise.all(lines.map(openIdle));
    await sleep(round % 4);
    for (const { socket } of idles) socket.destroy();
  }
  for (const path of [`/user/${userToken}/kyc/id`, link]) {
    // The service may read a request long after its client has gone, and takes its slot again.
    let admitted = 0;
    await waitUntil(async () => {
      const { status } = await api.post(path, []);
      admitted = status === 400 ? admitted + 1 : 0;
      return admitted === 20;
    });
    assert.equal(admitted, 20, path);
  }
});

test('idle uploads of one tenant do not block other tenants or kinds of upload', async () => {
  const { credentials, api } = tenantA;
  const userToken = await createUser(api);
  const path = `/v0.1.4/user/${userToken}/kyc/id`;
  await using images = await openMany(12, { path, token: credentials.api_key });
  assert.ok(images.idles.some(({ received }) => received().startsWith('HTTP/1.1 503')));
  await assertTakesImages(tenantB.api);
  await assertTakesBatch(api);
  const line = { path: '/v0.1.4/batches', contentType: 'text/csv' };
  await using batches = await openMany(12, { ...line, token: credentials.api_key });
  assert.ok(batches.idles.some(({ received }) => received().startsWith('HTTP/1.1 503')));
  await assertTakesBatch(tenantB.api);
});

test('idle uploads in staging do not block live', async () => {
  const tenants = await Promise.all(Array.from({ length: 8 }, () => createAccount(service)));
  await using stack = new AsyncDisposableStack();
  const idles: Idle[] = [];
  for (const { credentials } of tenants) {
    const line = { path: '/v0.1.4/batches', contentType: 'text/csv' };
    const opened = stack.use(await openMany(4, { ...line, token: credentials.api_key }, 0));
    idles.push(...opened.idles);
  }
  // An environment has 16 slots.
  await waitUntil(async () => idles.filter(isAnswered).length >= 16);
  assertProblem(await upload(tenantB.api, csv), 503, 'unavailable');
  await assertTakesBatch(live, onLive);
});

describe('connections that send hardly anything', { concurrency: true }, () => {
  test('a used verification link uses no upload slot, and its connection is closed', async () => {
    const { link, userToken } = await readLink(tenantA);
    ok(await tenantA.api.post(`/sandbox/kyc/${userToken}`, { decision: 'approved' }));
    await using held = await openMany(12, { path: link }, 12);
    for (const idle of held.idles) assert.match(idle.received(), /^HTTP\/1\.1 409 /);
    await assertTakesBatch(tenantB.api);
    await assertTakesImages(tenantB.api);
    await assertTakesImages(tenantA.api);
    for (const idle of held.idles) assert.ok(await closesWithin(idle, 15_000));
  });

  test('a body below the minimum rate is 408, and its connection is closed', async () => {
    const { credentials, api } = tenantA;
    const userToken = await createUser(api);
    const token = credentials.api_key;
    const lines: Line[] = [
      { path: '/v0.1.4/batches', contentType: 'text/csv', token },
      { path: `/v0.1.4/user/${userToken}/kyc/id`, token },
    ];
    await Promise.all(
      lines.map(async (line) => {
        const idle = await openIdle(line);
        const trickle = setInterval(() => idle.socket.write('x'), 500);
        assert.ok(await closesWithin(idle, 25_000), line.path);
        clearInterval(trickle);
        assert.match(idle.received(), /^HTTP\/1\.1 408 /, line.path);
        assert.match(idle.received(), /\r\nconnection: close\r\n/i);
      }),
    );
    await assertTakesBatch(api);
  });

  test('an anonymous connection with a refused body is closed', async () => {
    const refused = ['/v0.1.4/batches', '/v0.1.4/user', '/nowhere', '/health/live'];
    await Promise.all(
      refused.map(async (path) => {
        const idle = await openIdle({ path });
        const trickle = setInterval(() => idle.socket.write('x'), 500);
        assert.ok(await closesWithin(idle, 15_000), path);
        clearInterval(trickle);
        assert.match(idle.received(), /^HTTP\/1\.1 4\d\d /, path);
      }),
    );
  });
});
