import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exchangeHttp } from './http-exchange.ts';

const request = { method: 'POST', url: 'https://bank.test/payments', headers: {}, body: '{}' };

function exchangeWith(fetch: typeof globalThis.fetch, answerBytesMax = 100) {
  const options = { fetch, realNowMs: () => 0, timeoutMs: 60_000, answerBytesMax };
  return exchangeHttp(request, options);
}

test('an answer has its status, its body and the wait that it asks for', async () => {
  const headers = { 'retry-after': '7' };
  const result = await exchangeWith(async () => new Response('busy', { status: 503, headers }));
  assert.ok(result.kind === 'answered');
  assert.equal(result.status, 503);
  assert.equal(result.body?.toString(), 'busy');
  assert.equal(result.retryAfterMs, 7000);
});

test('a body without end is given up', async () => {
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(new TextEncoder().encode('[1,')),
  });
  const result = await exchangeWith(async () => new Response(endless), 10);
  assert.ok(result.kind === 'answered');
  assert.equal(result.body, undefined);
});

test('only a request without a connection was certainly not sent', async () => {
  const fail = (code: string) => async () => {
    const cause = Object.assign(new Error('of 10.0.0.1'), { code });
    throw new TypeError('fetch failed', { cause });
  };
  assert.deepEqual(await exchangeWith(fail('ECONNREFUSED')), {
    kind: 'not_sent',
    error: 'ECONNREFUSED',
  });
  for (const error of ['ECONNRESET', 'CERT_HAS_EXPIRED']) {
    assert.deepEqual(await exchangeWith(fail(error)), { kind: 'unclear', error });
  }
  const odd = await exchangeWith(fail('of 10.0.0.1'));
  assert.deepEqual(odd, { kind: 'unclear', error: 'TypeError' });
});

test('a body that breaks off leaves the outcome unclear', async () => {
  const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) });
  const result = await exchangeWith(async () => new Response(broken));
  assert.deepEqual(result, { kind: 'unclear', error: 'Error' });
});
