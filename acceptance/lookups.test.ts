import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { ExactNumber } from './exact.ts';
import {
  commitPayout,
  createPayout,
  createRecipient,
  createUser,
  deliveryCases,
  describePayout,
  pay,
  payoutPath,
  type Recipient,
} from './recipients.ts';
import {
  type Api,
  advance,
  createAccount,
  ok,
  readPages,
  type Service,
  startService,
} from './service.ts';
import { assertProblem, assertShape, locate, shapes } from './shapes.ts';

/** Look-ups and filters of payouts and recipients. */

let service: Service;
let api: Api;
let recipient: Recipient;

before(async () => {
  service = await startService();
  api = (await createAccount(service, { USD: '100000' })).api;
  recipient = await createRecipient(api, deliveryCases.bank);
});
after(() => service.stop());

type Row = Record<string, string>;

const tokensOf = (rows: readonly Row[]) => rows.map((row) => row['token'] ?? row['payout_token']);

test('an unknown filter is refused by name', async () => {
  await createPayout(api, recipient);
  for (const path of [
    '/payout',
    `/payout/${recipient.userToken}`,
    '/user',
    '/user/history',
    `/user/${recipient.userToken}/history`,
    '/user/lookup',
    '/events',
    '/batches',
    '/country/list',
    '/country/MEX',
  ]) {
    const reply = await api.get(`${path}?client_transfr_id=nope&sort=asc`);
    const problem = assertProblem(reply, 400, 'unknown_parameter');
    assert.deepEqual(locate(problem), ['client_transfr_id', 'sort'], path);
  }
  const { payout_token: payoutToken = '' } = await createPayout(api, recipient);
  const { destination_token: destinationToken } = recipient.payer;
  for (const path of [
    '/account/balance',
    '/country/MEX/cheapest',
    `/attribute/${recipient.userToken}/${destinationToken}/MXN`,
    payoutPath(recipient, payoutToken),
  ]) {
    ok(await api.get(`${path}?not_named_by_the_specification=1`));
  }
});

test('a payout is found by client_transfer_id, committed or not', async () => {
  const id = `order ${randomUUID()}`;
  const pending = await createPayout(api, recipient, { client_transfer_id: id });
  const paid = await pay(api, recipient, { client_transfer_id: id });
  await createPayout(api, recipient);
  const query = `client_transfer_id=${encodeURIComponent(id)}`;
  const found = ok(await api.get<Row[]>(`/payout?${query}`));
  for (const payout of found) assertShape(payout, shapes.payout);
  assert.deepEqual(tokensOf(found), [paid.payout_token, pending['payout_token']]);
  assert.deepEqual(tokensOf(ok(await api.get<Row[]>(`/payout?${query}&status=PENDING`))), [
    pending['payout_token'],
  ]);
  for (const path of ['/user/history', `/user/${recipient.userToken}/history`]) {
    assert.deepEqual(tokensOf(ok(await api.get<Row[]>(`${path}?${query}`))), tokensOf(found));
    assert.deepEqual(ok(await api.get(`${path}?client_transfer_id=nope`)), []);
  }
  assert.deepEqual(ok(await api.get('/payout?client_transfer_id=nope')), []);
  const other = (await createAccount(service)).api;
  assert.deepEqual(ok(await other.get(`/payout?${query}`)), []);
  const [first] = await readPages<Row>(api, `/payout?${query}&number_of_records=1`);
  assert.deepEqual(tokensOf(first ?? []), [paid.payout_token]);
});

