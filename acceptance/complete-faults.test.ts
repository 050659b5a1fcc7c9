import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { exact } from './exact.ts';
import {
  createRecipient,
  deliveryCases,
  describePayout,
  describeUser,
  type User,
} from './recipients.ts';
import { isoOf, readNowMs } from './schedule-kit.ts';
import { serveTests } from './serve.ts';
import { type Api, type Balance, daySeconds, ok } from './service.ts';
import { assertProblem, locate } from './shapes.ts';

/** A refusal names every fault of the request, and each only once. */

let api: Api;
serveTests({ USD: '1000' }, (served) => {
  ({ api } = served);
});

test('a conflict of a user names every field that is taken', async () => {
  const [first, second] = [describeUser(), describeUser()];
  ok(await api.post('/user', first));
  const { user_token: token } = ok(await api.post<User>('/user', second));
  const { internal_user_id: id, email } = first;
  const taken = ['/email', '/internal_user_id'];
  const key = { 'idempotency-key': randomUUID() };
  for (const headers of [{}, key]) {
    const made = await api.post(
      '/user',
      { ...describeUser(), internal_user_id: id, email },
      headers,
    );
    assert.deepEqual(locate(assertProblem(made, 409, 'user_exists')), taken);
    const own = { internal_user_id: id, email: second['email'] };
    const half = await api.put(`/user/${token}`, own, headers);
    assert.deepEqual(locate(assertProblem(half, 409, 'user_exists')), ['/internal_user_id']);
    const both = await api.put(`/user/${token}`, { internal_user_id: id, email }, headers);
    assert.deepEqual(locate(assertProblem(both, 409, 'user_exists')), taken);
  }
});

test('all faults of the query of a look-up are reported', async () => {
  const query = 'source_currency=xx&amount=abc&limit=-1&destination_currency=peso';
  for (const path of ['/country/ZZZ/cheapest', '/country/ZZZ']) {
    const problem = assertProblem(await api.get(`${path}?${query}`), 400, 'invalid_request');
    assert.deepEqual(locate(problem), [
      'amount',
      'country_code',
      'destination_currency',
      'limit',
      'source_currency',
    ]);
  }
  const [balance] = ok(await api.get<Balance[]>('/account/balance'));
  const contradicting = `wallet_token=${balance?.token}&source_currency=EUR&amount=1.001`;
  const problem = assertProblem(await api.get(`/country/MEX/cheapest?${contradicting}`), 400);
  assert.deepEqual(locate(problem), ['amount', 'source_currency']);
});

test('one wrong value is one fault, whose code is that of the problem', async () => {
  for (const [field, value, code] of [
    ['first_name', [], 'invalid_type'],
    ['first_name', '', 'too_short'],
    ['first_name', '  ', 'invalid_value'],
    ['email', {}, 'invalid_type'],
    ['mobile_number', ['a'], 'invalid_type'],
  ] as const) {
    const reply = await api.post('/user', describeUser({ [field]: value }));
    assert.equal(assertProblem(reply, 400, code).errors.length, 1, `${field} ${reply.text}`);
  }
  const recipient = await createRecipient(api, deliveryCases.bank);
  for (const [field, value, code] of [
    ['destination_currency_code', 'mxn', 'invalid_value'],
    ['source_currency_code', '', 'invalid_value'],
    ['source_currency_code', 'XXQ', 'unknown_currency'],
    ['client_transfer_id', [], 'invalid_type'],
    ['source_amount', '100', 'invalid_type'],
    ['metadata', [], 'invalid_type'],
    ['client_transfer_id', ' \n', 'invalid_value'],
  ] as const) {
    const body = describePayout(recipient, { [field]: value });
    const reply = await api.post(`/payout/${recipient.userToken}`, body);
    assert.equal(assertProblem(reply, 400, code).errors.length, 1, `${field} ${reply.text}`);
  }
});

test('nothing new is made in a withdrawn currency, and the refusal names its successor', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const path = `/payout/${recipient.userToken}`;
  const quote = (field: string) => api.post(path, describePayout(recipient, { [field]: 'BGN' }));
  for (const reply of [
    await quote('source_currency_code'),
    await quote('destination_currency_code'),
    await api.post('/sandbox/fund', { currency_code: 'BGN', amount: 1 }),
    await api.get('/country/BGR/cheapest?source_currency=BGN'),
    await api.get('/country/BGR/cheapest?destination_currency=BGN'),
  ]) {
    const { errors } = assertProblem(reply, 400, 'unknown_currency');
    assert.match(errors[0]?.detail ?? '', /^\w+ must be EUR, which replaced BGN$/);
  }
});

