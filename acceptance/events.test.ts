import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { waitUntilCommitted } from './batch-kit.ts';
import { readValues } from './documented-values.ts';
import type { ExactNumber } from './exact.ts';
import {
  commitPayout,
  createPayout,
  createRecipient,
  createUser,
  deliveryCases,
  describeUser,
  pay,
  payoutPath,
} from './recipients.ts';
import {
  type Api,
  advance,
  createAccount,
  daySeconds,
  ok,
  type Service,
  startService,
} from './service.ts';
import { assertProblem } from './shapes.ts';

/** The event log, and payouts as they were. */

let service: Service;
before(async () => {
  service = await startService();
});
after(() => service.stop());

type Data = Record<string, string> & { attrs: Record<string, string> };
type Event = {
  sequence: ExactNumber;
  type: string;
  created_on: string;
  schema_version: ExactNumber;
  object: string;
  object_sequence: ExactNumber;
  data: Data;
};

const readEvents = async (api: Api): Promise<Event[]> => ok(await api.get<Event[]>('/events'));

/** The types of an object's events, with their places among them. */
function listOf(events: readonly Event[], object: string): string[] {
  return events
    .filter((event) => event.object === object)
    .map((event) => `${event.object_sequence.text} ${event.type}`);
}

async function find(api: Api, type: string): Promise<Event> {
  const found = (await readEvents(api)).findLast((event) => event.type === type);
  assert.ok(found, type);
  return found;
}

test('an event of a payout has the payout as it was after the change', async () => {
  const { api } = await createAccount(service, { USD: '1000' });
  const recipient = await createRecipient(api, deliveryCases.bank);
  const quoted = await createPayout(api, recipient, { metadata: { order: 'A-1' } });
  const path = payoutPath(recipient, quoted['payout_token'] ?? '');
  await commitPayout(api, recipient, quoted['payout_token']);
  ok(await api.post(`/sandbox/payout/${quoted['payout_token']}`, { outcome: 'completed' }));
  const completed = ok(await api.get<Data>(path));
  ok(await api.post(`/sandbox/payout/${quoted['payout_token']}`, { outcome: 'returned' }));
  const returned = ok(await api.get<Data>(path));
  const events = (await readEvents(api)).filter((event) => event.object === quoted['payout_token']);
  assert.deepEqual(listOf(events, quoted['payout_token'] ?? ''), [
    '1 payout.pending',
    '2 payout.processing',
    '3 payout.completed',
    '4 payout.cancelled',
    '5 payout.returned',
  ]);
  const states = events.map(({ data }) => data);
  assert.equal(states[0]?.['user_token'], recipient.userToken);
  assert.deepEqual(states[0], quoted);
  assert.equal(states[1]?.['status'], 'PROCESSING');
  assert.deepEqual(states[2], completed);
  assert.deepEqual(states[4], returned);
  assert.equal(states[4]?.['status'], 'CANCELLED');
  assert.match(states[4]?.attrs['BankAccountNumber'] ?? '', /^\*{4}\d{4}$/);
  assert.ok(events.every((event) => event.schema_version.text === '1'));
});

test('a payout is read as it was at any time of its life', async () => {
  const { api } = await createAccount(service, { USD: '1000' });
  const account = readValues('Bank accounts', 'MEX MXN').get('unknown') ?? '';
  const recipient = await createRecipient(api, deliveryCases.bank, {
    chosen: { BankAccountNumber: account },
  });
  const now = async (): Promise<string> =>
    ok(await service.demo.get<{ now: string }>('/sandbox/clock')).now.slice(0, 19);
  const times: Record<string, string> = {};
  const remember = async (name: string): Promise<void> => {
    times[name] = await now();
    await advance(api, 10);
  };
  await remember('before');
  const quoted = await createPayout(api, recipient);
  const { payout_token: token = '' } = quoted;
  const path = payoutPath(recipient, token);
  await remember('quoted');
  await commitPayout(api, recipient, token);
  await remember('committed');
  for (let hours = 0; hours < 48 && (await read(''))['status'] !== 'HOLD'; hours += 1) {
    await advance(api, 3600);
  }
  const held = await read('');
  await remember('held');
  ok(await api.post(`/sandbox/payout/${token}`, { outcome: 'completed' }));
  const completed = await read('');
  await remember('completed');
  await advance(api, daySeconds);
  ok(await api.post(`/sandbox/payout/${token}`, { outcome: 'returned' }));
  const returned = await read('');
  await remember('returned');

  async function read(query: string): Promise<Data> {
    return ok(await api.get<Data>(`${path}${query}`));
  }
  const readAt = (name: string) => read(`?as_of=${times[name]}`);
  assertProblem(await api.get(`${path}?as_of=${times['before']}`), 404);
  assert.deepEqual(await readAt('quoted'), quoted);
  assert.equal((await readAt('committed'))['status'], 'PROCESSING');
  assert.equal(held['status'], 'HOLD');
  assert.equal(held['reason_code'], 'outcome_unknown');
  assert.deepEqual(await readAt('held'), held);
  assert.equal(completed['status'], 'COMPLETED');
  assert.deepEqual(await readAt('completed'), completed);
  assert.equal(returned['status'], 'CANCELLED');
  assert.deepEqual(await readAt('returned'), returned);
  // The times of events are cut to the second, which as_of includes.
  for (const event of (await readEvents(api)).filter(({ object }) => object === token)) {
    const then = await read(`?as_of=${event.created_on}`);
    const wanted = event.type === 'payout.processing' ? /PROCESSING|COMPLETED/ : /./;
    assert.match(then['status'] ?? '', wanted);
    if (event.type !== 'payout.processing') assert.equal(then['status'], event.data['status']);
  }
});

