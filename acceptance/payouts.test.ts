import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { add, exact } from './exact.ts';
import {
  attributePath,
  commitPayout,
  createPayout,
  createRecipient,
  createUser,
  type DeliveryCase,
  deliveryCases,
  describePayout,
  fillAttributes,
  findPayer,
  type Payout,
  pay,
  payoutPath,
  readAttributes,
  readPayout,
} from './recipients.ts';
import {
  type Account,
  type Api,
  advance,
  type Balance,
  createAccount,
  ok,
  readBalance,
  type Service,
  startService,
} from './service.ts';
import { assertProblem, assertShape, locate, patterns, shapes } from './shapes.ts';

/** Creating and committing payouts: sources, destinations, identifiers, expiry. */

let service: Service;
let account: Account;
let api: Api;

before(async () => {
  service = await startService();
  account = await createAccount(service, { USD: '100000', EUR: '1000' });
  api = account.api;
});
after(() => service.stop());

test('source_token and destination_token together are refused, as is neither', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const [balance] = ok(await api.get<Balance[]>('/account/balance'));
  const both = describePayout(recipient, { source_token: balance?.token });
  const path = `/payout/${recipient.userToken}`;
  assertProblem(await api.post(path, both), 400, 'source_and_destination_exclusive');
  const { destination_token: _token, ...neither } = describePayout(recipient);
  assertProblem(await api.post(path, neither), 400, 'required');
  assert.deepEqual(ok(await api.get(path)), []);
});

test('with source_token alone the destination is that of the set', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const balances = ok(await api.get<Balance[]>('/account/balance'));
  const euros = balances.find((balance) => balance.currency_code === 'EUR');
  const payout = ok(
    await api.post<Payout>(`/payout/${recipient.userToken}`, {
      source_token: euros?.token,
      destination_currency_code: 'MXN',
      attr_set_token: recipient.attrSetToken,
      source_amount: 50,
    }),
  );
  assertShape(payout, shapes.payout);
  assert.equal(payout['source_currency_code'], 'EUR');
  assert.equal(payout['source_token'], euros?.token);
  assert.equal(payout['destination_token'], recipient.payer.destination_token);
  const result = await commitPayout(api, recipient, payout['payout_token']);
  assert.equal(result.status, 'success');
});

test('with source_token and no set the destination is that of the last payout', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const [balance] = ok(await api.get<Balance[]>('/account/balance'));
  const request = {
    source_token: balance?.token,
    destination_currency_code: 'MXN',
    source_amount: 50,
  };
  const path = `/payout/${recipient.userToken}`;
  assertProblem(await api.post(path, request), 400, 'no_destination');
  await pay(api, recipient);
  const payout = ok(await api.post<Payout>(path, request));
  assert.equal(payout['destination_token'], recipient.payer.destination_token);
});

test('a source_currency_code that differs from the source balance is refused', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const balances = ok(await api.get<Balance[]>('/account/balance'));
  const euros = balances.find((balance) => balance.currency_code === 'EUR');
  const reply = await api.post(`/payout/${recipient.userToken}`, {
    source_token: euros?.token,
    source_currency_code: 'USD',
    destination_currency_code: 'MXN',
    attr_set_token: recipient.attrSetToken,
    source_amount: 50,
  });
  const problem = assertProblem(reply, 400, 'currency_mismatch');
  assert.deepEqual(locate(problem), ['/source_currency_code']);
});

test('all faults of a payout request are reported, each with its pointer', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const reply = await api.post(`/payout/${recipient.userToken}`, {
    client_transfer_id: ' a',
    destination_token: 7,
    destination_currency_code: 'nope',
    source_amount: '100',
    notify_user: 'true',
    metadata: [],
    attr_set_token: {},
  });
  assert.deepEqual(locate(assertProblem(reply, 400, 'invalid_request')), [
    '/attr_set_token',
    '/client_transfer_id',
    '/destination_currency_code',
    '/destination_token',
    '/metadata',
    '/notify_user',
    '/source_amount',
  ]);
});

