import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createUser } from './recipients.ts';
import { serveTests } from './serve.ts';
import { type Api, ok, type Service } from './service.ts';
import { assertProblem } from './shapes.ts';

/** Malformed paths, hosts, methods and media types. */

let service: Service;
let api: Api;
serveTests({ USD: '1000' }, (served) => {
  ({ service, api } = served);
});

test('a malformed or traversing path is not found', async () => {
  for (const path of [
    '/%',
    '/v0.1.4/user/%zz',
    '/v0.1.4/user/%C0%AF',
    '/v0.1.4/country/%ff/cheapest',
  ]) {
    const reply = await api.call('GET', path);
    assertProblem(reply, reply.status === 404 ? 404 : 400);
  }
  for (const path of [
    '/v0.1.4/../../etc/passwd',
    '/verify/assets/..%2f..%2f..%2fpackage.json',
    '/verify/assets/../../kyc.ts',
    '/docs/..%2fpackage.json',
    '/v0.1.4/%2e%2e/%2e%2e/etc/passwd',
    '/.env',
    '/v0.1.4//account/balance',
    '/v0.1.4/account/balance/',
    '/v0.1.4/ACCOUNT/BALANCE',
    '/v0.1.4',
    '/v0.1.4/',
  ]) {
    assertProblem(await api.call('GET', path), 404);
  }
});

test('a NUL or unusual text in path or query never causes a 500', async () => {
  const strange = [
    '%00',
    '%01',
    '%0a',
    '%ff',
    '%ed%a0%80',
    '%F0%9F%98%80',
    "'",
    '%22',
    '%5C',
    '%25',
  ];
  for (const text of strange) {
    for (const path of [
      `/user/lookup?internal_user_id=${text}`,
      `/user/lookup?email=${text}&first_name=${text}`,
      `/user/history?metadata[${text}]=${text}`,
      `/user/history?cursor=${text}`,
      `/country/MEX?payer_name=${text}`,
      `/country/MEX?wallet_token=${text}`,
      `/country/MEX?destination_currency=${text}`,
      `/country/${text}`,
      `/user/${text}`,
      `/user/usr_${text}/history`,
      `/payout/${text}/${text}`,
      `/attribute/${text}/${text}/${text}`,
      `/account/balance/${text}/entries`,
      `/account/balance/${text}/statement?date=${text}`,
      `/events?after=${text}`,
      `/verify/${text}/status`,
    ]) {
      const reply = await api.get(path);
      assert.ok(reply.status < 500, `${reply.status} ${path}`);
      if (reply.status !== 200) assertProblem(reply, reply.status);
    }
  }
});

test('a malformed Host is refused on every path', async () => {
  ok(await api.post('/sandbox/fund', { currency_code: 'USD', amount: 1 }));
  const [wallet] = ok(await api.get<{ token: string }[]>('/account/balance'));
  const paged = `/account/balance/${wallet?.token}/entries?number_of_records=1`;
  for (const given of [
    'a b',
    '[',
    '[::1',
    '::',
    'a:b:c',
    'a/b',
    'x@y',
    'a?b',
    'a#b',
    'a\\b',
    'a:99999',
  ]) {
    for (const path of ['/account/balance', paged]) {
      const reply = await api.get(path, { host: given });
      assert.equal(reply.status, 400, `${given} ${path} ${reply.text}`);
      assertProblem(reply, 400, 'malformed_http');
    }
  }
});

test('the port of a Host does not change its environment', async () => {
  for (const given of ['api:8080', 'api.example.test:443', 'API:80', 'api']) {
    const reply = await api.get('/account/balance', { host: given });
    assert.equal(reply.status, 401, given);
  }
  for (const given of [
    'staging-api:8080',
    'staging-api',
    '127.0.0.1:1',
    '[::1]:80',
    'localhost',
    'api-x.test',
  ]) {
    ok(await api.get('/account/balance', { host: given }));
  }
});

