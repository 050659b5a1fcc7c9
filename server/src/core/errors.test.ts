import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AppError,
  assert as assertPossible,
  type ErrorCode,
  errorCatalog,
  type Fault,
  throwFaults,
} from './errors.ts';

test('every code is snake_case, has a status that is an error, and a title without a full stop', () => {
  for (const [code, { status, title }] of Object.entries(errorCatalog)) {
    assert.match(code, /^[a-z]+(?:_[a-z]+)*$/);
    assert.ok(status >= 400 && status < 600, code);
    assert.match(title, /^[A-Za-z].*[^.]$/, code);
  }
});

test('retryable refusals have a retryable status', () => {
  const retried: ErrorCode[] = [
    'idempotency_in_progress',
    'rate_limited',
    'rates_unavailable',
    'unavailable',
  ];
  for (const code of retried) assert.ok([409, 429, 503].includes(errorCatalog[code].status), code);
});

test('an error keeps its code, detail and cause', () => {
  const cause = new Error('below');
  const error = new AppError('duplicate_transfer', 'two at once', {
    cause,
    members: { payout_token: 'x' },
  });
  assert.ok(error instanceof Error);
  assert.deepEqual(
    [error.code, error.message, error.name],
    ['duplicate_transfer', 'two at once', 'AppError'],
  );
  assert.equal(error.cause, cause);
  assert.deepEqual(error.options.members, { payout_token: 'x' });
  assert.equal('cause' in new AppError('duplicate_transfer', 'alone'), false);
});

test('faults are thrown all at once, and none is no error', () => {
  throwFaults([]);
  const faults: Fault[] = [
    { pointer: '/a', code: 'required', detail: 'a is missing' },
    { pointer: '/b', code: 'required', detail: 'b is missing' },
  ];
  assert.throws(
    () => throwFaults(faults),
    (error) =>
      error instanceof AppError &&
      error.code === 'invalid_request' &&
      error.message === 'a is missing (and 1 more)' &&
      error.options.faults === faults,
  );
});

test('an impossible state is a defect of ours, not an answer to a client', () => {
  assertPossible(true, 'fine');
  assert.throws(
    () => assertPossible(false, 'a payout without a user'),
    (error) => error instanceof Error && !(error instanceof AppError),
  );
});