test('all missing fields of a payout request are reported', async () => {
  const userToken = await createUser(api);
  const path = `/payout/${userToken}`;
  const empty = locate(assertProblem(await api.post(path, {}), 400));
  assert.deepEqual(empty, ['/destination_currency_code', '/destination_token', '/source_amount']);
  const wrong = { destination_currency_code: 5, source_amount: 1, destination_amount: 1 };
  const faults = locate(assertProblem(await api.post(path, wrong), 400));
  assert.deepEqual(faults, [
    '/destination_amount',
    '/destination_currency_code',
    '/destination_token',
  ]);
});

test('an invalid set, destination and amount are reported together', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const body = describePayout(recipient, {
    attr_set_token: 'junk',
    destination_token: randomUUID(),
    source_amount: exact('1.001'),
  });
  const reply = await api.post(`/payout/${recipient.userToken}`, body);
  assert.deepEqual(locate(assertProblem(reply, 400)), [
    '/attr_set_token',
    '/destination_token',
    '/source_amount',
  ]);
});

test('inconsistent fields are refused, with all faults reported', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const body = describePayout(recipient, {
    destination_token: randomUUID(),
    source_currency_code: 'CHF',
  });
  const reply = await api.post(`/payout/${recipient.userToken}`, body);
  assert.deepEqual(locate(assertProblem(reply, 400)), [
    '/destination_token',
    '/source_currency_code',
  ]);
  for (const currency of ['EUR', 'LTC']) {
    const other = describePayout(recipient, { destination_currency_code: currency });
    const refused = await api.post(`/payout/${recipient.userToken}`, other);
    assert.ok(locate(assertProblem(refused, 400)).includes('/destination_currency_code'));
  }
});

test('a set of another user or destination is refused', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const other = await createRecipient(api, deliveryCases.bank);
  const wallet = await fillAttributes(api, {
    userToken: recipient.userToken,
    payer: await findPayer(api, deliveryCases.crypto),
    delivery: deliveryCases.crypto,
  });
  for (const attrSetToken of [other.attrSetToken, wallet, `attr_set_${randomUUID()}`, 'junk']) {
    const body = describePayout(recipient, { attr_set_token: attrSetToken });
    const reply = await api.post(`/payout/${recipient.userToken}`, body);
    assert.deepEqual(locate(assertProblem(reply, 400)), ['/attr_set_token'], attrSetToken);
  }
});

test('a client_transfer_id is generated if absent', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const made = await createPayout(api, recipient);
  assert.match(made['client_transfer_id'] ?? '', /^.{1,50}$/);
  for (const id of ['x', 'ß€ 漢字 🙂', 'a'.repeat(50), `A-${randomUUID()}`]) {
    const given = await createPayout(api, recipient, { client_transfer_id: id });
    assert.equal(given['client_transfer_id'], id);
  }
  for (const id of ['', ' a', 'a ', '\u00a0a', 'a'.repeat(51), 'a\nb', 5, null]) {
    const body = describePayout(recipient, { client_transfer_id: id });
    const reply = await api.post(`/payout/${recipient.userToken}`, body);
    assert.deepEqual(locate(assertProblem(reply, 400)), ['/client_transfer_id'], String(id));
  }
});

test('quotes may repeat a client_transfer_id, which is committed once', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const id = `Order-${randomUUID()}`;
  const first = await createPayout(api, recipient, { client_transfer_id: id });
  const second = await createPayout(api, recipient, { client_transfer_id: id });
  const firstResult = await commitPayout(api, recipient, first['payout_token']);
  assert.equal(firstResult.status, 'success');
  const funds = await readBalance(api);
  const duplicate = await commitPayout(api, recipient, second['payout_token']);
  assert.equal(duplicate.status, 'failure');
  assert.match(duplicate.errors, /^duplicate transfer: /);
  assert.ok(duplicate.errors.includes(first['payout_token'] ?? '-'));
  assert.equal(await readBalance(api), funds);
  assert.equal((await readPayout(api, recipient, second['payout_token']))['status'], 'PENDING');
  const body = describePayout(recipient, { client_transfer_id: id });
  const reply = await api.post(`/payout/${recipient.userToken}`, body);
  assertProblem(reply, 409);
  assert.ok(reply.text.includes(first['payout_token'] ?? '-'));
  const otherCase = await createPayout(api, recipient, { client_transfer_id: id.toLowerCase() });
  const result = await commitPayout(api, recipient, otherCase['payout_token']);
  assert.equal(result.status, 'success', 'case matters');
});

