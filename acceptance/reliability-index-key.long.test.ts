import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../server/testing/setups/database.ts';
import { openOwner } from '../server/testing/setups/owner-session.ts';
import {
  type Batch,
  countOf,
  csv,
  describeRows,
  type Sender,
  upload,
  uploadRows,
  writeCsv,
} from './batch-kit.ts';
import { waitUntil } from './idle-uploads.ts';
import { type Ended, runOutlay } from './outlay-process.ts';
import {
  attributePath,
  chooseValues,
  createPayout,
  createRecipient,
  createUser,
  deliveryCases,
  describePayout,
  describeUser,
  payoutPath,
  readAttributes,
} from './recipients.ts';
import { type Api, createAccount, ok, readBalance, type Service, startService } from './service.ts';
import { assertProblem } from './shapes.ts';

/** The index key is replaced in a pause; what clients find, repeat and resume is the same before and after. */

let database: TestDatabase;
let service: Service;
const folder = mkdtempSync(join(tmpdir(), 'outlay-index-key-'));

const start = (): Promise<Service> =>
  startService({
    isProcess: true,
    dataDirectory: folder,
    settings: { DATABASE_URL: database.url },
  });
const rotate = (): Promise<Ended> =>
  runOutlay({ dataDirectory: folder, settings: { DATABASE_URL: database.url } }, [
    'environment-key',
    'rotate-index',
    '--reason',
    'A test',
  ]);

