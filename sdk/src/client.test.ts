import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { type ClientOptions, createClient } from './client.ts';
import { decimal } from './decimal.ts';
import { OutlayError, RateLimitError, ServiceError, UnexpectedAnswerError } from './errors.ts';
import { type RetryPolicy, readRetryAfter } from './retry.ts';

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

test('Retry-After is waited for', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { client } = connect([problem(429, 'rate_limited', '1'), json([])]);
  let isDone = false;
  const call = client.listBalances().finally(() => {
    isDone = true;
  });
  let passedMs = 0;
  for (; !isDone; passedMs += 1) {
    context.mock.timers.tick(1);
    await nextTurn();
  }
  await call;
  assert.ok(passedMs >= 1_000, `${passedMs} ms`);
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

/** Every request fails with the error. */
const failing = (failure: Error, options: Partial<ClientOptions> = {}) =>
  createClient({
    baseUrl: 'https://api.example.org',
    credential: { apiKey: 'test_key' },
    retry: { baseMs: 1 },
    fetch: () => Promise.reject(failure),
    ...options,
  });

test('an error says whether a writing call may have taken effect', async () => {
  const lost = () => {
    throw new TypeError('fetch failed');
  };
  const progress = problem(409, 'idempotency_in_progress', '0');
  const cases = [
    { answers: [problem(403, 'forbidden')], isUnknown: false },
    { answers: [lost, problem(403, 'forbidden')], isUnknown: true },
    { answers: [problem(429, 'rate_limited', '9999')], isUnknown: false },
    { answers: [lost, problem(429, 'rate_limited', '9999')], isUnknown: true },
    { answers: [lost, problem(409, 'duplicate_transfer')], isUnknown: false },
    { answers: Array.from({ length: 5 }, () => progress), isUnknown: true },
    { answers: [problem(501, 'not_implemented')], isUnknown: true },
  ];
  for (const [index, { answers, isUnknown }] of cases.entries()) {
    const { client } = connect(answers);
    await assert.rejects(client.commitPayout(commit), { outcomeUnknown: isUnknown }, `${index}`);
  }
  const { client } = connect([]);
  await assert.rejects(client.commitPayout(commit, { dryRun: true }), { outcomeUnknown: false });
  await assert.rejects(client.listBalances(), { outcomeUnknown: false });
});

test('the status of a refusal is that of the answer, whatever a gateway writes in its body', async () => {
  const gateway = json({ code: 'timeout', detail: 'Upstream' }, { status: 504 });
  const { client } = connect(Array.from({ length: 5 }, () => gateway));
  await assert.rejects(client.commitPayout(commit), { status: 504, outcomeUnknown: true });
});

test('a lost answer has its key also where fetch is replaced and fails in its own way', async () => {
  const client = failing(new Error('socket hang up'));
  await assert.rejects(client.commitPayout(commit, { idempotencyKey: 'k' }), {
    name: 'ConnectionError',
    idempotencyKey: 'k',
    attempts: 5,
  });
});

test('no secret is in the error about a credential or an address that cannot be used', async () => {
  const baseUrl = 'https://api.example.org';
  const isSilent = (error: unknown) => {
    assert.ok(error instanceof TypeError);
    assert.doesNotMatch(inspect(error), /s3cret/);
    return true;
  };
  for (const apiKey of ['s3cret\nkey', 's3cret\u200b']) {
    assert.throws(() => createClient({ baseUrl, credential: { apiKey } }), isSilent);
  }
  for (const address of ['https://me:s3cret@api.example.org', 'http://me:s3cret@api.example.org']) {
    assert.throws(() => connect([], address), isSilent);
  }
  const { client, sent } = connect([]);
  const idempotencyKey = 'rent\nnovember';
  await assert.rejects(client.commitPayout(commit, { idempotencyKey }), /header idempotency-key/);
  assert.equal(sent.length, 0);
  for (const end of ['?', '?a=b', '/#here']) {
    assert.throws(() => connect([], `${baseUrl}${end}`), /query or a fragment/);
  }
});

test('the page of a proxy does not pass for an access token', async () => {
  const page = () => new Response('<p>Sign in</p>', { headers: { 'content-type': 'text/html' } });
  const client = createClient({
    baseUrl: 'https://api.example.org',
    credential: { clientId: 'client', clientSecret: 'secret' },
    retry: { baseMs: 1 },
    fetch: async (url) => {
      assert.equal(new URL(new Request(url).url).pathname, '/oauth2/token');
      return page();
    },
  });
  await assert.rejects(client.commitPayout(commit), {
    name: 'UnexpectedAnswerError',
    outcomeUnknown: false,
  });
});

test('calls that share a failed request for a token have own errors, with their keys and the cause', async () => {
  const client = failing(new TypeError('fetch failed'), {
    credential: { clientId: 'client', clientSecret: 'secret' },
    retry: { retries: 0 },
  });
  const keys = ['one', 'two'];
  const calls = keys.map((idempotencyKey) => client.commitPayout(commit, { idempotencyKey }));
  const results = await Promise.allSettled(calls);
  const errors = results.map((result): unknown => 'reason' in result && result.reason);
  assert.deepEqual(
    errors.map((error) => error instanceof OutlayError && error.idempotencyKey),
    keys,
  );
  for (const error of errors) assert.match(inspect(error), /\[cause\]: TypeError: fetch failed/);
});

test('a caller ends a call that waits for an access token', async () => {
  const client = createClient({
    baseUrl: 'https://api.example.org',
    credential: { clientId: 'client', clientSecret: 'secret' },
    timeoutMs: 300,
    retry: { retries: 0 },
    fetch: (_url, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(new Error('aborted')));
      }),
  });
  const reason = new Error('enough');
  const controller = new AbortController();
  const call = client.listBalances({}, { signal: controller.signal });
  controller.abort(reason);
  await assert.rejects(call, reason);
});