test('payouts are listed by user, delivery type, country, time and metadata', async () => {
  const mine = (await createAccount(service, { USD: '10000' })).api;
  const bank = await createRecipient(mine, deliveryCases.bank);
  const wallet = await createRecipient(mine, deliveryCases.wallet);
  const metadata = { run: 'a', '': 'b' };
  // Before the first one: the day may end meanwhile.
  const { now } = ok(await mine.get<{ now: string }>('/sandbox/clock'));
  const first = (await createPayout(mine, bank, { metadata }))['payout_token'];
  const second = (await pay(mine, wallet)).payout_token;
  const find = async (query: string) => tokensOf(ok(await mine.get<Row[]>(`/payout?${query}`)));
  assert.deepEqual(await find(''), [second, first]);
  assert.deepEqual(await find(`user_token=${bank.userToken}`), [first]);
  assert.deepEqual(await find('delivery_type=MOBILE_WALLET'), [second]);
  assert.deepEqual(await find('country=MEX'), [first]);
  assert.deepEqual(await find('status=PENDING'), [first]);
  assert.deepEqual(await find('metadata[run]=a'), [first]);
  assert.deepEqual(await find('metadata[run]=a&country=KEN'), []);
  assert.deepEqual(await find('metadata[]=b'), [first]);
  const today = now.slice(0, 10);
  assert.deepEqual(await find('from=2020-01-01&to=9999-12-31'), [second, first]);
  assert.deepEqual(await find(`to=2020-01-01T00:00:00`), []);
  assert.deepEqual(await find(`from=${today}T00:00:00Z&country=MEX`), [first]);
  for (const [query, names] of [
    ['from=yesterday&to=2026-02-30', ['from', 'to']],
    ['from=2026-01-01T24:00:00&to=2026-01-01T23:60:00', ['from', 'to']],
    ['from=2026-01-02&to=2026-01-01', ['to']],
    ['status=HELD&delivery_type=PIGEON&country=XX', ['status', 'delivery_type', 'country']],
    ['client_transfer_id=', ['client_transfer_id']],
  ] as const) {
    const reply = await mine.get(`/payout?${query}`);
    const problem = assertProblem(reply, 400);
    assert.deepEqual(locate(problem), [...names].toSorted(), query);
  }
  assertProblem(await mine.get('/payout?user_token=usr_nobody'), 404);
  assertProblem(await mine.get(`/payout?user_token=${recipient.userToken}`), 404);
});

test('a payout is found by its token, and a history by country, delivery type and user', async () => {
  const mine = (await createAccount(service, { USD: '10000' })).api;
  const bank = await createRecipient(mine, deliveryCases.bank);
  const wallet = await createRecipient(mine, deliveryCases.wallet);
  const first = (await createPayout(mine, bank))['payout_token'] ?? '';
  const second = (await pay(mine, wallet)).payout_token;
  const find = async (path: string) => tokensOf(ok(await mine.get<Row[]>(path)));
  assert.deepEqual(await find(`/payout?payout_token=${first}`), [first]);
  assert.deepEqual(await find(`/payout?payout_token=${first}&status=COMPLETED`), []);
  for (const unknown of ['nonsense', (await createPayout(api, recipient))['payout_token']]) {
    assert.deepEqual(await find(`/payout?payout_token=${unknown}`), []);
  }
  for (const path of ['/user/history', '/payout']) {
    assert.deepEqual(await find(`${path}?country=KEN`), [second]);
    assert.deepEqual(await find(`${path}?delivery_type=BANK_DEPOSIT`), [first]);
    assert.deepEqual(await find(`${path}?user_token=${wallet.userToken}&status=PENDING`), []);
    assert.deepEqual(await find(`${path}?user_token=${wallet.userToken}`), [second]);
  }
});

test('a statement is filtered by type', async () => {
  const mine = (await createAccount(service, { USD: '10000' })).api;
  const to = await createRecipient(mine, deliveryCases.bank);
  const { payout_token: paid } = await pay(mine, to);
  const [balance] = ok(await mine.get<Row[]>('/account/balance'));
  const path = `/account/balance/${balance?.['token']}/entries`;
  const list = async (type: string) => ok(await mine.get<Row[]>(`${path}?type=${type}`));
  assert.deepEqual(
    new Set((await list('commit')).map((row) => row['payout_token'])),
    new Set([paid]),
  );
  assert.deepEqual(
    (await list('fund')).map((row) => row['type']),
    ['fund'],
  );
  assert.deepEqual(await list('return'), []);
  assert.deepEqual(locate(assertProblem(await mine.get(`${path}?type=gift`), 400)), ['type']);
});

