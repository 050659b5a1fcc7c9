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
import { serveTests } from './serve.ts';
import { type Api, type Balance, ok } from './service.ts';
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
