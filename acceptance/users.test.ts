import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { exact, type Json } from './exact.ts';
import {
  createPayout,
  createRecipient,
  createUser,
  deliveryCases,
  describeUser,
  pay,
} from './recipients.ts';
import { serveTests } from './serve.ts';
import { type Api, createAccount, ok, readPages, type Service } from './service.ts';
import { assertProblem, assertShape, locate, patterns, shapes } from './shapes.ts';

/** Recipients: creation, update, look-up, histories, search and paging. */

let service: Service;
let api: Api;
serveTests({ USD: '100000' }, (served) => {
  ({ service, api } = served);
});

type User = Record<string, string> & { metadata: Json };

test('a user with all fields is returned with all fields', async () => {
  const request = describeUser({
    middle_name: 'María',
    address1: 'Av. Insurgentes 1',
    address2: 'Piso 2',
    city: 'México',
    state_province: 'CDMX',
    postal_code: '06600',
    language: 'es',
    mobile_number: '5215512345678',
    business_name: 'Gómez & Hijas',
    timezone: 'America/Tijuana',
    date_of_birth: '1990-02-28',
    metadata: { n: exact('1.50'), deep: { list: [exact('1e2'), 'x', true, null] } },
  });
  const user = ok(await api.post<User>('/user', request));
  assertShape({ ...user, metadata: {} }, shapes.user);
  for (const [name, value] of Object.entries(request)) {
    if (name !== 'metadata') assert.equal(user[name], value, name);
  }
  assert.equal(JSON.stringify(user.metadata), JSON.stringify(request['metadata']));
  assert.deepEqual(ok(await api.get(`/user/${user['user_token']}`)), user);
});

test('absent fields are empty, and defaults follow from the country', async () => {
  const user = ok(await api.post<User>('/user', describeUser({ country: 'JPN' })));
  assertShape(user, shapes.user);
  for (const name of [
    'address1',
    'address2',
    'city',
    'state_province',
    'postal_code',
    'middle_name',
    'mobile_number',
    'business_name',
    'date_of_birth',
  ]) {
    assert.equal(user[name], '', name);
  }
  assert.equal(user['language'], 'en');
  assert.equal(user['timezone'], 'Asia/Tokyo');
  assert.deepEqual(user.metadata, {});
});

test('user_token, status, created_on and unknown fields of a request are ignored', async () => {
  const request = describeUser({
    user_token: 7,
    status: 'LOCKED',
    created_on: [],
    nickname: { any: 'thing' },
  });
  const user = ok(await api.post<User>('/user', request));
  assert.match(user['user_token'] ?? '', patterns.user);
  assert.equal(user['status'], 'ACTIVE');
  assert.match(user['created_on'] ?? '', patterns.localTime);
  assert.ok(!('nickname' in user));
});

test('all faults of a user are reported', async () => {
  const wrong = {
    internal_user_id: 'spa ce',
    country: 'XXX',
    first_name: '',
    last_name: 5,
    email: 'nobody',
    mobile_number: '+52 1',
    date_of_birth: '1990-02-30',
    language: 'english',
    timezone: 'Mars/Olympus',
    metadata: [],
    city: 'a\u0007b',
    address1: 'x'.repeat(5000),
  };
  const before = await countUsers();
  const reply = await api.post('/user', wrong);
  assert.deepEqual(locate(assertProblem(reply, 400, 'invalid_request')), [
    '/address1',
    '/city',
    '/country',
    '/date_of_birth',
    '/email',
    '/first_name',
    '/internal_user_id',
    '/language',
    '/last_name',
    '/metadata',
    '/mobile_number',
    '/timezone',
  ]);
  assert.doesNotMatch(reply.text, /nobody|Olympus|spa ce/, 'no value of the request is repeated');
  const missing = assertProblem(await api.post('/user', {}), 400);
  assert.deepEqual(locate(missing), [
    '/country',
    '/email',
    '/first_name',
    '/internal_user_id',
    '/last_name',
  ]);
  assert.equal(await countUsers(), before);
});

async function countUsers(): Promise<number> {
  const events = ok(await api.get<{ type: string }[]>('/events'));
  return events.filter((event) => event.type === 'user.created').length;
}