test('histories and entries of a balance are filtered by time like every list', async () => {
  const mine = (await createAccount(service, { USD: '10000' })).api;
  const to = await createRecipient(mine, deliveryCases.bank);
  const now = async () => ok(await mine.get<{ now: string }>('/sandbox/clock')).now.slice(0, 19);
  const { payout_token: first } = await pay(mine, to);
  await advance(mine, 60);
  const between = await now();
  await advance(mine, 60);
  const { payout_token: second } = await pay(mine, to);
  const [balance] = ok(await mine.get<Row[]>('/account/balance'));
  const entries = `/account/balance/${balance?.['token']}/entries`;
  const list = async (path: string) =>
    ok(await mine.get<Row[]>(path)).map((row) => row['payout_token'] || row['token']);
  for (const path of ['/user/history', `/user/${to.userToken}/history`, '/payout']) {
    assert.deepEqual(await list(`${path}?from=${between}`), [second], path);
    assert.deepEqual(await list(`${path}?to=${between}`), [first], path);
  }
  const ofCommits = `${entries}?type=commit`;
  const paid = async (query: string) => new Set(await list(`${ofCommits}&${query}`));
  assert.deepEqual(await paid(`from=${between}`), new Set([second]));
  assert.deepEqual(await paid(`to=${between}`), new Set([first]));
  assert.deepEqual(await paid('from=2020-01-01&to=9999-12-31'), new Set([first, second]));
  assert.deepEqual(await paid('to=2020-01-01'), new Set());
  const pages = await readPages<Row>(mine, `${entries}?from=${between}&number_of_records=1`);
  assert.deepEqual(new Set(pages.flat().map((row) => row['payout_token'])), new Set([second]));
  const both = await mine.get('/user/history?from=2026-01-01&start_date=2026-01-01');
  assert.deepEqual(locate(assertProblem(both, 400, 'parameters_exclusive')), ['start_date']);
});

test('events are filtered by type and object', async () => {
  const mine = (await createAccount(service, { USD: '10000' })).api;
  const to = await createRecipient(mine, deliveryCases.bank);
  const { payout_token: token } = await pay(mine, to);
  const list = async (query: string) =>
    ok(await mine.get<Row[]>(`/events?${query}`)).map((event) => event['type']);
  assert.deepEqual(await list(`object=${token}`), ['payout.pending', 'payout.processing']);
  assert.deepEqual(await list(`object=${token}&type=payout.processing`), ['payout.processing']);
  assert.deepEqual(await list('type=user.created'), ['user.created']);
  assert.deepEqual(await list('type=payout.pending'), ['payout.pending']);
  assert.deepEqual(await list('type=payout.hold'), []);
  const ofPayouts = ['payout.pending', 'payout.processing'];
  assert.deepEqual((await list('type=payout.*')).slice(0, 2), ofPayouts);
  assert.deepEqual(await list(`object=${token}&type=payout.*`), ofPayouts);
  assert.deepEqual(await list(`object=${token}&type=user.*`), []);
  const others = ['user.created', 'attributes.stored'];
  const sorted = async (query: string) =>
    (await list(query)).filter((type) => type !== 'payout.completed');
  assert.deepEqual(await list('type=user.*,attributes.*'), others);
  assert.deepEqual(await list('type=attributes.stored&type=user.created'), others);
  assert.deepEqual(await sorted('type=user.*&type=payout.*'), ['user.created', ...ofPayouts]);
  assert.deepEqual(await list('object=usr_nobody'), []);
  const [created] = ok(await mine.get<{ sequence: ExactNumber }[]>('/events?type=user.created'));
  assert.deepEqual(await list(`type=user.created&after=${created?.sequence.text}`), []);
  for (const type of ['payout.paid', 'payot.*', 'payout.*,', '', 'payout.*&type=x']) {
    const refused = assertProblem(await mine.get(`/events?type=${type}`), 400, 'invalid_value');
    assert.deepEqual(locate(refused), ['type'], type);
  }
});

test('webhooks are filtered by status, destinations by delivery type', async () => {
  assert.deepEqual(ok(await api.get('/webhooks?status=PAUSED')), []);
  assertProblem(await api.get('/webhooks?status=NEVER'), 400, 'invalid_value');
  for (const path of ['/country/MEX', '/country/MEX/cheapest']) {
    const { companies } = ok(
      await api.get<{ companies: { services: Row[] }[] }>(`${path}?delivery_type=CASH_PICKUP`),
    );
    const types = companies.flatMap(({ services }) => services.map((one) => one['delivery_type']));
    assert.deepEqual(new Set(types), new Set(['CASH_PICKUP']), path);
    assertProblem(await api.get(`${path}?delivery_type=PIGEON`), 400, 'invalid_value');
  }
});

