import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError, type Fault } from '../core/errors.ts';
import { describeProblem } from './problem.ts';

const withCode = (code: string): Error => Object.assign(new Error('secret detail'), { code });

test('an unavailable database is 503 with Retry-After', () => {
  const errors = [
    ...['ECONNRESET', 'ETIMEDOUT', 'EHOSTUNREACH', 'EAI_AGAIN', 'ENOENT'].map(withCode),
    // A restart, a failover to a read-only standby, too many sessions.
    ...['57P01', '57P05', '25006', '53300', '08006', '57014', '40P01'].map(withCode),
    new Error('Connection terminated unexpectedly'),
    new Error('Connection terminated due to connection timeout'),
    new Error('timeout exceeded when trying to connect'),
    new Error('Client has encountered a connection error and is not queryable'),
    new Error('Client was closed and is not queryable'),
    new Error('Query read timeout'),
  ];
  for (const error of errors) {
    const { status, headers, body } = describeProblem(error, 'req_1');
    assert.equal(status, 503, error.message);
    assert.equal(headers?.['retry-after'], '1');
    assert.equal((JSON.parse(body) as { code: string }).code, 'unavailable');
    assert.doesNotMatch(body, /secret|Client|terminated/);
  }
});

test('a full disk of the database is 503 that says so', () => {
  const { status, headers, body } = describeProblem(withCode('53100'), 'req_1');
  assert.equal(status, 503);
  assert.equal(headers?.['retry-after'], '10');
  const { code, detail } = JSON.parse(body) as { code: string; detail: string };
  assert.deepEqual([code, /no disk space left/.test(detail)], ['unavailable', true]);
});

test('an error in a statement or its data is 500', () => {
  const errors = ['42703', '23505', '22P02', '40002', 'P0001', 'XX000'].map(withCode);
  for (const error of [...errors, new Error('impossible: something'), 'no error at all']) {
    const { status, body } = describeProblem(error, 'req_1');
    assert.equal(status, 500);
    assert.doesNotMatch(body, /secret|impossible|no error/);
  }
});

test('a request with one fault is answered with the code of the fault, with several as invalid', () => {
  const missing: Fault = { pointer: '/email', code: 'required', detail: 'email is required' };
  const small: Fault = { pointer: '/source_amount', code: 'below_minimum', detail: 'at least 5' };
  const answer = (faults: Fault[]) => {
    const error = new AppError('invalid_request', 'not valid', { faults });
    const { status, body } = describeProblem(error, 'req_1');
    const { type, title, code } = JSON.parse(body) as Record<string, string>;
    return { status, type, title, code };
  };
  assert.deepEqual(answer([small]), {
    status: 400,
    type: '/problems/below_minimum',
    title: 'The amount is below the minimum of the payer',
    code: 'below_minimum',
  });
  assert.equal(answer([missing, small]).code, 'invalid_request');
  assert.equal(answer([]).code, 'invalid_request');
});

test('a problem that is specific already keeps its code', () => {
  const faults: Fault[] = [{ pointer: '/email', code: 'already_used', detail: 'in use' }];
  const { status, body } = describeProblem(new AppError('user_exists', 'x', { faults }), 'req_1');
  assert.equal(status, 409);
  assert.equal((JSON.parse(body) as { code: string }).code, 'user_exists');
});
