import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import {
  attributePath,
  chooseValues,
  commitPayout,
  createPayout,
  createRecipient,
  createUser,
  deliveryCases,
  describePayout,
  describeUser,
  pay,
  payoutPath,
  readAttributes,
} from './recipients.ts';
import { serveTests } from './serve.ts';
import {
  type Api,
  createAccount,
  fund,
  type Headers,
  ok,
  type Reply,
  readBalance,
  type Service,
} from './service.ts';
import { assertProblem } from './shapes.ts';

/** Idempotency-Key: one effect per key, and the replay of the first answer. */

let service: Service;
let api: Api;
serveTests({ USD: '100000' }, (served) => {
  ({ service, api } = served);
});

const withKey = (key: string = randomUUID()): Headers => ({ 'idempotency-key': key });

function assertReplay(first: Reply, second: Reply): void {
  ok(first);
  assert.equal(first.headers['idempotent-replayed'], undefined);
  assert.equal(second.status, 200);
  assert.equal(second.text, first.text);
  assert.equal(second.headers['idempotent-replayed'], 'true');
}

type Call = { method: string; path: string; body?: unknown };

/** A request to every operation with a key, and a different one to the same operation. */
async function listCalls(): Promise<Record<string, { call: Call; other: Call }>> {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const [one, two] = [await createPayout(api, recipient), await createPayout(api, recipient)];
  const [third, fourth] = [await pay(api, recipient), await pay(api, recipient)];
  const destination = {
    userToken: recipient.userToken,
    destinationToken: recipient.payer.destination_token,
    currency: 'MXN',
  };
  const values = chooseValues(deliveryCases.bank, await readAttributes(api, destination));
  const path = attributePath(destination);
  const payouts = `/payout/${recipient.userToken}`;
  const commit = (token: string | undefined): string => payoutPath(recipient, token ?? '');
  const user = `/user/${recipient.userToken}`;
  const post = (at: string, body: unknown): Call => ({ method: 'POST', path: at, body });
  return {
    'POST /user': { call: post('/user', describeUser()), other: post('/user', describeUser()) },
    'PUT /user': {
      call: { method: 'PUT', path: user, body: { city: 'Oslo' } },
      other: { method: 'PUT', path: user, body: { city: 'Bergen' } },
    },
    'POST /attribute': {
      call: post(path, { values }),
      other: post(path, { values: [...values, ...values] }),
    },
    'POST /payout': {
      call: post(payouts, describePayout(recipient)),
      other: post(payouts, describePayout(recipient, { source_amount: 101 })),
    },
    'PUT /payout': {
      call: { method: 'PUT', path: commit(one['payout_token']) },
      other: { method: 'PUT', path: commit(two['payout_token']) },
    },
    'PATCH /payout': {
      call: { method: 'PATCH', path: commit(one['payout_token']) },
      other: { method: 'PUT', path: commit(one['payout_token']) },
    },
    'POST /sandbox/fund': {
      call: post('/sandbox/fund', { currency_code: 'USD', amount: 5 }),
      other: post('/sandbox/fund', { currency_code: 'USD', amount: 6 }),
    },
    'POST /sandbox/accounts': {
      call: post('/sandbox/accounts', { name: 'A' }),
      other: post('/sandbox/accounts', { name: 'B' }),
    },
    'POST /sandbox/payout': {
      call: post(`/sandbox/payout/${third.payout_token}`, { outcome: 'completed' }),
      other: post(`/sandbox/payout/${fourth.payout_token}`, { outcome: 'completed' }),
    },
    'POST /sandbox/clock': {
      call: post('/sandbox/clock', { advance_s: 1 }),
      other: post('/sandbox/clock', { advance_s: 2 }),
    },
  };
}