test('a client_transfer_id stays taken after its payout was canceled', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const id = randomUUID();
  const payout = await pay(api, recipient, { client_transfer_id: id });
  ok(await api.post(`/sandbox/payout/${payout.payout_token}`, { outcome: 'rejected' }));
  const body = describePayout(recipient, { client_transfer_id: id });
  assertProblem(await api.post(`/payout/${recipient.userToken}`, body), 409);
});

test('two accounts may use the same client_transfer_id', async () => {
  const id = randomUUID();
  const other = await createAccount(service, { USD: '1000' });
  for (const caller of [api, other.api]) {
    const recipient = await createRecipient(caller, deliveryCases.bank);
    await pay(caller, recipient, { client_transfer_id: id });
  }
});

for (const [name, delivery, seconds] of [
  ['national currencies holds for 15 minutes', deliveryCases.bank, 900],
  ['a cryptocurrency holds for 2 minutes', deliveryCases.crypto, 120],
] as const) {
  test(`a quote with ${name}`, async () => {
    const recipient = await createRecipient(api, delivery);
    const early = await createPayout(api, recipient);
    const fromMs = Date.parse(await readClock(api));
    const late = await createPayout(api, recipient);
    const untilMs = Date.parse(await readClock(api));
    const expiresAt = Date.parse(`${late['expiration']}Z`);
    const createdMs = expiresAt - seconds * 1000;
    // The answer has whole seconds.
    assert.ok(
      createdMs > fromMs - 1000 && createdMs <= untilMs,
      `${fromMs} ${createdMs} ${untilMs}`,
    );
    // Not the last moment, because the clock runs on during the commit.
    const lastMoment = new Date(Date.parse(`${early['expiration']}Z`) - 15_000).toISOString();
    ok(await api.post('/sandbox/clock', { to: lastMoment }));
    const inTime = await commitPayout(api, recipient, early['payout_token']);
    assert.equal(inTime.status, 'success');
    ok(await api.post('/sandbox/clock', { to: new Date(expiresAt + 1000).toISOString() }));
    const funds = await readBalance(api);
    const tooLate = await commitPayout(api, recipient, late['payout_token']);
    assert.equal(tooLate.status, 'ex_rate_expired');
    assert.equal(tooLate.pickup_code, '');
    assert.equal(await readBalance(api), funds);
    const payout = await readPayout(api, recipient, late['payout_token']);
    assert.equal(payout['status'], 'PENDING', 'an expired payout stays PENDING');
    const again = await commitPayout(api, recipient, early['payout_token']);
    assert.equal(again.status, 'success', 'a committed payout does not expire');
  });
}

async function readClock(caller: Api): Promise<string> {
  return ok(await caller.get<{ now: string }>('/sandbox/clock')).now;
}

test('an expired payout can be quoted and committed again with its client_transfer_id', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const id = randomUUID();
  const first = await createPayout(api, recipient, { client_transfer_id: id });
  await advance(api, 901);
  const expired = await commitPayout(api, recipient, first['payout_token']);
  assert.equal(expired.status, 'ex_rate_expired');
  await pay(api, recipient, { client_transfer_id: id });
});

test('a commit requires attributes, from the payout or stored for the user', async () => {
  const recipient = await createRecipient(api, deliveryCases.cash);
  const userToken = await createUser(api);
  const bare = { ...recipient, userToken };
  const path = `/payout/${userToken}`;
  const { attr_set_token: _set, ...request } = describePayout(bare);
  const payout = ok(await api.post<Payout>(path, request));
  assert.equal(payout['attr_set_token'], '');
  assert.deepEqual(payout.attrs, {});
  const funds = await readBalance(api);
  const asked = await commitPayout(api, bare, payout['payout_token']);
  assert.equal(asked.status, 'addtl_attr_req');
  assert.notEqual(asked.errors, '');
  assert.equal(await readBalance(api), funds);
  await fillAttributes(api, { userToken, payer: recipient.payer, delivery: deliveryCases.cash });
  const result = await commitPayout(api, bare, payout['payout_token']);
  assert.equal(result.status, 'success', 'the user was updated, so the payout can be processed');
});