test('both tokens are reported with the other faults of a payout', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const [balance] = ok(await api.get<Balance[]>('/account/balance'));
  const path = `/payout/${recipient.userToken}`;
  const tokens = ['/destination_token', '/source_token'];
  const request = { source_token: balance?.token };
  for (const [changes, others] of [
    [{ source_amount: exact('0.001') }, ['/source_amount']],
    [{ source_currency_code: 'EUR' }, ['/source_currency_code']],
    [{ source_amount: 1, destination_amount: 5 }, ['/destination_amount']],
    [
      { client_transfer_id: '', source_amount: 1, destination_amount: 5 },
      ['/client_transfer_id', '/destination_amount'],
    ],
    [{ notify_user: 'yes' }, ['/notify_user']],
  ] as const) {
    const reply = await api.post(path, describePayout(recipient, { ...request, ...changes }));
    const problem = assertProblem(reply, 400, 'source_and_destination_exclusive');
    assert.deepEqual(locate(problem), [...tokens, ...others].toSorted());
    const named = problem.errors.filter(({ pointer = '' }) => tokens.includes(pointer));
    assert.ok(
      named.every(({ code }) => code === 'source_and_destination_exclusive'),
      reply.text,
    );
  }
});

test('an amount is checked although the account has no balance in its currency', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  for (const [currency, amount] of [
    ['CHF', '1.001'],
    ['JPY', '1.5'],
    ['CHF', '0'],
  ] as const) {
    const body = describePayout(recipient, {
      source_currency_code: currency,
      source_amount: exact(amount),
    });
    const problem = assertProblem(await api.post(`/payout/${recipient.userToken}`, body), 400);
    assert.deepEqual(locate(problem), ['/source_amount', '/source_currency_code']);
  }
});

test('all faults of the query of a list are reported', async () => {
  const [balance] = ok(await api.get<Balance[]>('/account/balance'));
  const range = 'from=2026-12-01&to=2026-11-01';
  for (const path of [
    '/payout',
    '/user',
    '/user/history',
    '/batches',
    `/account/balance/${balance?.token}/entries`,
  ]) {
    const reply = await api.get(`${path}?${range}&cursor=junk`);
    assert.deepEqual(locate(assertProblem(reply, 400, 'invalid_request')), ['cursor', 'to'], path);
  }
  const ends = 'from=2026-01-01&start_date=2026-01-01&to=2026-02-01&end_date=2026-02-01';
  const pages = 'page=1&cursor=junk&limit=5&number_of_records=5';
  const reply = await api.get(`/user/history?${ends}&${pages}`);
  assert.deepEqual(locate(assertProblem(reply, 400, 'invalid_request')), [
    'cursor',
    'end_date',
    'limit',
    'page',
    'start_date',
  ]);
});

test('what the purpose of a link needs is reported with its other faults', async () => {
  const { userToken } = await createRecipient(api, deliveryCases.bank);
  const wrong = { expires_in_seconds: 1, redirect_url: 'http://shop.example', payout_token: 'x' };
  const reply = await api.post(`/user/${userToken}/link`, { purpose: 'payout_details', ...wrong });
  assert.deepEqual(locate(assertProblem(reply, 400, 'invalid_request')), [
    '/currency',
    '/destination_token',
    '/expires_in_seconds',
    '/payout_token',
    '/redirect_url',
  ]);
});

test('the bounds of a scheduled payout are checked without its destination', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const later = isoOf((await readNowMs(api)) + 30 * daySeconds * 1000);
  const body = describePayout(recipient, {
    destination_token: randomUUID(),
    attr_set_token: undefined,
    destination_amount: 500,
    scheduled_for: later.slice(0, 10),
    max_source_amount: 0,
  });
  const reply = await api.post(`/payout/${recipient.userToken}`, body);
  const problem = assertProblem(reply, 400, 'invalid_request');
  assert.deepEqual(locate(problem), ['/destination_token', '/max_source_amount']);
});

test('the amount of a question about readiness is checked with its currencies', async () => {
  const { userToken, payer } = await createRecipient(api, deliveryCases.bank);
  const query = `destination_token=${payer.destination_token}&currency=mx&source_currency=XXQ&amount=q`;
  const problem = assertProblem(await api.get(`/user/${userToken}/readiness?${query}`), 400);
  assert.deepEqual(locate(problem), ['amount', 'currency', 'source_currency']);
});