test('a repeated request gets the first answer, and a different one with the key is refused', async (t) => {
  for (const [name, { call, other }] of Object.entries(await listCalls())) {
    await t.test(name, async () => {
      const headers = withKey();
      const send = ({ method, path, body }: Call): Promise<Reply> =>
        api.call(method, path, { body, headers });
      const first = await send(call);
      const second = await send(call);
      assertReplay(first, second);
      assertProblem(await send(other), 422, 'idempotency_key_reused');
      assertReplay(first, await send(call));
    });
  }
});

test('one key makes one payout and one debit', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const headers = withKey();
  const body = describePayout(recipient);
  const path = `/payout/${recipient.userToken}`;
  const replies = [];
  for (let index = 0; index < 5; index += 1) replies.push(ok(await api.post(path, body, headers)));
  assert.equal(new Set(replies.map((reply) => JSON.stringify(reply))).size, 1);
  assert.equal(ok(await api.get<unknown[]>(path)).length, 1);
  const funds = await readBalance(api);
  const funding = withKey();
  for (let index = 0; index < 3; index += 1) {
    ok(await api.post('/sandbox/fund', { currency_code: 'USD', amount: 1 }, funding));
  }
  assert.equal(Number(await readBalance(api)), Number(funds) + 1);
});

test('parallel requests with one key have one effect', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const headers = withKey();
  const path = `/payout/${recipient.userToken}`;
  const body = describePayout(recipient);
  const replies = await Promise.all(
    Array.from({ length: 16 }, () => api.post<{ payout_token: string }>(path, body, headers)),
  );
  for (const reply of replies.filter(({ status }) => status !== 200)) {
    assertProblem(reply, 409, 'idempotency_in_progress');
    assert.ok(Number(reply.headers['retry-after']) > 0);
  }
  const tokens = replies
    .filter(({ status }) => status === 200)
    .map((reply) => reply.body.payout_token);
  assert.equal(new Set(tokens).size, 1);
  assert.equal(ok(await api.get<unknown[]>(path)).length, 1);
});

test('escapes, key order and number form of the body do not matter', async () => {
  const { userToken, payer, attrSetToken } = await createRecipient(api, deliveryCases.bank);
  const headers = withKey();
  const path = `/payout/${userToken}`;
  const token = payer.destination_token;
  const first = await api.post(
    path,
    `{"destination_token":"${token}","destination_currency_code":"MXN","source_amount":100.10,"attr_set_token":"${attrSetToken}","metadata":{"a":1,"b":[1,2]}}`,
    headers,
  );
  for (const text of [
    `{ "metadata" : {"b":[1.0,2e0],"a":1.00}, "attr_set_token":"${attrSetToken}",\n"source_amount":1001e-1,"destination_currency_code":"M\\u0058N","destination_token":"${token}" }`,
    `{"source_amount":100.1,"attr_set_token":"${attrSetToken}","destination_token":"${token}","destination_currency_code":"MXN","metadata":{"b":[1,2],"a":1}}`,
  ]) {
    assertReplay(first, await api.post(path, text, headers));
  }
  const reordered = `{"source_amount":100.1,"attr_set_token":"${attrSetToken}","destination_token":"${token}","destination_currency_code":"MXN","metadata":{"b":[2,1],"a":1}}`;
  assertProblem(await api.post(path, reordered, headers), 422, 'idempotency_key_reused');
});

test('an error is not stored, and its key can be used again', async () => {
  const headers = withKey();
  assertProblem(await api.post('/user', { first_name: 5 }, headers), 400);
  assertProblem(await api.post('/user', '{"broken', headers), 400);
  assertProblem(await api.post('/user', '{}', { ...headers, 'content-type': 'text/plain' }), 415);
  assertProblem(await api.put(`/user/usr_${randomUUID()}`, { city: 'x' }, headers), 404);
  assertProblem(await api.post('/user', {}, { ...headers, authorization: 'Bearer x' }), 401);
  assertProblem(await api.post('/sandbox/clock', { to: '2000-01-01T00:00:00Z' }, headers), 409);
  assertProblem(await api.post('/user', 'x'.repeat(300_000), headers), 413);
  const taken = describeUser();
  ok(await api.post('/user', taken));
  assertProblem(await api.post('/user', taken, headers), 409);
  const request = describeUser();
  assertReplay(
    await api.post('/user', request, headers),
    await api.post('/user', request, headers),
  );
});