test('a payout that failed is read as it was before', async () => {
  const { api } = await createAccount(service, { USD: '1000' });
  const recipient = await createRecipient(api, deliveryCases.bank);
  const { payout_token: token } = await pay(api, recipient);
  const path = payoutPath(recipient, token);
  const { now } = ok(await api.get<{ now: string }>('/sandbox/clock'));
  await advance(api, 5);
  ok(await api.post(`/sandbox/payout/${token}`, { outcome: 'rejected' }));
  assert.equal(ok(await api.get<Data>(path))['status'], 'CANCELLED');
  const before = ok(await api.get<Data>(`${path}?as_of=${now.slice(0, 19)}`));
  assert.equal(before['status'], 'PROCESSING');
  assert.equal(before['status_reason'], '');
});

test('as_of is a time of the past, without a query to the rail', async () => {
  const { api } = await createAccount(service, { USD: '1000' });
  const recipient = await createRecipient(api, deliveryCases.bank);
  const { payout_token: token = '' } = await createPayout(api, recipient);
  const path = payoutPath(recipient, token);
  for (const query of [
    'as_of=tomorrow',
    'as_of=2999-01-01',
    'as_of=2020-01-01&force_status_update=true',
  ]) {
    assertProblem(await api.get(`${path}?${query}`), 400);
  }
  assertProblem(await api.get(`${path}?as_of=2020-01-01`), 404);
  const other = (await createAccount(service)).api;
  assertProblem(await other.get(`${path}?as_of=2020-01-01`), 404);
});

test('every change of a user is an event with the user after it', async () => {
  const { api } = await createAccount(service);
  const request = describeUser({ metadata: { limit: 0.1 } });
  const created = ok(await api.post<Data>('/user', request));
  const { user_token: token = '' } = created;
  const changed = ok(
    await api.put<Data>(`/user/${token}`, { first_name: 'María', city: 'Mérida' }),
  );
  const events = await readEvents(api);
  assert.deepEqual(listOf(events, token), ['1 user.created', '2 user.updated']);
  const states = events.filter(({ object }) => object === token).map(({ data }) => data);
  assert.deepEqual(states, [created, changed]);
});

test('attribute sets, balances and credentials have events', async () => {
  const { api, credentials } = await createAccount(service, { USD: '1000' });
  const recipient = await createRecipient(api, deliveryCases.bank);
  const stored = await find(api, 'attributes.stored');
  assert.equal(stored.object, recipient.attrSetToken);
  assert.equal(stored.data['user_token'], recipient.userToken);
  assert.equal(stored.data['destination_token'], recipient.payer.destination_token);
  assert.equal(stored.data['currency_code'], 'MXN');
  assert.equal(stored.data['is_complete'], true);
  assert.equal(stored.data.attrs['BankAccountNumber'], '****9719');
  const [balance] = ok(await api.get<Data[]>('/account/balance'));
  const funded = await find(api, 'balance.funded');
  assert.deepEqual(funded.data, balance);
  const events = await readEvents(api);
  const issued = events.filter(({ type }) => type === 'credential.created');
  assert.deepEqual(
    issued.map(({ data }) => data['kind']),
    ['client', 'api_key'],
  );
  const text = JSON.stringify(events);
  assert.ok(!text.includes(credentials.client_secret) && !text.includes(credentials.api_key));
});

test('every change of a batch is an event with the batch after it', async () => {
  const { api } = await createAccount(service, { USD: '1000' });
  const recipient = await createRecipient(api, deliveryCases.bank);
  const header = 'client_transfer_id,user_token,destination_token,destination_currency_code';
  const row = (id: string): string =>
    `${id},${recipient.userToken},${recipient.payer.destination_token},MXN,10`;
  const file = [`${header},source_amount`, row('b-1'), row('b-2')].join('\n');
  const { batch_token: token = '' } = ok(
    await api.post<Data>('/batches', file, { 'content-type': 'text/csv' }),
  );
  ok(await api.post(`/batches/${token}/quote`, {}));
  ok(await api.put(`/batches/${token}`, { mode: 'all' }));
  await waitUntilCommitted(api, { batch_token: token });
  await advance(api, 60);
  const events = await readEvents(api);
  assert.deepEqual(listOf(events, token), [
    '1 batch.receiving',
    '2 batch.draft',
    '3 batch.quoted',
    '4 batch.committing',
    '5 batch.committed',
  ]);
  const last = events.findLast(({ object }) => object === token);
  const { faults_path: _path, ...now } = ok(await api.get<Data>(`/batches/${token}`));
  const { faults_path: _sent, ...then } = last?.data ?? ({} as Data);
  assert.deepEqual(then, now);
  // Its payouts begin with the commit.
  const payout = events.findLast(({ type }) => type.startsWith('payout.'));
  assert.equal(listOf(events, payout?.object ?? '')[0], '1 payout.processing');
});

test('a change that was refused is no event', async () => {
  const { api } = await createAccount(service);
  await createUser(api, { internal_user_id: 'taken' });
  const before = await readEvents(api);
  assertProblem(await api.post('/user', describeUser({ internal_user_id: 'taken' })), 409);
  assert.deepEqual(await readEvents(api), before);
});