test('a mobile number is stored as digits, however it is written', async () => {
  for (const mobile_number of ['+52 1 (55) 1234-5678', '52.1.55.1234.5678', '5215512345678']) {
    const user = ok(await api.post<User>('/user', describeUser({ mobile_number })));
    assert.equal(user['mobile_number'], '5215512345678');
  }
});

test('a user younger than eighteen is refused with the other faults', async () => {
  const now = new Date(ok(await api.get<{ now: string }>('/sandbox/clock')).now);
  const year = now.getUTCFullYear();
  // Eighteen the day after tomorrow.
  const almost = new Date(Date.UTC(year - 18, now.getUTCMonth(), now.getUTCDate() + 2));
  for (const born of [
    `${year - 17}-12-31`,
    `${year + 1}-01-01`,
    almost.toISOString().slice(0, 10),
  ]) {
    const reply = await api.post('/user', describeUser({ date_of_birth: born, city: 5 }));
    assert.deepEqual(locate(assertProblem(reply, 400)), ['/city', '/date_of_birth'], born);
  }
  ok(await api.post('/user', describeUser({ date_of_birth: `${year - 19}-01-01` })));
});

test('internal_user_id has the documented form', async () => {
  const id = randomUUID().slice(0, 8);
  for (const given of [`${id}+,-./_~|Az09`, id.padEnd(75, 'x')]) {
    ok(await api.post('/user', describeUser({ internal_user_id: given })));
  }
  for (const given of ['', id.padEnd(76, 'x'), `${id} `, `${id}@x`, `${id}é`, 5, null]) {
    const reply = await api.post('/user', describeUser({ internal_user_id: given }));
    assert.deepEqual(locate(assertProblem(reply, 400)), ['/internal_user_id'], String(given));
  }
});

test('control characters are refused in every text and in metadata', async () => {
  for (const text of ['a\u0001', 'a\u001f', 'a\u007f', 'a\u0085', 'a\nb', 'a\tb']) {
    for (const [field, value] of [
      ['first_name', text],
      ['city', text],
      ['metadata', { key: text }],
      ['metadata', { [text]: 'value' }],
    ] as const) {
      const reply = await api.post('/user', describeUser({ [field]: value }));
      assertProblem(reply, 400);
    }
  }
});

test('an identifier or email that is already used is a conflict, in the same account only', async () => {
  const first = describeUser();
  ok(await api.post('/user', first));
  const sameId = { ...describeUser(), internal_user_id: first['internal_user_id'] };
  const sameEmail = { ...describeUser(), email: first['email'] };
  const otherCase = { ...describeUser(), email: String(first['email']).toUpperCase() };
  for (const request of [first, sameId, sameEmail, otherCase]) {
    assertProblem(await api.post('/user', request), 409);
  }
  // An accent is a character of its own, or a mark after its letter.
  const accented = { ...describeUser(), email: `jos\u00e9-${randomUUID()}@example.com` };
  ok(await api.post('/user', accented));
  const marked = { ...describeUser(), email: accented.email.normalize('NFD') };
  assertProblem(await api.post('/user', marked), 409, 'user_exists');
  const other = await createAccount(service);
  ok(await other.api.post('/user', first));
});

test('an update keeps absent fields', async () => {
  const request = describeUser({ city: 'Oslo', metadata: { a: 'b' } });
  const user = ok(await api.post<User>('/user', request));
  const path = `/user/${user['user_token']}`;
  const changed = ok(await api.put<User>(path, { first_name: 'Eva', city: '' }));
  assert.deepEqual(changed, { ...user, first_name: 'Eva', city: '' });
  assert.deepEqual(ok(await api.get(path)), changed);
  const other = ok(await api.post<User>('/user', describeUser()));
  assertProblem(await api.put(path, { email: other['email'] }), 409);
  assertProblem(await api.put(path, { internal_user_id: other['internal_user_id'] }), 409);
  const faults = assertProblem(await api.put(path, { email: 'x', country: 'X' }), 400);
  assert.deepEqual(locate(faults), ['/country', '/email']);
  assert.deepEqual(ok(await api.get(path)), changed);
});