test('a failed commit is an answer: its key repeats it, a new key tries again', async () => {
  const unfunded = (await createAccount(service)).api;
  const recipient = await createRecipient(unfunded, deliveryCases.bank);
  const payout = await createPayout(unfunded, recipient);
  const path = payoutPath(recipient, payout['payout_token'] ?? '');
  const headers = withKey();
  const failed = await unfunded.put<{ status: string }>(path, undefined, headers);
  assert.equal(ok(failed).status, 'failure');
  await fund(unfunded, 'USD', '1000');
  const again = await unfunded.put<{ status: string }>(path, undefined, headers);
  assert.equal(again.text, failed.text);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  const fresh = await unfunded.put<{ status: string }>(path, undefined, withKey());
  assert.equal(ok(fresh).status, 'success');
  assert.equal((await unfunded.put(path, undefined, headers)).text, failed.text);
  assert.equal((await commitPayout(unfunded, recipient, payout['payout_token'])).status, 'success');
});

test('a key belongs to its account', async () => {
  const other = (await createAccount(service)).api;
  const headers = withKey();
  const request = describeUser();
  const mine = ok(await api.post<{ user_token: string }>('/user', request, headers));
  const theirs = await other.post<{ user_token: string }>('/user', request, headers);
  assert.equal(theirs.headers['idempotent-replayed'], undefined);
  assert.notEqual(ok(theirs).user_token, mine.user_token);
});

test('a key must be 1 to 255 visible ASCII characters, sent once', async () => {
  for (const key of ['', ' ', 'a b', 'é', 'a\tb', 'a'.repeat(256), ['a', 'b']]) {
    const reply = await api.post('/user', describeUser(), { 'idempotency-key': key });
    const problem = assertProblem(reply, 400, 'invalid_header');
    assert.equal(problem.errors[0]?.parameter?.toLowerCase(), 'idempotency-key', String(key));
  }
  for (const key of ['!', '~'.repeat(255), '"quoted"', 'a,b']) {
    ok(await api.post('/user', describeUser(), { 'idempotency-key': key }));
  }
});

test('a key on a GET is ignored, and keys are case-sensitive', async () => {
  const userToken = await createUser(api);
  const headers = withKey('Case');
  ok(await api.get(`/user/${userToken}`, headers));
  ok(await api.post('/user', describeUser(), headers));
  ok(await api.post('/user', describeUser(), withKey('cASE')));
  assert.equal(
    (await api.get('/account/balance', headers)).headers['idempotent-replayed'],
    undefined,
  );
});

test('the same request in another version is a different request', async () => {
  const headers = withKey();
  const request = describeUser();
  ok(await api.post('/user', request, headers));
  const other = await api.withVersion('v0.1.0').post('/user', request, headers);
  assertProblem(other, 422, 'idempotency_key_reused');
});

test('a key is bound to the query of its request', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const { payout_token: token } = await createPayout(api, recipient);
  const path = `/payout/${recipient.userToken}/${token}`;
  const headers = { 'idempotency-key': randomUUID() };
  const first = await api.patch(
    `${path}?include_payer_logo=true&force_status_update=false`,
    headers,
  );
  ok(first);
  const same = await api.patch(
    `${path}?force_status_update=false&include_payer_logo=true`,
    headers,
  );
  assert.deepEqual([same.status, same.text], [200, first.text]);
  for (const query of ['', '?include_payer_logo=false&force_status_update=false']) {
    assertProblem(await api.patch(`${path}${query}`, headers), 422, 'idempotency_key_reused');
  }
});