test('a partial set is stored, and the commit requires the rest', async () => {
  const recipient = await createRecipient(api, deliveryCases.cash);
  const userToken = await createUser(api);
  const destination = {
    userToken,
    destinationToken: recipient.payer.destination_token,
    currency: 'MXN',
  };
  const attributes = await readAttributes(api, destination);
  const type = attributes.find((attribute) => attribute.type === 'IdentificationType');
  const path = attributePath(destination);
  const values = [{ token: type?.token, value: 'PASSPORT' }];
  const stored = ok(await api.post<{ attr_set_token: string }>(path, { values }));
  assert.match(stored.attr_set_token, patterns.attributeSet);
  const partial = { ...recipient, userToken, attrSetToken: stored.attr_set_token };
  const payout = await createPayout(api, partial);
  assert.deepEqual(payout.attrs, { IdentificationType: 'PASSPORT' });
  const result = await commitPayout(api, partial, payout['payout_token']);
  assert.equal(result.status, 'addtl_attr_req');
});

test('a payout keeps the version of the set that it was created with', async () => {
  const recipient = await createRecipient(api, deliveryCases.crypto);
  const payout = await createPayout(api, recipient);
  const destination = {
    userToken: recipient.userToken,
    destinationToken: recipient.payer.destination_token,
    currency: 'LTC',
  };
  const [attribute] = await readAttributes(api, destination);
  const value = 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9';
  const changed = ok(
    await api.post<{ attr_set_token: string }>(attributePath(destination), {
      values: [{ token: attribute?.token, value }],
      attr_set_token: recipient.attrSetToken,
    }),
  );
  assert.equal(changed.attr_set_token, recipient.attrSetToken);
  const before = await readPayout(api, recipient, payout['payout_token']);
  assert.deepEqual(before.attrs, payout.attrs);
  assert.notEqual(payout.attrs['BankAccountNumber'], value);
  const later = await createPayout(api, recipient);
  assert.equal(later.attrs['BankAccountNumber'], value);
});

test('a payout of another user or account is not found', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const payout = await createPayout(api, recipient);
  const otherUser = await createUser(api);
  const other = await createAccount(service);
  const otherAccountsUser = await createUser(other.api);
  const token = payout['payout_token'] ?? '';
  for (const [caller, userToken] of [
    [api, otherUser],
    [other.api, recipient.userToken],
    [other.api, otherAccountsUser],
    [api, 'usr_junk'],
  ] as const) {
    const path = payoutPath({ userToken }, token);
    for (const method of ['GET', 'PUT', 'PATCH']) {
      assertProblem(await caller.call(method, path), 404, 'not_found');
    }
  }
  assert.equal((await readPayout(api, recipient, token))['status'], 'PENDING');
});

test('all balances and payouts are accounted for', async () => {
  const rows = ok(await api.get<Payout[]>('/user/history?number_of_records=1000'));
  const spent = rows
    .filter((row) => ['PROCESSING', 'COMPLETED', 'READY_FOR_PICKUP'].includes(row['status'] ?? ''))
    .filter((row) => row['source_currency_code'] === 'USD')
    .map((row) => add(row.source_amount, row.fee))
    .reduce((a, b) => add(a, b), '0');
  assert.equal(add(await readBalance(api), spent), '100000');
});

const dynamic: DeliveryCase = deliveryCases.bank;

test('notify_user and unknown fields are accepted, and the body of a commit is ignored', async () => {
  const recipient = await createRecipient(api, dynamic);
  const payout = await createPayout(api, recipient, { notify_user: true, colour: 'blue' });
  assert.ok(!('colour' in payout));
  const path = payoutPath(recipient, payout['payout_token'] ?? '');
  const result = ok(
    await api.put<{ status: string }>(path, '{"broken', { 'content-type': 'text/x' }),
  );
  assert.equal(result.status, 'success');
});