test('a history has numbered pages and aliases of filters', async () => {
  const mine = (await createAccount(service, { USD: '10000' })).api;
  const to = await createRecipient(mine, deliveryCases.bank);
  const tokens: string[] = [];
  for (let index = 0; index < 5; index += 1) {
    tokens.unshift((await createPayout(mine, to))['payout_token'] ?? '');
  }
  await commitPayout(mine, to, tokens[2]);
  const find = async (query: string) =>
    tokensOf(ok(await mine.get<Row[]>(`/user/history?${query}`)));
  assert.deepEqual(await find('type=payout&show_all_clients=true'), tokens);
  assert.deepEqual(
    await find('status=PENDING'),
    tokens.filter((_, index) => index !== 2),
  );
  assert.deepEqual(await find('start_date=2020-01-01&end_date=9999-12-31'), tokens);
  assert.deepEqual(await find('end_date=2020-01-01'), []);
  const [balance] = ok(await mine.get<Row[]>('/account/balance'));
  assert.deepEqual(await find(`wallet_token=${balance?.['token']}`), tokens);
  assertProblem(await mine.get(`/user/history?wallet_token=${randomUUID()}`), 404);
  assert.deepEqual(await find('number_of_records=2&page=1'), tokens.slice(0, 2));
  assert.deepEqual(await find('number_of_records=2&page=3'), tokens.slice(4));
  assert.deepEqual(await find('number_of_records=2&page=4'), []);
  assert.deepEqual(await find('limit=3'), tokens.slice(0, 3));
  const paths = ['/user/history?limit=2', '/user/history?number_of_records=2&page=1'];
  for (const path of [...paths, `/user/${to.userToken}/history?limit=2&start_date=2020-01-01`]) {
    assert.deepEqual(tokensOf((await readPages<Row>(mine, path)).flat()), tokens, path);
  }
  for (const [query, names] of [
    ['type=deposit&start_date=2026-1-1&end_date=today', ['start_date', 'end_date', 'type']],
    ['start_date=2026-01-02&end_date=2026-01-01', ['end_date']],
    ['page=1&number_of_records=101', ['number_of_records']],
    ['page=0', ['page']],
    ['limit=2&number_of_records=2', ['limit']],
  ] as const) {
    const reply = await mine.get(`/user/history?${query}`);
    const problem = assertProblem(reply, 400);
    assert.deepEqual(locate(problem), [...names].toSorted(), query);
  }
});

test('recipients are listed newest first and filtered', async () => {
  const mine = (await createAccount(service)).api;
  const email = `${randomUUID()}@example.org`;
  const { now } = ok(await mine.get<{ now: string }>('/sandbox/clock'));
  const first = await createUser(mine, { internal_user_id: 'staff/1', email });
  const second = await createUser(mine, { country: 'KEN' });
  const find = async (query: string) =>
    ok(await mine.get<Row[]>(`/user?${query}`)).map((user) => user['user_token']);
  const [newest] = ok(await mine.get<Row[]>('/user'));
  assert.deepEqual(newest, ok(await mine.get(`/user/${second}`)));
  assert.deepEqual(await find(''), [second, first]);
  assert.deepEqual(await find('internal_user_id=staff/1'), [first]);
  assert.deepEqual(await find(`email=${email.toUpperCase()}`), [first]);
  assert.deepEqual(await find(`email=${email}&country=KEN`), []);
  assert.deepEqual(await find('country=KEN&status=ACTIVE'), [second]);
  assert.deepEqual(await find('status=LOCKED'), []);
  assert.deepEqual(await find(`from=${now.slice(0, 10)}&to=9999-12-31`), [second, first]);
  assert.deepEqual(await find('to=2020-01-01'), []);
  assert.deepEqual(await find(`email=${email}&to=2020-01-01`), []);
  assertProblem(await mine.get('/user?from=2026-01-02&to=2026-01-01'), 400, 'invalid_value');
  const pages = await readPages<Row>(mine, '/user?number_of_records=1');
  assert.deepEqual(
    pages.flat().map((user) => user['user_token']),
    [second, first],
  );
  assert.deepEqual(ok(await (await createAccount(service)).api.get('/user')), []);
});

