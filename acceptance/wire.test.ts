import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLiveAccount, runCommand } from './commands.ts';
import { add, exact, multiplyDown, subtract } from './exact.ts';
import {
  type CountryLookup,
  commitPayout,
  createPayout,
  createRecipient,
  createUser,
  deliveryCases,
  describePayout,
  describeUser,
  fillAttributes,
  findPayer,
  type Payout,
  pay,
  readAttributes,
  readPayout,
} from './recipients.ts';
import { serveTests } from './serve.ts';
import {
  type Api,
  advance,
  type Balance,
  createAccount,
  daySeconds,
  fund,
  ok,
  readBalance,
  readPages,
  type Service,
  startService,
  versions,
} from './service.ts';
import { assertProblem, assertShape, patterns, shapes } from './shapes.ts';
import { createDatabases } from './test-database.ts';
import { untilAdmitted } from './until-admitted.ts';

/** Rules for all operations, and settings that change answers. */

let service: Service;
let api: Api;
serveTests({ USD: '100000', EUR: '100000' }, (served) => {
  ({ service, api } = served);
});

test('answers are JSON in UTF-8, and lists are arrays', async () => {
  const user = await createUser(api);
  for (const [path, isList] of [
    ['/account/balance', true],
    ['/country/list', true],
    ['/country/MEX/cheapest', false],
    [`/user/${user}`, false],
    [`/user/${user}/history`, true],
    ['/user/history', true],
    [`/payout/${user}`, true],
    [`/user/${user}/kyc/id`, true],
    ['/events', true],
  ] as const) {
    for (const version of versions) {
      const reply = await api.withVersion(version).get(path);
      assert.equal(Array.isArray(ok(reply)), isList, path);
      assert.match(String(reply.headers['content-type']), /^application\/json; charset=utf-8$/);
    }
  }
});

test('health, metrics, tokens and the sandbox are not versioned', async () => {
  for (const path of ['/health/live', '/health/ready', '/metrics', '/openapi.json', '/docs']) {
    const reply = await api.get(path, { authorization: [], accept: '*/*' });
    assert.equal(reply.status, 200, path);
    const versioned = await api.get(`/v0.1.4${path}`);
    assertProblem(versioned, 404);
  }
  for (const path of ['/v0.1.4/sandbox/clock', '/v0.1.4/oauth2/token', '/account/balance/']) {
    assertProblem(await api.get(path), 404);
  }
  const bare = await api.call('GET', '/v0.1.9/account/balance', { headers: { authorization: [] } });
  assertProblem(bare, 404, 'unknown_version');
});

test('the media type of a receipt follows Accept', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const payout = await pay(api, recipient);
  const path = `/payout/${recipient.userToken}/${payout.payout_token}`;
  for (const [accept, type] of [
    ['application/pdf', 'application/pdf'],
    ['APPLICATION/PDF', 'application/pdf'],
    ['text/html, application/pdf', 'application/pdf'],
    ['application/pdf, application/json;q=0.5', 'application/pdf'],
    ['application/pdf, */*;q=0.1', 'application/pdf'],
    ['application/pdf;q=0.1, application/json', 'application/json; charset=utf-8'],
    ['application/json, application/pdf;q=0', 'application/json; charset=utf-8'],
    ['*/*', 'application/json; charset=utf-8'],
  ] as const) {
    const reply = await api.get(path, { accept });
    assert.equal(reply.status, 200, accept);
    assert.equal(reply.headers['content-type'], type, accept);
  }
});

test('a missing rating is 0 and explained', async () => {
  const lookup = ok(await api.get<CountryLookup>('/country/MEX/cheapest'));
  // Some companies may have paid so much for other tests of this service that they have a rating.
  const missing = lookup.companies.filter(({ rating }) => rating.toString() === '0');
  assert.ok(missing.length > 0);
  for (const company of missing) {
    assert.match(company.description, /\brat(?:ing|ed)\b/i, company.company_name);
  }
});

test('the statement of a balance is paged, newest first', async () => {
  const mine = await createAccount(service);
  for (const amount of ['1', '2', '3', '4', '5']) await fund(mine.api, 'USD', amount);
  const [balance] = ok(await mine.api.get<Balance[]>('/account/balance'));
  const path = `/account/balance/${balance?.token}/entries`;
  type Entry = { amount: { text: string } };
  const whole = ok(await mine.api.get<Entry[]>(path)).map((entry) => entry.amount.text);
  assert.deepEqual(whole, ['5', '4', '3', '2', '1']);
  const pages = await readPages<Entry>(mine.api, `${path}?number_of_records=2`);
  assert.deepEqual(
    pages.map((page) => page.length),
    [2, 2, 1],
  );
  const seen = pages.flat().map((entry) => entry.amount.text);
  assert.deepEqual(seen, whole);
});

