import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from './client.ts';
import { decimal } from './decimal.ts';
import { OutlayError, RateLimitError, ServiceError, UnexpectedAnswerError } from './errors.ts';

/** The network in a list of answers. */
function connect(answers: readonly (() => Response)[], baseUrl = 'https://api.example.org/') {
  const sent: Request[] = [];
  const client = createClient({
    baseUrl,
    credential: { apiKey: 'test_key' },
    retry: { baseMs: 1 },
    fetch: async (url, init) => {
      sent.push(new Request(url, init));
      const answer = answers[sent.length - 1];
      if (answer === undefined) throw new TypeError('fetch failed');
      return answer();
    },
  });
  return { client, sent };
}

const json =
  (body: unknown, init: ResponseInit = {}) =>
  () =>
    Response.json(body, { headers: { 'content-type': 'application/json' }, ...init });

const problem = (status: number, code: string, retryAfter?: string) =>
  json(
    { type: 'x', title: 'x', status, detail: 'Wait', code, request_id: 'r', errors: [] },
    { status, headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter } },
  );

const commit = { user_token: 'usr_1', payout_token: 'payout/1' };

test('a token that would lead to another operation is refused, and nothing is sent', async () => {
  const { client, sent } = connect([json({}), json({})]);
  for (const token of ['.', '..', '']) {
    const call = () => client.getUser({ user_token: token });
    await assert.rejects(async () => call(), TypeError, `token "${token}"`);
    const path = `/user/${token}/readiness`;
    await assert.rejects(client.request({ method: 'GET', path }), TypeError, path);
  }
  for (const path of ['/user/%2e%2E/payout', '/user//payout', '/user\\..\\payout', '/user/']) {
    await assert.rejects(client.request({ method: 'GET', path }), /empty, "\." or "\.\."/);
  }
  await client.getUser({ user_token: '../a?b#c/...' });
  await client.request({ method: 'GET', path: '/payout', query: { metadata: { a: '/../' } } });
  assert.deepEqual(
    sent.map(({ url }) => new URL(url).pathname),
    ['/v0.1.4/user/..%2Fa%3Fb%23c%2F...', '/v0.1.4/payout'],
  );
});

test('all attempts of a commit have one idempotency key', async () => {
  const { client, sent } = connect([
    problem(503, 'unavailable'),
    problem(409, 'idempotency_in_progress', '0'),
    problem(500, 'internal_error'),
    json({ status: 'success' }),
  ]);
  assert.equal((await client.commitPayout(commit)).status, 'success');
  const keys = sent.map(({ headers }) => headers.get('idempotency-key'));
  assert.equal(sent.length, 4);
  assert.equal(new Set(keys).size, 1);
  assert.match(String(keys[0]), /^[0-9a-f]{32}$/);
  assert.equal(sent[0]?.url, 'https://api.example.org/v0.1.4/payout/usr_1/payout%2F1');
});

test('Retry-After is waited for', async () => {
  const { client } = connect([problem(429, 'rate_limited', '1'), json([])]);
  const startMs = performance.now();
  await client.listBalances();
  assert.ok(performance.now() - startMs >= 990);
});

test('a Retry-After that is too long ends the call and is in the error', async () => {
  const { client, sent } = connect([problem(429, 'rate_limited', '3600')]);
  await assert.rejects(client.listBalances(), (error) => {
    assert.ok(error instanceof RateLimitError);
    assert.equal(error.retryAfterMs, 3_600_000);
    assert.equal(error.retryable, true);
    return true;
  });
  assert.equal(sent.length, 1);
});

test('a refusal that is not retryable is not retried', async () => {
  const { client, sent } = connect([problem(409, 'duplicate_transfer')]);
  await assert.rejects(client.commitPayout(commit), {
    code: 'duplicate_transfer',
    retryable: false,
  });
  assert.equal(sent.length, 1);
});

test('an outage ends with the last error and the number of attempts', async () => {
  const { client } = connect(Array.from({ length: 5 }, () => problem(503, 'unavailable')));
  await assert.rejects(client.listBalances(), (error) => {
    assert.ok(error instanceof ServiceError && error instanceof OutlayError);
    assert.equal(error.attempts, 5);
    return true;
  });
});