test('an unknown or malformed user token is not found', async () => {
  for (const token of [
    `usr_${randomUUID()}`,
    'usr_x',
    'x',
    '%20',
    '%F0%9F%98%80',
    "';--",
    'a'.repeat(600),
  ]) {
    assertProblem(await api.get(`/user/${token}`), 404, 'not_found');
    assertProblem(await api.put(`/user/${token}`, { city: 'x' }), 404, 'not_found');
  }
});

test('a look-up finds by identifier, or by email and first name', async () => {
  const request = describeUser({ email: `Mixed.${randomUUID()}@Example.org` });
  const user = ok(await api.post<User>('/user', request));
  const expected = {
    user_token: user['user_token'],
    first_name: user['first_name'],
    last_name: user['last_name'],
    internal_user_id: user['internal_user_id'],
  };
  const email = encodeURIComponent(String(request['email']));
  for (const query of [
    `internal_user_id=${encodeURIComponent(String(request['internal_user_id']))}`,
    `email=${email}&first_name=Ana`,
  ]) {
    assert.deepEqual(ok(await api.get(`/user/lookup?${query}`)), expected);
  }
  for (const query of ['internal_user_id=nobody', `email=${email}&first_name=Eva`]) {
    assertProblem(await api.get(`/user/lookup?${query}`), 404, 'not_found');
  }
  for (const query of ['', `email=${email}`, 'first_name=Ana']) {
    assertProblem(await api.get(`/user/lookup?${query}`), 400, 'required');
  }
  const other = await createAccount(service);
  assertProblem(await other.api.get(`/user/lookup?email=${email}&first_name=Ana`), 404);
});

type Row = Record<string, string>;

test('lists are newest first, and their pages neither skip nor repeat rows', async () => {
  const mine = (await createAccount(service, { USD: '100000' })).api;
  const recipient = await createRecipient(mine, deliveryCases.bank);
  const other = await createRecipient(mine, deliveryCases.crypto);
  const tokens: string[] = [];
  for (let index = 0; index < 7; index += 1) {
    const to = index % 3 === 2 ? other : recipient;
    tokens.unshift((await createPayout(mine, to))['payout_token'] ?? '');
  }
  const whole = ok(await mine.get<Row[]>('/user/history'));
  assert.deepEqual(
    whole.map((row) => row['token']),
    tokens,
  );
  for (const row of whole) assertShape(row, shapes.history);
  for (const [count, sizes] of [
    [1, [1, 1, 1, 1, 1, 1, 1]],
    [3, [3, 3, 1]],
    [7, [7]],
    [1000, [7]],
  ] as const) {
    const pages = await readPages<Row>(mine, `/user/history?number_of_records=${count}`);
    assert.deepEqual(
      pages.map((page) => page.length),
      sizes,
    );
    assert.deepEqual(pages.flat(), whole);
  }
  const ofUser = await readPages<Row>(
    mine,
    `/user/${recipient.userToken}/history?number_of_records=2`,
  );
  assert.deepEqual(
    ofUser.flat(),
    whole.filter((row) => row['user_token'] === recipient.userToken),
  );
  const payouts = await readPages<Row>(mine, `/payout/${other.userToken}?number_of_records=1`);
  for (const payout of payouts.flat()) assertShape(payout, shapes.payout);
  assert.equal(payouts.flat().length, 2);
});

test('pages neither skip nor repeat rows while payouts are created', async () => {
  const mine = (await createAccount(service, { USD: '100000' })).api;
  const recipient = await createRecipient(mine, deliveryCases.bank);
  for (let index = 0; index < 4; index += 1) await createPayout(mine, recipient);
  const before = ok(await mine.get<Row[]>('/user/history'));
  const first = await mine.get<Row[]>('/user/history?number_of_records=2');
  await createPayout(mine, recipient);
  const next = /<([^>]+)>/.exec(String(first.headers['link']))?.[1] ?? '';
  const rest = await readPages<Row>(mine, next.slice(mine.baseUrl.length));
  assert.deepEqual([...ok(first), ...rest.flat()], before);
});