test('cash worth more than 1,000 USD needs a verification in euros, too', async () => {
  const userToken = await createUser(api);
  const query = 'amount=950&source_currency=EUR';
  const payer = await findPayer(api, deliveryCases.cash, query);
  const attrSetToken = await fillAttributes(api, {
    userToken,
    payer,
    delivery: deliveryCases.cash,
  });
  const recipient = { userToken, payer, delivery: deliveryCases.cash, attrSetToken };
  const euros = { source_currency_code: 'EUR' };
  const large = await createPayout(api, recipient, { ...euros, source_amount: 950 });
  const asked = await commitPayout(api, recipient, large['payout_token']);
  assert.equal(asked.status, 'addtl_attr_req');
  const small = await createPayout(api, recipient, { ...euros, source_amount: 800 });
  const result = await commitPayout(api, recipient, small['payout_token']);
  assert.equal(result.status, 'success');
});

test('a key replays its answer for thirty days of the clock', async () => {
  const headers = { 'idempotency-key': randomUUID() };
  const body = { currency_code: 'USD', amount: 1 };
  const first = await api.post('/sandbox/fund', body, headers);
  await advance(api, 29 * daySeconds);
  const second = await api.post('/sandbox/fund', body, headers);
  assert.equal(second.text, first.text);
  assert.equal(second.headers['idempotent-replayed'], 'true');
  await advance(api, 2 * daySeconds);
  const other = { currency_code: 'USD', amount: 2 };
  const third = await api.post('/sandbox/fund', other, headers);
  assert.equal(third.status, 200, 'the key is free again');
  assert.equal(third.headers['idempotent-replayed'], undefined);
});

test('a list without number_of_records has a hundred rows', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const path = `/payout/${recipient.userToken}`;
  const create = (_: unknown, index: number): Promise<Payout> => {
    const key = { 'idempotency-key': `${recipient.userToken}-${index}` };
    return untilAdmitted(async () =>
      ok(await api.post<Payout>(path, describePayout(recipient), key)),
    );
  };
  await Promise.all(Array.from({ length: 101 }, create));
  const pages = await readPages<Payout>(api, path);
  assert.deepEqual(
    pages.map((page) => page.length),
    [100, 1],
  );
});

test('a balance in one cryptocurrency can pay another', async () => {
  const mine = await createAccount(service, { BTC: '1' });
  const query = 'source_currency=BTC';
  const recipient = await createRecipient(mine.api, deliveryCases.crypto, { query });
  const payout = await pay(mine.api, recipient, {
    source_currency_code: 'BTC',
    source_amount: exact('0.01000001'),
  });
  const paid = multiplyDown(payout.source_amount, payout.exchange_rate, 8);
  assert.equal(payout.destination_amount.text, paid);
  const left = subtract('1', payout.source_amount, payout.fee);
  assert.equal(await readBalance(mine.api, 'BTC'), left);
});

test('between equal currencies the rate is 1 without rounding', async () => {
  const delivery = { country: 'USA', deliveryType: 'BANK_DEPOSIT', currency: 'USD' };
  const payer = await findPayer(api, delivery);
  const userToken = await createUser(api, { country: 'USA' });
  for (const side of ['source_amount', 'destination_amount']) {
    const body = {
      destination_token: payer.destination_token,
      destination_currency_code: 'USD',
      [side]: exact('100.01'),
    };
    const payout = ok(await api.post<Payout>(`/payout/${userToken}`, body));
    assert.equal(payout.exchange_rate.text, '1');
    assert.equal(String(payout['mid_rate']), '1');
    assert.equal(String(payout['margin']), '0');
    assert.equal(payout.source_amount.text, '100.01');
    assert.equal(payout.destination_amount.text, '100.01');
  }
});

test('an ended payout keeps its receipt and its place in the history', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const payout = await pay(api, recipient);
  ok(await api.post(`/sandbox/payout/${payout.payout_token}`, { outcome: 'rejected' }));
  const exported = ok(
    await api.patch<Payout>(`/payout/${recipient.userToken}/${payout.payout_token}`),
  );
  assertShape(exported, shapes.payout);
  assert.equal(exported['status'], 'CANCELLED');
  assert.ok((exported['content'] ?? '').length > 1000);
  const [row] = ok(await api.get<Payout[]>(`/user/${recipient.userToken}/history`));
  assert.equal(row?.['status'], 'CANCELLED');
  assert.equal(row?.['status_reason'], exported['status_reason']);
  assert.match(row?.['time_of_txn'] ?? '', patterns.localTime);
});