test('calls that start together share one access token, and an outage of its endpoint is retried', async () => {
  const asked: string[] = [];
  const client = createClient({
    baseUrl: 'https://api.example.org',
    credential: { clientId: 'client', clientSecret: 'secret' },
    retry: { baseMs: 1 },
    fetch: async (url) => {
      asked.push(new URL(new Request(url).url).pathname);
      if (asked.length === 1) return problem(503, 'unavailable', '0')();
      return json(asked.length === 2 ? { access_token: 'a', expires_in: 3600 } : [])();
    },
  });
  await Promise.all([client.listBalances(), client.listCountries()]);
  assert.deepEqual(asked.toSorted(), [
    '/oauth2/token',
    '/oauth2/token',
    '/v0.1.4/account/balance',
    '/v0.1.4/country/list',
  ]);
});

test('a redirect is not followed with the credential', async () => {
  const { client, sent } = connect([
    () => new Response(null, { status: 302, headers: { location: 'https://evil.example' } }),
  ]);
  await assert.rejects(client.listBalances(), UnexpectedAnswerError);
  assert.equal(sent.length, 1);
  assert.equal(sent[0]?.redirect, 'manual');
});

test('a quote that is above the limit by itself is not tried again, and one that waits for others is', async () => {
  const order = {
    destination_token: 'd',
    destination_currency_code: 'MXN',
    source_amount: decimal('30000000'),
  };
  const never = connect([problem(429, 'open_quotes_exceeded')]);
  await assert.rejects(
    never.client.createPayout({ user_token: 'usr_1', body: order }),
    (error: unknown) => error instanceof RateLimitError && !error.retryable,
  );
  assert.equal(never.sent.length, 1);
  const later = connect([problem(429, 'open_quotes_exceeded', '0'), json({ payout_token: 'p' })]);
  await later.client.createPayout({ user_token: 'usr_1', body: order });
  assert.equal(later.sent.length, 2);
});

test('the page of a proxy with status 200 does not pass for an answer, nor does an empty one', async () => {
  const page = () =>
    new Response('<p>Sign in</p>', { headers: { 'content-type': 'text/html; charset=utf-8' } });
  const empty = () => new Response(null, { headers: { 'content-type': 'application/json' } });
  const { client, sent } = connect([page, empty, json({ status: 'success' })]);
  assert.deepEqual(await client.commitPayout(commit), { status: 'success' });
  const keys = sent.map(({ headers }) => headers.get('idempotency-key'));
  assert.equal(new Set(keys).size, 1, 'a commit is repeated with its key');
  const always = connect(Array.from({ length: 5 }, () => page)).client;
  await assert.rejects(always.listBalances(), (error: unknown) => {
    assert.ok(error instanceof UnexpectedAnswerError);
    assert.match(error.message, /status 200 and text\/html content/);
    return true;
  });
});

test('an address with a version is refused: the version would be sent twice', () => {
  assert.throws(
    () => connect([], 'https://api.example.org/v0.1.4/'),
    /must not end with a version/,
  );
});

test('a request may leave out what has a default', () => {
  const { client } = connect([]);
  // A type that asks for `signature` or `event_types` does not compile.
  const call = () => client.createWebhook({ body: { url: 'https://shop.example/events' } });
  assert.equal(typeof call, 'function');
});

test('the next page of a list is read at the address of the client', async () => {
  const link = '<https://evil.example/v0.1.4/user?cursor=c%2F2&number_of_records=1>; rel="next"';
  const { client, sent } = connect([
    json([{ user_token: 'a' }], { headers: { link, 'content-type': 'application/json' } }),
    json([]),
  ]);
  for await (const { user_token } of client.listUsers({ country: 'MEX' }))
    assert.equal(user_token, 'a');
  assert.equal(sent[1]?.url, 'https://api.example.org/v0.1.4/user?country=MEX&cursor=c%2F2');
});

test('a credential is not sent in clear text to another machine', () => {
  assert.throws(() => connect([], 'http://api.example.org'), /https/);
  connect([], 'http://127.0.0.1:8080');
});