test('recipients are searched by the parts of their names, with the other filters', async () => {
  const mine = (await createAccount(service)).api;
  const create = (first_name: string, last_name: string, more = {}) =>
    createUser(mine, { first_name, last_name, ...more });
  const ana = await create('Ana María', 'Gómez Peña', { internal_user_id: 'staff/ana' });
  const anita = await create('Anita', 'Gomes', { country: 'KEN' });
  const wang = await create('小明', '王');
  const find = async (name: string, more = '') =>
    ok(await mine.get<Row[]>(`/user?name=${encodeURIComponent(name)}${more}`)).map(
      (user) => user['user_token'],
    );
  assert.deepEqual(await find('GOMEZ'), [ana]);
  assert.deepEqual(await find('gom ana'), [ana]);
  assert.deepEqual(await find('gom'), [anita, ana]);
  assert.deepEqual(await find('gom', '&country=KEN&status=ACTIVE&from=2020-01-01'), [anita]);
  assert.deepEqual(await find('gom', '&internal_user_id=staff/ana'), [ana]);
  assert.deepEqual(await find('anita', '&internal_user_id=staff/ana'), []);
  assert.deepEqual(await find('王小明'), [wang]);
  assert.deepEqual(await find('wang xiaoming'), [wang]);
  assert.deepEqual(await find('go'), [], 'two letters are a whole part');
  const pages = await readPages<Row>(mine, '/user?name=gom&number_of_records=1');
  assert.deepEqual(
    pages.flat().map((user) => user['user_token']),
    [anita, ana],
  );
  ok(await mine.put(`/user/${ana}`, { last_name: 'Huerta' }));
  assert.deepEqual(await find('gom'), [anita]);
  assert.deepEqual(await find('huerta maria'), [ana]);
  assertProblem(await mine.get('/user?name=...'), 400, 'invalid_value');
  const other = (await createAccount(service)).api;
  assert.deepEqual(ok(await other.get('/user?name=anita')), []);
});

test('a country has both codes of ISO 3166', async () => {
  const rows = ok(await api.get<Row[]>('/country/list'));
  const mexico = rows.find((row) => row['country_code'] === 'MEX');
  assert.equal(mexico?.['code'], 'MX');
  assert.equal(mexico?.['three_letter_code'], 'MEX');
  assert.equal(mexico?.['name'], mexico?.['country_name']);
  assert.equal(mexico?.['name'], 'Mexico');
});

test('an invalid amount is reported before a duplicate transfer', async () => {
  const id = randomUUID();
  const paid = await pay(api, recipient, { client_transfer_id: id });
  const path = `/payout/${recipient.userToken}`;
  const request = (changes: object) =>
    api.post(path, describePayout(recipient, { client_transfer_id: id, ...changes }));
  for (const source_amount of [-1, 0, 0.001]) {
    const reply = await request({ source_amount });
    const problem = assertProblem(reply, 400);
    assert.deepEqual(locate(problem), ['/source_amount']);
  }
  const twice = await request({ source_amount: 100 });
  assertProblem(twice, 409, 'duplicate_transfer');
  assert.equal((twice.body as unknown as Row)['payout_token'], paid.payout_token);
  // The repeat is a duplicate even if the catalog has changed.
  const gone = await request({ source_amount: 100, destination_token: randomUUID() });
  assertProblem(gone, 409, 'duplicate_transfer');
});

test('a payout on HOLD has a reason code and waits for the operator', async () => {
  const { payout_token: token } = await pay(api, recipient);
  const read = async () => ok(await api.get<Row>(payoutPath(recipient, token)));
  const before = await read();
  assert.deepEqual([before['reason_code'], before['actor']], ['', '']);
  ok(await api.post(`/sandbox/payout/${token}`, { outcome: 'unknown' }));
  for (let hours = 0; hours < 240 && (await read())['status'] !== 'HOLD'; hours += 1) {
    await advance(api, 3600);
  }
  const held = await read();
  assert.equal(held['status'], 'HOLD');
  assert.deepEqual([held['reason_code'], held['actor']], ['outcome_unknown', 'operator']);
  const listed = ok(await api.get<Row[]>('/payout?status=HOLD'));
  assert.deepEqual(tokensOf(listed), [token]);
  ok(await api.post(`/sandbox/payout/${token}`, { outcome: 'rejected' }));
  const refused = await read();
  assert.deepEqual([refused['status'], refused['reason_code'] === ''], ['CANCELLED', false]);
});