test('a dynamic destination fails over to an equivalent payer', async () => {
  const lookup = ok(await api.get<CountryLookup>('/country/MEX'));
  const dynamic = lookup.companies
    .flatMap((company) => company.services)
    .filter((offered) => offered.delivery_type === 'BANK_DEPOSIT')
    .flatMap((offered) => offered.payers)
    .find((payer) => payer.is_dynamic_token);
  assert.ok(dynamic, 'a dynamic bank payer');
  const userToken = await createUser(api);
  const attrSetToken = await fillAttributes(api, {
    userToken,
    payer: dynamic,
    delivery: deliveryCases.bank,
  });
  const recipient = { userToken, payer: dynamic, delivery: deliveryCases.bank, attrSetToken };
  const payout = await pay(api, recipient);
  ok(await api.post(`/sandbox/payout/${payout.payout_token}`, { outcome: 'rejected' }));
  const now = await readPayout(api, recipient, payout.payout_token);
  // A rejection by the sandbox counts for every payer: the payout ends and is refunded.
  assert.ok(['CANCELLED', 'ERROR'].includes(now['status'] ?? ''));
});

test('a rate limit answers 429 with the time to wait', async () => {
  const limited = await startService({
    isOwn: true,
    settings: { OUTLAY_RATE_LIMIT_CREDENTIAL: '2', OUTLAY_QUOTE_SECONDS: '60' },
  });
  try {
    const replies = await Promise.all(
      Array.from({ length: 60 }, () => limited.demo.get('/account/balance')),
    );
    const refused = replies.filter((reply) => reply.status !== 200);
    assert.ok(refused.length >= 20 && refused.length < 60, refused[0]?.text);
    for (const reply of refused) {
      assertProblem(reply, 429, 'rate_limited');
      assert.match(String(reply.headers['retry-after']), /^\d+$/);
      for (const name of ['limit', 'remaining', 'reset']) {
        assert.match(String(reply.headers[`ratelimit-${name}`]), /^\d+$/);
      }
    }
  } finally {
    await limited.stop();
  }
});

type Printed = Record<string, string>;

test('one process serves both environments, which share nothing', async () => {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'outlay-environments-'));
  const databases = await createDatabases();
  const settings = { OUTLAY_ENVIRONMENTS: 'staging,live', ...databases.settings };
  const live = await createLiveAccount({ dataDirectory, settings });
  const both = await startService({ isOwn: true, dataDirectory, settings });
  try {
    const [onLive, onStaging] = [
      { host: 'api.example.test' },
      { host: 'staging-api.example.test' },
    ];
    const asLive = both.demo.withToken(live['api_key'] ?? '');
    assert.match(live['api_key'] ?? '', /^live_/);
    ok(await asLive.get('/account/balance', onLive));
    assertProblem(await asLive.get('/account/balance', onStaging), 401);
    assertProblem(await asLive.get('/account/balance'), 401);
    assertProblem(await both.demo.get('/account/balance', onLive), 401);
    assertProblem(await asLive.get('/sandbox/clock', onLive), 404, 'not_found');
    assertProblem(await asLive.post('/sandbox/fund', {}, onLive), 404, 'not_found');
    await advance(both.demo, 300 * daySeconds);
    const user = ok(await asLive.post<Printed>('/user', describeUser(), onLive));
    const lagMs = Math.abs(Date.parse(`${user['created_on']}Z`) - Date.now());
    assert.ok(lagMs < daySeconds * 1000, 'the clock of staging is not the clock of live');
    assertProblem(await both.demo.get(`/user/${user['user_token']}`), 404);
    const lookup = await asLive.get<CountryLookup>('/country/MEX/cheapest', onLive);
    if (lookup.status === 200) assert.deepEqual(lookup.body, { companies: [] });
    else assertProblem(lookup, 503);
  } finally {
    await both.stop();
    await databases.drop();
    await rm(dataDirectory, { recursive: true });
  }
});

test('an account can be set to accept both tokens, of which the destination counts', async () => {
  const own = await startService({ isOwn: true });
  try {
    const words = ['--account', own.credentials.account, '--accept-both-tokens', 'true'];
    await runCommand(own, ['account', 'set', ...words]);
    const recipient = await createRecipient(own.demo, deliveryCases.bank);
    const balances = ok(await own.demo.get<Balance[]>('/account/balance'));
    const euros = balances.find((balance) => balance.currency_code === 'EUR');
    const body = describePayout(recipient, { source_token: euros?.token });
    const payout = ok(await own.demo.post<Payout>(`/payout/${recipient.userToken}`, body));
    assert.equal(payout['source_token'], euros?.token);
    assert.equal(payout['source_currency_code'], 'EUR');
    assert.equal(payout['destination_token'], recipient.payer.destination_token);
    const left = add(payout.source_amount, payout.fee);
    assert.notEqual(left, '0');
    ok(await own.demo.get(`/user/${recipient.userToken}`));
    assert.ok(
      (
        await readAttributes(own.demo, {
          userToken: recipient.userToken,
          destinationToken: recipient.payer.destination_token,
          currency: 'MXN',
        })
      ).length > 0,
    );
  } finally {
    await own.stop();
  }
});
