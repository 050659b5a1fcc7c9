import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from './commands.ts';
import { openReader, type Reader } from './event-reader.ts';
import type { ExactNumber } from './exact.ts';
import { createUser } from './recipients.ts';
import { type Api, createAccount, ok, type Service, startService } from './service.ts';
import { assertProblem } from './shapes.ts';
import { untilAdmitted } from './until-admitted.ts';

/** Waiting for events: by long poll, and as a stream. */

let service: Service;
before(async () => {
  service = await startService({ isOwn: true });
});
after(() => service.stop());

type Event = { sequence: ExactNumber; type: string; object: string };

const readEvents = async (api: Api, query = ''): Promise<Event[]> =>
  ok(await api.get<Event[]>(`/events${query}`));

/** In groups: on a busy machine an account's requests would else wait too long for the database. */
async function openReaders(count: number, open: () => Promise<Reader>): Promise<Reader[]> {
  const readers: Reader[] = [];
  while (readers.length < count) {
    readers.push(...(await Promise.all(Array.from({ length: 25 }, () => untilAdmitted(open)))));
  }
  return readers;
}

async function findNewest(api: Api): Promise<number> {
  return Number((await readEvents(api)).at(-1)?.sequence.text ?? '0');
}

/** Resolves when the service has answered requests that it got after others, which wait by then. */
async function letOthersWait(api: Api): Promise<void> {
  for (let round = 0; round < 5; round += 1) await findNewest(api);
}

test('a long poll answers as soon as there is an event', async () => {
  const { api } = await createAccount(service);
  const newest = await findNewest(api);
  const startedMs = performance.now();
  const polled = readEvents(api, `?after=${newest}&wait=60`);
  await letOthersWait(api);
  const token = await createUser(api);
  const [event, ...others] = await polled;
  assert.deepEqual([event?.type, event?.object, others], ['user.created', token, []]);
  // Before the time is over for which it may wait.
  assert.ok(performance.now() - startedMs < 55_000);
  // What is there already is answered at once.
  assert.deepEqual(await readEvents(api, `?after=${newest}&wait=30`), [event]);
});

test('a long poll with a filter waits for an event that matches', async () => {
  const { api } = await createAccount(service);
  const token = await createUser(api);
  const polled = readEvents(api, '?type=batch.*,balance.adjusted&wait=1');
  await createUser(api);
  assert.deepEqual(await polled, []);
  const newest = await findNewest(api);
  const waiting = readEvents(api, `?after=${newest}&type=user.updated&wait=60`);
  await letOthersWait(api);
  await createUser(api);
  ok(await api.put(`/user/${token}`, { last_name: 'Other' }));
  assert.deepEqual(
    (await waiting).map(({ type, object }) => [type, object]),
    [['user.updated', token]],
  );
});

test('a stream sends the events that match its filter', async () => {
  const { api } = await createAccount(service);
  const first = await createUser(api);
  const byType = await openReader(api, '/events/stream?after=0&type=user.*');
  const byObject = await openReader(api, `/events?after=0&object=${first}`);
  const second = await createUser(api);
  ok(await api.put(`/user/${first}`, { last_name: 'Other' }));
  const read = (frames: readonly { event: string; data: string }[]) =>
    frames.map(({ event, data }) => [event, (JSON.parse(data) as Event).object]);
  assert.deepEqual(read(await byType.waitFor(3)), [
    ['user.created', first],
    ['user.created', second],
    ['user.updated', first],
  ]);
  assert.deepEqual(read(await byObject.waitFor(2)), [
    ['user.created', first],
    ['user.updated', first],
  ]);
  byType.close();
  byObject.close();
  assertProblem(await api.get('/events/stream?type=user.changed'), 400, 'invalid_value');
});

test('a long poll without an event answers an empty list in time', async () => {
  const { api } = await createAccount(service);
  const newest = await findNewest(api);
  const startedMs = performance.now();
  assert.deepEqual(await readEvents(api, `?after=${newest}&wait=1`), []);
  assert.ok(performance.now() - startedMs >= 900);
  for (const wait of ['61', '-1', '1.5', 'x']) {
    assertProblem(await api.get(`/events?after=${newest}&wait=${wait}`), 400);
  }
});