test('an invalid page size or cursor is refused by name', async () => {
  for (const [query, parameter] of [
    ['number_of_records=0', 'number_of_records'],
    ['number_of_records=1001', 'number_of_records'],
    ['number_of_records=-1', 'number_of_records'],
    ['number_of_records=1.5', 'number_of_records'],
    ['number_of_records=', 'number_of_records'],
    ['number_of_records=0x10', 'number_of_records'],
    ['number_of_records=1e2', 'number_of_records'],
    ['number_of_records=ten', 'number_of_records'],
    ['number_of_records=1&number_of_records=2', 'number_of_records'],
    ['cursor=junk', 'cursor'],
    ['cursor=', 'cursor'],
    ['cursor=a&cursor=b', 'cursor'],
  ] as const) {
    const reply = await api.get(`/user/history?${query}`);
    assert.equal(reply.status, 400, query);
    assert.deepEqual(locate(assertProblem(reply, 400)), [parameter], query);
  }
});

test('the search by metadata finds scalars, with all conditions combined', async () => {
  const mine = (await createAccount(service, { USD: '100000' })).api;
  const recipient = await createRecipient(mine, deliveryCases.bank);
  const first = await createPayout(mine, recipient, {
    metadata: { order: 'A 1&=', count: exact('1.50'), paid: true, 'key[x]': 'ü', common: 'c' },
  });
  const second = await createPayout(mine, recipient, { metadata: { order: 'B', common: 'c' } });
  const find = async (query: string, path = '/user/history'): Promise<string[]> =>
    ok(await mine.get<Row[]>(`${path}?${query}`)).map(
      (row) => row['token'] ?? row['payout_token'] ?? '',
    );
  const one = [first['payout_token'] ?? ''];
  const both = [second['payout_token'] ?? '', ...one];
  assert.deepEqual(await find(`metadata[order]=${encodeURIComponent('A 1&=')}`), one);
  assert.deepEqual(await find(`metadata%5Border%5D=${encodeURIComponent('A 1&=')}`), one);
  assert.deepEqual(await find('metadata[count]=1.5'), one);
  assert.deepEqual(await find('metadata[paid]=true'), one);
  assert.deepEqual(await find(`metadata[key[x]]=${encodeURIComponent('ü')}`), one);
  assert.deepEqual(await find('metadata[common]=c'), both);
  assert.deepEqual(await find('metadata[common]=c&metadata[order]=B'), both.slice(0, 1));
  assert.deepEqual(await find('metadata[common]=C'), []);
  assert.deepEqual(await find('metadata[nothing]=c'), []);
  assert.deepEqual(await find('metadata[common]=c', `/payout/${recipient.userToken}`), both);
  assert.deepEqual(await find('metadata[common]=c', `/user/${recipient.userToken}/history`), both);
  const pages = await readPages<Row>(mine, '/user/history?number_of_records=1&metadata[common]=c');
  assert.deepEqual(
    pages.flat().map((row) => row['token']),
    both,
  );
  const other = await createAccount(service);
  assert.deepEqual(ok(await other.api.get('/user/history?metadata[common]=c')), []);
});

test('metadata has at most 50 keys and 16 KiB', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const keys = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]));
  await createPayout(api, recipient, { metadata: keys(50) });
  await createPayout(api, recipient, { metadata: { big: 'x'.repeat(16_000) } });
  for (const metadata of [keys(51), { big: 'x'.repeat(16_500) }]) {
    const reply = await api.post(`/payout/${recipient.userToken}`, {
      destination_token: recipient.payer.destination_token,
      destination_currency_code: 'MXN',
      source_amount: 10,
      metadata,
    });
    assert.deepEqual(locate(assertProblem(reply, 400)), ['/metadata']);
  }
});

test('every change is an event, numbered without gaps', async () => {
  const mine = (await createAccount(service, { USD: '1000' })).api;
  await createUser(mine);
  const recipient = await createRecipient(mine, deliveryCases.bank);
  const payout = await pay(mine, recipient);
  await mine.post(`/sandbox/payout/${payout.payout_token}`, { outcome: 'completed' });
  const events = ok(await mine.get<{ sequence: { text: string }; type: string }[]>('/events'));
  assert.deepEqual(
    events.map((event) => event.sequence.text),
    events.map((_event, index) => String(index + 1)),
  );
  const later = ok(await mine.get<unknown[]>(`/events?after=${events.length - 1}`));
  assert.equal(later.length, 1);
  for (const after of ['x', '-1', '1.5', '9'.repeat(30)]) {
    assertProblem(await mine.get(`/events?after=${after}`), 400);
  }
});