test('a call without a limit of time is not ended at once', async () => {
  const client = createClient({
    baseUrl: 'https://api.example.org',
    credential: { apiKey: 'test_key' },
    timeoutMs: Number.POSITIVE_INFINITY,
    fetch: async (_url, init) => {
      await sleep(20, undefined, { signal: init?.signal ?? undefined });
      return json([])();
    },
  });
  assert.deepEqual(await client.listBalances(), []);
});

test('a date in Retry-After is compared with the clock of the service', () => {
  const date = 'Sun, 01 Nov 2020 08:00:00 GMT';
  const headers = new Headers({ date, 'retry-after': 'Sun, 01 Nov 2020 08:00:30 GMT' });
  assert.equal(readRetryAfter(headers), 30_000);
  headers.delete('date');
  assert.equal(readRetryAfter(headers), 0);
});

test('a fetch that ignores its signal does not outlive the time-out, nor the signal of the caller', async () => {
  const client = createClient({
    baseUrl: 'https://api.example.org',
    credential: { apiKey: 'test_key' },
    timeoutMs: 20,
    retry: { retries: 0 },
    fetch: () => new Promise(() => undefined),
  });
  await assert.rejects(client.commitPayout(commit), { name: 'TimeoutError', outcomeUnknown: true });
  const reason = new Error('enough');
  const signal = AbortSignal.abort(reason);
  const late = new AbortController();
  const call = client.commitPayout(commit, { signal: late.signal, timeoutMs: 60_000 });
  setImmediate(() => late.abort(reason));
  await assert.rejects(call, reason);
  await assert.rejects(client.commitPayout(commit, { signal }), reason);
});

test('calls that share a signal have one listener on it, which ends with the last of them', async () => {
  const { client } = connect(Array.from({ length: 12 }, () => problem(503, 'unavailable', '60')));
  const controller = new AbortController();
  const { signal } = controller;
  const calls = Array.from({ length: 12 }, () => client.listBalances({}, { signal }));
  // First they all wait for an answer, then for the retry.
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  await sleep(20);
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  const reason = new Error('enough');
  controller.abort(reason);
  for (const call of calls) await assert.rejects(call, reason);
  const { signal: unused } = new AbortController();
  await connect([json([])]).client.listBalances({}, { signal: unused });
  assert.equal(getEventListeners(unused, 'abort').length, 0);
});

test('a retry setting that is undefined is the default one', async () => {
  // As a program compiles without exactOptionalPropertyTypes.
  const retry = { retries: undefined, baseMs: 1 } as unknown as RetryPolicy;
  const client = failing(new TypeError('fetch failed'), { retry });
  const signal = AbortSignal.timeout(30_000);
  await assert.rejects(client.listBalances({}, { signal }), { attempts: 5 });
});

test('a floating point number is refused in a query too', async () => {
  const { client, sent } = connect([json({ companies: [] })]);
  const query = { amount: 0.1 + 0.2 };
  const call = client.request({ method: 'GET', path: '/country/MEX/cheapest', query });
  await assert.rejects(call, /0.30000000000000004 is a floating point number/);
  await client.request({ method: 'GET', path: '/event', query: { after: 7, all: true } });
  assert.deepEqual(
    sent.map(({ url }) => new URL(url).search),
    ['?after=7&all=true'],
  );
});
