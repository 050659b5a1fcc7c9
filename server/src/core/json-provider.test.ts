import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { openJsonProvider, ProviderError } from './json-provider.ts';

const schema = z.object({ case: z.string() });

function open(answer: () => Response) {
  const requests: { url: string; init: RequestInit }[] = [];
  const given: typeof fetch = async (url, init = {}) => {
    requests.push({ url: new Request(url).url, init });
    return answer();
  };
  const address = { url: 'https://provider.test/cases', token: 'secret', fetch: given };
  const provider = openJsonProvider(address, { answerBytesMax: 40, callMsMax: 60_000 });
  return { provider, requests };
}

test('a provider is asked with its token, and takes a key once', async () => {
  const { provider, requests } = open(() => Response.json({ case: 'one' }));
  assert.equal(provider.name, 'provider.test');
  const post = { body: '{"id":1}', key: 'payment-1' };
  assert.deepEqual(await provider.ask(schema, { post }), { case: 'one' });
  await provider.ask(schema, { path: '/one' });
  const [first, second] = requests;
  assert.equal(first?.url, 'https://provider.test/cases');
  assert.equal(first?.init.method, 'POST');
  assert.equal(first?.init.body, post.body);
  assert.equal(first?.init.redirect, 'error');
  const headers = new Headers(first?.init.headers);
  assert.equal(headers.get('authorization'), 'Bearer secret');
  assert.equal(headers.get('idempotency-key'), 'payment-1');
  assert.equal(second?.url, 'https://provider.test/cases/one');
  assert.equal(second?.init.method, undefined);
  assert.equal(new Headers(second?.init.headers).get('idempotency-key'), null);
});

test('an answer that cannot be used is a failure that quotes nothing of it', async () => {
  const answers: [RegExp, () => Response][] = [
    [/answered 503/, () => new Response('', { status: 503 })],
    [/too long/, () => new Response('x'.repeat(41))],
    [/another form/, () => new Response('Ana Sample')],
    [/another form/, () => Response.json({ name: 'Ana Sample' })],
    [
      /gave no answer/,
      () => {
        throw new TypeError('fetch failed');
      },
    ],
  ];
  for (const [expected, answer] of answers) {
    await assert.rejects(open(answer).provider.ask(schema, {}), (error) => {
      assert.ok(error instanceof ProviderError);
      assert.match(error.message, expected);
      assert.doesNotMatch(error.message, /Ana/);
      return true;
    });
  }
});
