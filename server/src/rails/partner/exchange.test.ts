import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newKeys } from '../../../testing/setups/partner.ts';
import { createExchange } from './exchange.ts';
import {
  createSigningKey,
  createVerifyingKeys,
  digestBody,
  type SignatureTimes,
  signMessage,
} from './signatures.ts';

const keys = newKeys();
const nowMs = Date.UTC(2030, 0, 15);
const question = {
  method: 'GET' as const,
  path: '/payments/a',
  body: '',
  expiresS: nowMs / 1000 + 60,
  signal: new AbortController().signal,
};

type Asked = { url: string; headers: Record<string, string>; init: RequestInit };

/** A partner's answer to a question, as its own code could make it. */
async function answerTo(asked: Asked, status = 200, text = '{"state":"paid"}'): Promise<Response> {
  const body = Buffer.from(text);
  const nonce = /nonce="([^"]+)"/.exec(asked.headers['Signature-Input'] ?? '')?.[1] ?? '';
  const times: SignatureTimes = { createdS: nowMs / 1000, expiresS: nowMs / 1000 + 60, nonce };
  const message = { status, headers: { 'content-digest': digestBody(body) } };
  const request = { method: 'GET', url: asked.url, headers: asked.headers };
  const part = { role: 'answer' as const, message, request };
  const headers = await signMessage(part, createSigningKey(keys.partner), times);
  return new Response(body, { status, headers });
}

function open(respond: (asked: Asked) => Promise<Response>, timeoutMs = 5000) {
  return createExchange({
    baseUrl: 'https://partner.example.test/v1',
    signingKey: createSigningKey(keys.outlay),
    partnerKeys: createVerifyingKeys([keys.partner]),
    timeoutMs,
    realNowMs: () => nowMs,
    fetch: async (url, init = {}) => {
      assert.ok(typeof url === 'string');
      return await respond({ url, init, headers: init.headers as Record<string, string> });
    },
  });
}

test('a signed answer to this question is taken, with the time that the partner gives it', async () => {
  const result = await open((asked) => answerTo(asked, 404, '{"error":"unknown_reference"}'))(
    question,
  );
  assert.equal(result.kind, 'answered');
  assert.equal(result.kind === 'answered' && result.createdS, nowMs / 1000);
  assert.equal(result.kind === 'answered' && result.status, 404);
});

test('an earlier answer to the same question is not taken again', async () => {
  let kept: Promise<Response> | undefined;
  const exchange = open(async (asked) => {
    kept ??= answerTo(asked);
    return (await kept).clone();
  });
  assert.equal((await exchange(question)).kind, 'answered');
  assert.equal((await exchange(question)).kind, 'unclear');
});

test('a redirection is not followed, and is no answer', async () => {
  let redirect: RequestInit['redirect'];
  const exchange = open(async ({ init }) => {
    ({ redirect } = init);
    return new Response(null, { status: 307, headers: { location: 'https://elsewhere.test' } });
  });
  assert.equal((await exchange(question)).kind, 'unclear');
  assert.equal(redirect, 'manual');
});

test('an answer without end is cut off', async () => {
  const endless = (): Response => {
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)),
    });
    return new Response(body);
  };
  const result = await open(async () => endless())(question);
  assert.deepEqual(result, {
    kind: 'unclear',
    reason: 'not_understood',
    detail: 'the answer is too long',
  });
});

function fail(cause: unknown): Promise<Response> {
  return Promise.reject(new TypeError('fetch failed', { cause }));
}

test('only a failure to connect is certain to have sent nothing', async () => {
  const fault = (code: string, syscall: string) =>
    Object.assign(new Error('fault'), { code, syscall });
  const kindOf = async (cause: unknown) => (await open(() => fail(cause))(question)).kind;
  const refused = fault('ECONNREFUSED', 'connect');
  assert.equal(await kindOf(refused), 'not_sent');
  assert.equal(await kindOf(fault('ENOTFOUND', 'getaddrinfo')), 'not_sent');
  assert.equal(await kindOf(new AggregateError([refused, refused])), 'not_sent');
  assert.equal(await kindOf(new AggregateError([refused, fault('ECONNRESET', 'read')])), 'unclear');
  assert.equal(await kindOf(fault('ECONNRESET', 'read')), 'unclear');
  assert.equal(await kindOf(fault('EHOSTUNREACH', 'write')), 'unclear');
  assert.equal(await kindOf(undefined), 'unclear');
});

test('a request ends after the configured time', async () => {
  const exchange = open(
    ({ init }) =>
      new Promise((_, reject) => {
        init.signal?.addEventListener('abort', () => reject(new Error('aborted')));
      }),
    20,
  );
  assert.equal((await exchange(question)).kind, 'unclear');
});