test('a client that sends all of an oversized body gets the 413', async () => {
  const statuses: number[] = [];
  for (let index = 0; index < 10; index += 1) {
    const reply = await fetch(`${service.baseUrl}/v0.1.4/user`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.token}`, 'content-type': 'application/json' },
      body: 'A'.repeat(5_000_000),
    }).catch((error: unknown) => {
      assert.ok(error instanceof Error);
      return undefined;
    });
    statuses.push(reply?.status ?? 0);
    await reply?.arrayBuffer();
  }
  assert.deepEqual(
    statuses,
    Array.from({ length: 10 }, () => 413),
  );
});

test('a long path never causes a 500', async () => {
  for (const length of [200, 600, 2000, 10_000]) {
    for (const path of [
      `/user/${'a'.repeat(length)}`,
      `/user/lookup?internal_user_id=${'a'.repeat(length)}`,
    ]) {
      const reply = await api.get(path);
      assert.ok(
        [400, 404, 414].includes(reply.status),
        `${reply.status} ${path.length} ${reply.text}`,
      );
      assertProblem(reply, reply.status);
    }
  }
});

test('an unsupported method is 405 with Allow', async () => {
  const userToken = await createUser(api);
  for (const [method, path, allowed] of [
    ['DELETE', `/user/${userToken}`, ['GET', 'HEAD', 'PUT']],
    ['POST', '/account/balance', ['GET', 'HEAD']],
    ['DELETE', '/user', ['GET', 'HEAD', 'POST']],
    ['PUT', '/user', ['GET', 'HEAD', 'POST']],
    ['DELETE', `/payout/${userToken}/payout_x`, ['GET', 'HEAD', 'PATCH', 'PUT']],
    ['PATCH', `/payout/${userToken}`, ['GET', 'HEAD', 'POST']],
    ['PUT', '/sandbox/clock', ['GET', 'HEAD', 'POST']],
    ['GET', '/sandbox/fund', ['POST']],
    ['OPTIONS', '/user', ['GET', 'HEAD', 'POST']],
    ['TRACE', '/account/balance', ['GET', 'HEAD']],
    ['PROPFIND', '/account/balance', ['GET', 'HEAD']],
    ['QUERY', '/user', ['GET', 'HEAD', 'POST']],
    ['GET', '/oauth2/token', ['POST']],
    ['POST', '/health/live', ['GET', 'HEAD']],
    ['POST', '/.well-known/oauth-authorization-server', ['GET', 'HEAD']],
  ] as const) {
    const reply = await api.call(method, path);
    assert.equal(reply.status, 405, `${method} ${path}`);
    assertProblem(reply, 405, 'method_not_allowed');
    const names = String(reply.headers['allow']).split(/, */).toSorted();
    assert.deepEqual(names, [...allowed].toSorted(), `${method} ${path}`);
  }
  assertProblem(await api.call('QUERY', '/nope'), 404, 'not_found');
  const malformed = { body: '{}', headers: { 'content-type': 'json' } };
  assertProblem(await api.call('POST', '/nope', malformed), 404, 'not_found');
  assertProblem(await api.call('POST', '/account/balance', malformed), 405, 'method_not_allowed');
});

test('HEAD is GET without the body', async () => {
  for (const path of ['/account/balance', '/country/list', '/health/live']) {
    const get = await api.get(path);
    const head = await api.call('HEAD', path);
    assert.equal(head.status, 200, path);
    assert.equal(head.text, '');
    assert.equal(head.headers['content-type'], get.headers['content-type']);
  }
  assert.equal((await api.call('HEAD', '/user/usr_x')).status, 404);
  assert.equal(
    (await api.call('HEAD', '/account/balance', { headers: { authorization: [] } })).status,
    401,
  );
});

test('an excluded media type is 406, with wildcards and weights', async () => {
  for (const accept of [
    'text/html',
    'application/xml',
    'image/*',
    'application/json;q=0',
    'application/pdf',
    'x',
    ',',
  ]) {
    assertProblem(await api.get('/account/balance', { accept }), 406, 'not_acceptable');
  }
  for (const accept of [
    '*/*',
    'application/*',
    'text/html, application/json;q=0.1',
    'text/html,*/*;q=0.8',
    [],
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
  ]) {
    ok(await api.get('/account/balance', { accept }));
  }
});

test('every answer carries its request id and is not stored by caches', async () => {
  for (const path of ['/account/balance', '/nothing', '/user/usr_x']) {
    const reply = await api.get<{ request_id?: string }>(path);
    assert.ok(reply.headers['x-request-id'], path);
    if (reply.status !== 200) assert.equal(reply.body.request_id, reply.headers['x-request-id']);
    assert.equal(reply.headers['cache-control'], 'no-store');
    assert.equal(reply.headers['x-content-type-options'], 'nosniff');
    assert.equal(reply.headers['x-powered-by'], undefined);
  }
});

test('invalid query parameters are named, and unknown ones ignored', async () => {
  for (const [query, parameter] of [
    ['amount=0', 'amount'],
    ['amount=-5', 'amount'],
    ['amount=1.001', 'amount'],
    ['amount=abc', 'amount'],
    ['amount=1e400', 'amount'],
    ['amount=99999999999999999999', 'amount'],
    ['amount=', 'amount'],
    ['amount=1&amount=2', 'amount'],
    ['limit=x', 'limit'],
    ['source_currency=XXZ', 'source_currency'],
    ['destination_currency=nope', 'destination_currency'],
    ['include_payer_logos=yes', 'include_payer_logos'],
  ]) {
    const reply = await api.get<{ errors: { parameter: string }[] }>(
      `/country/MEX/cheapest?${query}`,
    );
    assertProblem(reply, 400);
    assert.deepEqual(
      reply.body.errors.map((fault) => fault.parameter),
      [parameter],
      query,
    );
  }
  ok(await api.get('/country/MEX/cheapest?colour=blue&__proto__=x&constructor=y'));
});

test('a query that is not percent-encoded UTF-8 is refused, like such a path', async () => {
  for (const path of ['/payout', '/user/lookup', '/user/history', '/account/balance', '/none']) {
    for (const text of ['%E4', '%', '%zz', '%C0%AF', '%ED%A0%80', 'a%2']) {
      for (const query of [`client_transfer_id=${text}`, `${text}=a`, `a=b&c=${text}`]) {
        assertProblem(await api.get(`${path}?${query}`), 400, 'malformed_http');
      }
    }
  }
  assert.deepEqual(ok(await api.get('/payout?client_transfer_id=%C3%A4+%25')), []);
  assertProblem(await api.get('/account/balance%E4'), 400, 'malformed_http');
});

test('the same process still answers afterwards', async () => {
  ok(await api.get('/account/balance'));
  if (service.process !== undefined) assert.equal(service.process.exitCode, null);
  assert.doesNotMatch(service.output(), /unhandled|uncaught|"level":60/i);
});