test('200 readers wait in one process, and each gets the event of its account', async () => {
  const mine = await createAccount(service);
  const other = (await createAccount(service)).api;
  const newest = await findNewest(mine.api);
  const otherNewest = await findNewest(other);
  const streams = await openReaders(100, () => openReader(mine.api, `/events?after=${newest}`));
  const polls = Array.from({ length: 100 }, () =>
    untilAdmitted(() => readEvents(mine.api, `?after=${newest}&wait=60`)),
  );
  const foreign = readEvents(other, `?after=${otherNewest}&wait=2`);
  await letOthersWait(other);
  // Requests that wait use neither connections to the database nor places of other requests.
  const startedMs = performance.now();
  const token = await createUser(mine.api);
  ok(await mine.api.get('/account/balance'));
  assert.ok(performance.now() - startedMs < 55_000);
  for (const events of await Promise.all(polls)) {
    assert.deepEqual(
      events.map(({ object }) => object),
      [token],
    );
  }
  for (const reader of streams) {
    const [frame] = await reader.waitFor(1);
    assert.equal(frame?.event, 'user.created');
    assert.equal((JSON.parse(frame?.data ?? '{}') as Event).object, token);
    reader.close();
  }
  assert.deepEqual(await foreign, []);
});

test('a stream resumes after the last event that the reader got', async () => {
  const { api } = await createAccount(service);
  const first = await openReader(api, '/events?after=0');
  assert.match(first.response.headers['content-type'] ?? '', /^text\/event-stream/);
  const before = await findNewest(api);
  await createUser(api);
  const got = await first.waitFor(before + 1);
  first.close();
  await createUser(api);
  await createUser(api);
  // As EventSource does: the same address, and the header.
  const lastId = got.at(-1)?.id ?? '';
  const second = await openReader(api, '/events?after=0', { 'last-event-id': lastId });
  await second.waitFor(2);
  await createUser(api);
  await second.waitFor(3);
  second.close();
  const ids = [...got, ...second.frames].map(({ id }) => id);
  assert.deepEqual(
    ids,
    ids.map((_id, index) => String(index + 1)),
  );
  const listed = (await api.get('/events')).text;
  for (const { data } of second.frames) assert.ok(listed.includes(data), data);
  assertProblem(
    await api.get('/events', { accept: 'text/event-stream', 'last-event-id': 'x' }),
    400,
  );
});

test('a stream ends when its credential is revoked', async () => {
  const { credentials } = await createAccount(service);
  const run = (...words: string[]) =>
    runCommand(service, ['credential', ...words, '--account', credentials.account]);
  const made = await run('create', '--kind', 'api_key', '--scopes', 'payouts:read');
  const { api_key: key = '', credential_id: id = '' } = made;
  const api = service.demo.withToken(key);
  const newest = await findNewest(api);
  const reader = await openReader(api, `/events?after=${newest}`);
  await run('revoke', '--credential', id);
  await reader.ended;
  assert.deepEqual(reader.frames, []);
  const events = await readEvents(service.demo.withToken(credentials.api_key));
  assert.equal(events.at(-1)?.type, 'credential.revoked');
  assert.equal(events.at(-1)?.object, id);
});

test('an event shows what its reader may read', async () => {
  const { api, credentials } = await createAccount(service, { USD: '10' });
  const token = await createUser(api);
  const grant = new URLSearchParams({ grant_type: 'client_credentials', scope: 'payouts:read' });
  const basic = Buffer.from(`${credentials.client_id}:${credentials.client_secret}`);
  const issued = await api.post<{ access_token: string }>('/oauth2/token', grant.toString(), {
    'content-type': 'application/x-www-form-urlencoded',
    authorization: `Basic ${basic.toString('base64')}`,
  });
  const limited = api.withToken(ok(issued).access_token);
  const events = ok(await limited.get<(Event & { data: object })[]>('/events'));
  const find = (type: string) => events.find((event) => event.type === type)?.data;
  assert.deepEqual(find('user.created'), { user_token: token, status: 'ACTIVE' });
  assert.deepEqual(Object.keys(find('balance.funded') ?? {}), ['token', 'currency_code']);
});

test('an account has a bounded number of readers', async () => {
  const { api } = await createAccount(service);
  const readers = await openReaders(250, () => openReader(api, '/events'));
  const reply = await api.get('/events', { accept: 'text/event-stream' });
  assertProblem(reply, 429, 'rate_limited');
  assert.ok(Number(reply.headers['retry-after']) > 0);
  // Others read on.
  (await openReader((await createAccount(service)).api, '/events')).close();
  for (const reader of readers) reader.close();
  const open = () => openReader(api, '/events').catch(() => undefined);
  let next = await open();
  for (let tries = 0; next === undefined && tries < 600; tries += 1) {
    await sleep(100);
    next = await open();
  }
  assert.ok(next !== undefined, 'readers that have gone still count');
  next.close();
});

test('streams end when the service stops', async () => {
  const { api } = await createAccount(service);
  const newest = await findNewest(api);
  const reader = await openReader(api, `/events?after=${newest}`);
  const polled = readEvents(api, `?after=${newest}&wait=60`);
  await letOthersWait(api);
  const stopped = service.stop();
  await reader.ended;
  assert.deepEqual(await polled, []);
  await stopped;
});
