import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { upload } from './batch-kit.ts';
import { createLiveAccount } from './commands.ts';
import {
  assertTakesBatch,
  assertTakesImages,
  csv,
  type Idle,
  isAnswered,
  type Line,
  openIdle,
  openMany,
  readLink,
  waitUntil,
} from './idle-uploads.ts';
import { createUser } from './recipients.ts';
import { type Account, type Api, createAccount, type Service, startService } from './service.ts';
import { assertProblem } from './shapes.ts';
import { createDatabases, type TestDatabase } from './test-database.ts';

/** Clients that announce a large body and hardly send any of it. */

const onLive = { host: 'api.example.test' };

let dataDirectory: string;
let databases: TestDatabase;
let service: Service;
let live: Api;
let tenantA: Account;
let tenantB: Account;

before(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), 'outlay-uploads-'));
  databases = await createDatabases();
  const settings = { OUTLAY_ENVIRONMENTS: 'staging,live', ...databases.settings };
  const made = await createLiveAccount({ dataDirectory, settings });
  service = await startService({ isOwn: true, dataDirectory, settings });
  live = service.demo.withToken(made['api_key'] ?? '');
  tenantA = await createAccount(service, { USD: '10000' });
  tenantB = await createAccount(service);
});
after(async () => {
  await service.stop();
  await databases.drop();
  await rm(dataDirectory, { recursive: true });
});

test('a link that receives images uses one slot, and none of another tenant', async () => {
  const { link } = await readLink(tenantA);
  await using held = await openMany(service.baseUrl, {
    count: 12,
    line: { path: link },
    refused: 11,
  });
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
    const idles = await Promise.all(lines.map((line) => openIdle(service.baseUrl, line)));
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
  await using images = await openMany(service.baseUrl, {
    count: 12,
    line: { path, token: credentials.api_key },
  });
  assert.ok(images.idles.some(({ received }) => received().startsWith('HTTP/1.1 503')));
  await assertTakesImages(tenantB.api);
  await assertTakesBatch(api);
  const line = { path: '/v0.1.4/batches', contentType: 'text/csv' };
  await using batches = await openMany(service.baseUrl, {
    count: 12,
    line: { ...line, token: credentials.api_key },
  });
  assert.ok(batches.idles.some(({ received }) => received().startsWith('HTTP/1.1 503')));
  await assertTakesBatch(tenantB.api);
});

test('idle uploads in staging do not block live', async () => {
  const tenants = await Promise.all(Array.from({ length: 8 }, () => createAccount(service)));
  await using stack = new AsyncDisposableStack();
  const idles: Idle[] = [];
  for (const { credentials } of tenants) {
    const line = { path: '/v0.1.4/batches', contentType: 'text/csv' };
    const opened = stack.use(
      await openMany(service.baseUrl, {
        count: 4,
        line: { ...line, token: credentials.api_key },
        refused: 0,
      }),
    );
    idles.push(...opened.idles);
  }
  // An environment has 16 slots.
  await waitUntil(async () => idles.filter(isAnswered).length >= 16);
  assertProblem(await upload(tenantB.api, csv), 503, 'unavailable');
  await assertTakesBatch(live, onLive);
});
