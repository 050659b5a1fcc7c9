import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { after, before, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ExactNumber } from './exact.ts';
import { createUser } from './recipients.ts';
import { advance, createAccount, fund, ok, type Service, startService } from './service.ts';
import { assertProblem } from './shapes.ts';
import {
  createEndpoint,
  type Delivery,
  type Endpoint,
  eventually,
  listDeliveries,
  pathOf,
  readEndpoint,
  sequencesOf,
  startClient,
  verifyWith,
} from './webhook-kit.ts';
import { type Received, startReceiver, webhookSettings } from './webhook-receiver.ts';

/** Webhooks: signatures, filters, rotation, tests, the log, replays. */

let service: Service;
before(async () => {
  service = await startService({ settings: webhookSettings });
});
after(() => service.stop());

test('every event arrives signed, as the event feed has it', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  const endpoint = await createEndpoint(api, receiver);
  assert.match(endpoint.secret, /^whsec_/);
  await createUser(api);
  await fund(api, 'EUR', '12.50');
  await receiver.until(() => receiver.received.length >= 2, 'two events');
  const events = JSON.parse((await api.get('/events?after=0')).text) as {
    sequence: number;
    type: string;
    created_on: string;
    data: unknown;
  }[];
  for (const received of receiver.received) {
    const body = verifyWith(endpoint.secret, received) as Received['body'];
    const event = events.find(({ sequence }) => sequence === body.sequence);
    assert.deepEqual(
      { type: body.type, timestamp: body.timestamp, data: body.data },
      { type: event?.type, timestamp: `${event?.created_on}Z`, data: event?.data },
    );
    assert.equal(received.headers['content-type'], 'application/json');
    assert.doesNotMatch(String(received.headers['webhook-id']), /\./);
  }
  // Events of different objects may overtake each other.
  assert.deepEqual(
    new Set(receiver.received.map(({ body }) => body.type)),
    new Set(['user.created', 'balance.funded']),
  );
});

test('messages are as the OpenAPI document describes them', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  const endpoint = await createEndpoint(api, receiver);
  await createUser(api);
  await fund(api, 'EUR', '12.50');
  ok(await api.post(`${pathOf(endpoint)}/test`, {}));
  await receiver.until(() => receiver.received.length >= 3, 'two events and the test');
  const reply = await fetch(`${service.baseUrl}/openapi.json`);
  const document = (await reply.json()) as Record<string, unknown>;
  const ajv = new Ajv2020({ strict: false, schemas: [{ ...document, $id: 'outlay' }] });
  addFormats.default(ajv);
  for (const { body } of receiver.received) {
    const name = body.type === 'webhook.test' ? 'TestMessage' : 'EventMessage';
    const validate = ajv.getSchema(`outlay#/components/schemas/${name}`);
    assert.ok(validate?.(body), JSON.stringify([body.type, validate?.errors]));
  }
});

test('an endpoint gets only the types of events that it asked for', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  await createEndpoint(api, receiver, { event_types: ['balance.*'] });
  await createUser(api);
  await fund(api, 'USD', '1');
  await createUser(api);
  await fund(api, 'USD', '2');
  await receiver.until(() => receiver.received.length >= 2, 'two events');
  assert.deepEqual(
    new Set(receiver.received.map(({ body }) => body.type)),
    new Set(['balance.funded']),
  );
});

test('an Ed25519 endpoint is verified with its public key, and its secret is never shown', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  const endpoint = await createEndpoint(api, receiver, { signature: 'ed25519' });
  assert.equal(endpoint.secret, '');
  assert.match(endpoint.public_key, /^whpk_[A-Za-z0-9+/]{43}=$/);
  await createUser(api);
  await receiver.until(() => receiver.received.length >= 1, 'an event');
  const [received] = receiver.received;
  assert.ok(received !== undefined);
  const { 'webhook-id': id, 'webhook-timestamp': timestamp } = received.headers;
  const [version, signature = ''] = String(received.headers['webhook-signature']).split(',');
  assert.equal(version, 'v1a');
  const x = Buffer.from(endpoint.public_key.slice(5), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const content = `${String(id)}.${String(timestamp)}.${received.text}`;
  assert.ok(verify(null, Buffer.from(content), key, Buffer.from(signature, 'base64')));
});