before(async () => {
  database = await createTestDatabase();
  service = await start();
});
after(async () => {
  await service.stop();
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** Stops the service, replaces the key, and starts the service again. */
async function rotateInPause(): Promise<{ index_generation: number }> {
  await service.stop();
  const { exitCode, printed, complaint } = await rotate();
  assert.equal(exitCode, 0, complaint);
  service = await start();
  return JSON.parse(printed) as { index_generation: number };
}

type Row = Record<string, string>;

/** Everything that a keyed hash finds of one client, as the API shows it. */
async function openClient() {
  const { api, credentials } = await createAccount(service, { USD: '100000' });
  const person = {
    internal_user_id: `emp-${randomUUID()}`,
    first_name: 'Zoë',
    last_name: 'Äkäslompolo',
  };
  const recipient = await createRecipient(api, deliveryCases.bank, { person });
  const user = ok(await api.get<Row>(`/user/${recipient.userToken}`));
  const paying = { path: '', key: randomUUID(), text: '' };
  const quoting = { key: randomUUID(), text: '' };
  const body = describePayout(recipient, { metadata: { run: 'november' } });
  const quoted = await api.post<Row>(`/payout/${recipient.userToken}`, body, withKey(quoting.key));
  quoting.text = quoted.text;
  paying.path = payoutPath(recipient, ok(quoted)['payout_token'] ?? '');
  const committed = await api.put(paying.path, undefined, withKey(paying.key));
  ok(committed);
  paying.text = committed.text;
  const sender: Sender = { api, credentials, recipients: [recipient] };
  return { api, sender, recipient, user, body, quoting, paying };
}

const withKey = (key: string) => ({ 'idempotency-key': key });

type Client = Awaited<ReturnType<typeof openClient>>;

async function assertFound(api: Api, { recipient, user, quoting, paying, body }: Client) {
  const { userToken } = recipient;
  const { internal_user_id: id = '', email = '' } = user;
  const tokens = async (query: string): Promise<(string | undefined)[]> =>
    ok(await api.get<Row[]>(`/user?${query}`)).map((row) => row['user_token'] ?? row['token']);
  const own = [userToken];
  assert.deepEqual(await tokens(`internal_user_id=${encodeURIComponent(id)}`), own);
  assert.deepEqual(await tokens(`email=${encodeURIComponent(email.toUpperCase())}`), own);
  assert.deepEqual(await tokens('name=akas'), own);
  assert.deepEqual(await tokens('name=akasx'), []);
  for (const taken of [{ email }, { internal_user_id: id }]) {
    assertProblem(await api.post('/user', describeUser(taken)), 409, 'user_exists');
  }
  const paid = ok(await api.get<Row[]>('/payout?metadata[run]=november'));
  assert.equal(paid.length, 1);
  assert.deepEqual(ok(await api.get<Row[]>('/payout?metadata[run]=october')), []);
  const balance = await readBalance(api);
  const again = await api.put(paying.path, undefined, withKey(paying.key));
  assert.deepEqual([again.text, again.headers['idempotent-replayed']], [paying.text, 'true']);
  const quotedAgain = await api.post(`/payout/${userToken}`, body, withKey(quoting.key));
  assert.equal(quotedAgain.text, quoting.text);
  for (const key of [paying.key, quoting.key]) {
    const other = await api.post(
      `/payout/${userToken}`,
      { ...body, source_amount: 7 },
      withKey(key),
    );
    assertProblem(other, 422, 'idempotency_key_reused');
  }
  assert.equal(await readBalance(api), balance);
}

/** Values that are stored already keep their set. */
async function storeAgain({ api, recipient }: Pick<Client, 'api' | 'recipient'>): Promise<string> {
  const { userToken, payer, delivery } = recipient;
  const destination = {
    userToken,
    destinationToken: payer.destination_token,
    currency: delivery.currency,
  };
  const values = chooseValues(delivery, await readAttributes(api, destination));
  const stored = ok(await api.post<Row>(attributePath(destination), { values }));
  return stored['attr_set_token'] ?? '';
}

/** Sends the first lines of a file and breaks the connection when they are stored. */
async function breakUpload(api: Api, text: string, { key, count }: { key: string; count: number }) {
  const { hostname, port } = new URL(api.baseUrl);
  const first = text.split('\n').slice(0, count).join('\n');
  const sent = request({
    hostname,
    port,
    method: 'POST',
    path: '/v0.1.4/batches',
    headers: {
      ...csv,
      ...withKey(key),
      authorization: `Bearer ${api.token}`,
      'content-length': String(Buffer.byteLength(text)),
    },
  });
  sent.on('error', () => undefined);
  sent.write(`${first}\n`);
  const countStored = async (): Promise<string> => {
    const [batch] = ok(await api.get<Batch[]>('/batches'));
    return batch === undefined ? '' : countOf(batch, 'total');
  };
  await waitUntil(async () => (await countStored()) === '500');
  assert.equal(await countStored(), '500');
  sent.destroy();
}

test('what clients find, repeat and resume is the same before and after, for new rows too', async () => {
  const client = await openClient();
  const { api, sender } = client;
  await assertFound(api, client);
  const set = await storeAgain(client);
  const draft = await uploadRows(api, describeRows(sender, 2, { 'metadata.run': 'december' }));
  const file = writeCsv(describeRows(sender, 700));
  const key = randomUUID();
  await breakUpload(api, file, { key, count: 600 });
  const done = { key: randomUUID(), text: writeCsv(describeRows(sender, 2)), answer: '' };
  const received = await upload(api, done.text, { ...csv, ...withKey(done.key) });
  ok(received);

  for (const generation of [2, 3]) {
    const report = await rotateInPause();
    assert.equal(report.index_generation, generation);
    const later = new (api.constructor as typeof Api)(service.baseUrl, api.token);
    const resumed = { ...client, api: later };
    await assertFound(later, resumed);
    assert.equal(await storeAgain(resumed), set);
    const repeated = await upload(later, done.text, { ...csv, ...withKey(done.key) });
    assert.equal(repeated.text, received.text);
    const changed = await upload(later, done.text.replace('20.10', '20.11'), {
      ...csv,
      ...withKey(done.key),
    });
    assertProblem(changed, 422, 'idempotency_key_reused');
    await createUser(later);
    await createPayout(later, client.recipient);
    later.close();
  }
  const last = new (api.constructor as typeof Api)(service.baseUrl, api.token);
  const headers = { ...csv, ...withKey(key) };
  assertProblem(
    await upload(last, file.replace('20.10', '20.11'), headers),
    422,
    'idempotency_key_reused',
  );
  const whole = ok(await upload(last, file, headers));
  assert.equal(countOf(whole, 'total'), '700');
  ok(await last.post(`/batches/${draft.batch_token}/quote`, undefined));
  ok(await last.put(`/batches/${draft.batch_token}`, { mode: 'all' }));
  await waitUntil(async () => {
    const rows = ok(await last.get<Row[]>('/payout?metadata[run]=december'));
    return rows.length === 2;
  });
  assert.equal(ok(await last.get<Row[]>('/payout?metadata[run]=december')).length, 2);
  last.close();
});

test('a process that runs keeps the key, is named, and one that starts meanwhile says so', async () => {
  const refused = await rotate();
  assert.equal(refused.exitCode, 1);
  assert.match(
    refused.complaint,
    new RegExp(
      `processes use this database: outlay all \\(${service.process?.pid} on [^)]+\\).*; stop them`,
    ),
  );
  assert.equal(refused.printed, '');
  await createUser(service.demo);

  await service.stop();
  const owner = openOwner(database.url);
  await owner.transaction(async (session) => {
    const text = `select pg_advisory_xact_lock(hashtext('outlay index key'), 0)`;
    await session.query({ name: '', text });
    // Stopped where it starts nevertheless, or this file would not end.
    const started = start().then((wrong) => wrong.stop());
    await assert.rejects(
      started,
      /staging: the index key is being replaced: start again when environment-key rotate-index has ended/,
    );
  });
  await owner.close();
  service = await start();
});

/** As the administrator of the server. */
async function ask(text: string): Promise<unknown[]> {
  const { session, close } = openOwner(database.url);
  const { rows } = await session.query({ name: '', text });
  await close();
  return rows;
}

const waiting = `
  from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    and query ~ 'rate_limit_use'`;

test('a rotation that is killed half-way has changed nothing', async () => {
  const client = await openClient();
  await service.stop();
  const owner = openOwner(database.url);
  await owner.transaction(async (session) => {
    // The last table of the rotation: it waits there until it is killed.
    await session.query({ name: '', text: 'lock table rate_limit_use in share mode' });
    const rotation = rotate();
    await waitUntil(async () => (await ask(`select 1 ${waiting}`)).length > 0);
    const ended = await ask(`select pg_terminate_backend(pid) ${waiting}`);
    const { exitCode, complaint } = await rotation;
    assert.deepEqual([exitCode, ended.length], [1, 1], complaint);
  });
  await owner.close();
  service = await start();
  const later = service.demo.withToken(client.api.token);
  await assertFound(later, client);
  later.close();
});

test('a process that slept through the rotation cannot write, and ends', async () => {
  const child = service.process ?? assert.fail('the service is a process');
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGSTOP');
  try {
    assert.equal((await rotate()).exitCode, 1, 'a process that sleeps holds the key');
    // As a server does whose client's host was cut off.
    await ask(`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like 'outlay all%'`);
    const { exitCode, complaint } = await rotate();
    assert.equal(exitCode, 0, complaint);
  } finally {
    child.kill('SIGCONT');
  }
  const made = await service.demo.post('/user', describeUser()).catch(() => undefined);
  assert.notEqual(made?.status, 200);
  await ended;
  assert.equal(child.exitCode, 1, service.output());
  assert.match(service.output(), /the index key was replaced: this process must be started again/);
  service = await start();
  await createUser(service.demo);
});
