import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBeforeConnection, parseJson, readRetryAfter, readText } from './answers.ts';

const nowMs = Date.UTC(2030, 0, 15);

test('Retry-After is read as seconds or as a date', () => {
  const read = (value?: string) =>
    readRetryAfter(new Headers(value === undefined ? {} : { 'retry-after': value }), nowMs);
  assert.equal(read('30'), 30_000);
  assert.equal(read('Tue, 15 Jan 2030 00:02:00 GMT'), 120_000);
  for (const value of [
    undefined,
    '',
    '-5',
    'soon',
    'Tue, 15 Jan 2020 00:00:00 GMT',
    '1234567890',
  ]) {
    assert.equal(read(value), 0, String(value));
  }
});

test('only failures to connect to every address are certain to have sent nothing', () => {
  const fault = (code: string, syscall?: string) =>
    Object.assign(new Error('fault'), { code, ...(syscall !== undefined && { syscall }) });
  const isUnsent = (cause: unknown) => isBeforeConnection(new TypeError('fetch failed', { cause }));
  const refused = fault('ECONNREFUSED', 'connect');
  assert.ok(isUnsent(refused));
  assert.ok(isUnsent(fault('UND_ERR_CONNECT_TIMEOUT')));
  assert.ok(isUnsent(fault('ENOTFOUND', 'getaddrinfo')));
  assert.ok(isUnsent(new AggregateError([refused, fault('ENETUNREACH', 'connect')])));
  for (const cause of [
    new AggregateError([]),
    new AggregateError([refused, fault('ECONNRESET', 'read')]),
    fault('ECONNRESET', 'read'),
    fault('EHOSTUNREACH', 'write'),
    fault('ENOTFOUND'),
    { code: 'ECONNREFUSED', syscall: 'connect' },
    undefined,
  ]) {
    assert.ok(!isUnsent(cause), JSON.stringify(cause));
  }
  // The code of the error itself, without a cause of `fetch`, proves nothing.
  assert.ok(!isBeforeConnection(refused));
  assert.ok(!isBeforeConnection('ECONNREFUSED'));
});

test('a body without end is given up, and is no JSON then', async () => {
  const endless = new ReadableStream({
    pull: (controller) => controller.enqueue(new TextEncoder().encode('[1,')),
  });
  const text = await readText(new Response(endless), 10);
  assert.equal(text, '');
  assert.equal(parseJson(text), undefined);
  assert.equal(await readText(new Response(null), 10), '');
});