test('after a rotation both secrets sign for a window, then the new one alone', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  const old = await createEndpoint(api, receiver);
  const next = ok(await api.post<Endpoint>(`${pathOf(old)}/rotate`, { overlap_hours: 1 }));
  assert.notEqual(next.secret, old.secret);
  assert.notEqual(next.previous_secret_until, '');
  await createUser(api);
  await receiver.until(() => receiver.received.length >= 1, 'an event');
  const [both] = receiver.received;
  assert.ok(both !== undefined);
  verifyWith(old.secret, both);
  verifyWith(next.secret, both);
  await advance(api, 3601);
  const count = receiver.received.length;
  await createUser(api);
  await receiver.until(() => receiver.received.length > count, 'another event');
  const last = receiver.received.at(-1);
  assert.ok(last !== undefined);
  verifyWith(next.secret, last);
  assert.throws(() => verifyWith(old.secret, last));
  const read = await api.get(pathOf(old));
  assert.ok(!read.text.includes('whsec_'), 'a secret is shown once');
});

test('a test delivery is sent and logged with its answer, also while paused', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  const endpoint = await createEndpoint(api, receiver);
  ok(await api.post(`${pathOf(endpoint)}/pause`, {}));
  receiver.behave((_body, response) => {
    response.writeHead(202, { 'content-type': 'text/plain' }).end('well received');
    return 'handled';
  });
  const { delivery_token: token } = ok(
    await api.post<{ delivery_token: string }>(`${pathOf(endpoint)}/test`, {}),
  );
  await receiver.until(() => receiver.received.length >= 1, 'the test');
  const [received] = receiver.received;
  assert.ok(received !== undefined);
  verifyWith(endpoint.secret, received);
  assert.equal(received.body.type, 'webhook.test');
  const path = `${pathOf(endpoint)}/deliveries/${token}`;
  const reply = await eventually(
    () => api.get<Delivery>(path),
    ({ status }) => status === 200,
  );
  const delivery = ok(reply);
  assert.equal(delivery.result, 'delivered');
  assert.equal(delivery.webhook_id, received.headers['webhook-id']);
  assert.deepEqual(delivery.answer, { content_type: 'text/plain', body: 'well received' });
  assert.equal(delivery.request.body, received.text);
  assert.doesNotMatch(reply.text, /whsec_|v1,/, 'no secret and no signature is in the log');
});

test('a replay counts first, then sends a range again under the same ids', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  const endpoint = await createEndpoint(api, receiver);
  for (let count = 0; count < 3; count += 1) await createUser(api);
  await fund(api, 'USD', '1');
  await receiver.until(() => receiver.received.length >= 4, 'all events');
  const before = [...receiver.received];
  const first = Math.min(...sequencesOf(before));
  const range = { from: first, event_types: ['user.*'] };
  type Replay = { count: ExactNumber; from: ExactNumber; to: ExactNumber; dry_run: boolean };
  const ask = async (body: object): Promise<Replay> =>
    ok(await api.post<Replay>(`${pathOf(endpoint)}/replay`, body));
  const preview = await ask({ ...range, dry_run: true });
  assert.equal(preview.count.text, '3');
  assert.equal(preview.from.text, String(first));
  await fund(api, 'USD', '2');
  const last = Math.max(...sequencesOf(before));
  const hasLater = () => sequencesOf(receiver.received).some((sequence) => sequence > last);
  await receiver.until(hasLater, 'a later event');
  assert.equal(receiver.received.length, 5, 'a dry run sends nothing');
  assert.equal((await ask(range)).count.text, '3');
  await receiver.until(() => receiver.received.length >= 8, 'the replay');
  const again = receiver.received.slice(5);
  const users = before.filter(({ body }) => body.type === 'user.created');
  const idsOf = (list: readonly Received[]) =>
    new Set(list.map(({ headers }) => headers['webhook-id']));
  assert.deepEqual(idsOf(again), idsOf(users));
  const ended = await eventually(
    () => readEndpoint(api, endpoint),
    (row) => row.replaying_until.text === '0',
  );
  assert.equal(ended.backlog.text, '0');
  const rows = await listDeliveries(api, endpoint);
  assert.equal(rows.filter(({ kind }) => kind === 'replay').length, 3);
  assert.equal((await ask({ since: '2200-01-01', dry_run: true })).count.text, '0');
});

