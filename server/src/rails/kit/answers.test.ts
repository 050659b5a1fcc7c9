import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JsonNumber } from '../../core/exact-json.ts';
import { isBeforeConnection, parseExact, parseJson, toText } from './answers.ts';

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

test('a body that was too long, or is not UTF-8, is no JSON', () => {
  assert.equal(parseJson(toText(undefined)), undefined);
  assert.equal(parseExact(Buffer.from([0x22, 0xff, 0x22])), undefined);
  assert.deepEqual(parseExact(Buffer.from('[1.10]')), [new JsonNumber('1.10')]);
});