test('a URL that leads to a private network is refused, with every other fault', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  const refused = await api.post('/webhooks', {
    url: 'https://0x0a.1/hook',
    event_types: ['everything'],
    signature: 'md5',
  });
  assertProblem(refused, 400, 'invalid_request');
  const pointers = (refused.body as { errors: { pointer: string }[] }).errors.map(
    ({ pointer }) => pointer,
  );
  assert.deepEqual(new Set(pointers), new Set(['/url', '/event_types/0', '/signature']));
  for (const url of [
    'http://example.com/',
    'https://169.254.169.254/',
    'https://[::ffff:7f00:1]/',
  ]) {
    assertProblem(await api.post('/webhooks', { url }), 400, 'invalid_value');
  }
});

type Terms = Record<'url' | 'description', string> & { event_types: readonly string[] };
const pick = ({ url, description, event_types }: Terms): Terms => ({
  url,
  description,
  event_types,
});

test('a change of an endpoint keeps what it does not name, above all the types of events', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  const terms = { description: 'ERP', event_types: ['payout.*'] };
  const endpoint = await createEndpoint(api, receiver, terms);
  const url = `${receiver.url}/moved`;
  const moved = ok(await api.put<Terms>(pathOf(endpoint), { url }));
  assert.deepEqual(pick(moved), { url, ...terms });
  const narrowed = { event_types: ['payout.completed'] };
  assert.deepEqual(pick(ok(await api.put<Terms>(pathOf(endpoint), narrowed))), {
    url,
    ...terms,
    ...narrowed,
  });
  const emptied = { description: '', event_types: [] };
  assert.deepEqual(pick(ok(await api.put<Terms>(pathOf(endpoint), emptied))), { url, ...emptied });
  assert.deepEqual(pick(ok(await api.put<Terms>(pathOf(endpoint), {}))), { url, ...emptied });
});

test('misspelled members of a request are refused, since ignoring them would send or keep too much', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  const endpoint = await createEndpoint(api, receiver);
  const { url } = receiver;
  const refused: [string, object][] = [
    ['/webhooks', { url, event_type: ['payout.*'] }],
    [`${pathOf(endpoint)}/rotate`, { overlap_hour: 0 }],
    [`${pathOf(endpoint)}/replay`, { from: 1, to: 1, dryRun: true }],
  ];
  for (const [path, body] of refused) {
    assertProblem(await api.post(path, body), 400, 'unknown_member');
  }
});

test('an endpoint can be changed and removed, by its own account only', async () => {
  const { api, receiver } = await startClient(service);
  await using _ = receiver;
  const endpoint = await createEndpoint(api, receiver);
  const { api: stranger } = await createAccount(service);
  assert.equal((await stranger.get(pathOf(endpoint))).status, 404);
  assert.equal((await stranger.post(`${pathOf(endpoint)}/remove`, {})).status, 404);
  await using elsewhere = await startReceiver();
  ok(await api.put(pathOf(endpoint), { url: elsewhere.url, event_types: ['user.created'] }));
  await createUser(api);
  await elsewhere.until(() => elsewhere.received.length >= 1, 'an event at the new URL');
  assert.equal(receiver.received.length, 0);
  ok(await api.post(`${pathOf(endpoint)}/remove`, {}));
  assert.equal((await api.get(pathOf(endpoint))).status, 404);
  assert.deepEqual(ok(await api.get('/webhooks')), []);
});
