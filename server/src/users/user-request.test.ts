import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAdult } from '../core/calendar-date.ts';
import { userChanges } from './user-request.routes.ts';

function findFaults(fields: object): string[] {
  const { error } = userChanges.safeParse(fields);
  return (error?.issues ?? []).map((issue) => {
    const [inner = issue] = issue.code === 'invalid_union' ? (issue.errors.at(-1) ?? []) : [];
    return `${issue.path.join('.')} ${inner.message}`;
  });
}

test('a date of birth is a calendar date from 1900 on', () => {
  for (const date of ['', '1900-01-01', '1988-02-29']) {
    assert.deepEqual(findFaults({ date_of_birth: date }), [], date);
  }
  for (const date of ['0001-01-01', '0999-12-31', '1899-12-31']) {
    assert.deepEqual(findFaults({ date_of_birth: date }), [
      'date_of_birth must be 1900-01-01 or later',
    ]);
  }
  for (const date of ['0000-01-01', '1989-02-29', '1988-2-29', '11988-02-28', 'unknown']) {
    assert.deepEqual(findFaults({ date_of_birth: date }), [
      'date_of_birth must be a calendar date, YYYY-MM-DD',
    ]);
  }
});

test('a person is of age on the eighteenth birthday', () => {
  assert.ok(isAdult('2008-11-27', '2026-11-27'));
  assert.ok(!isAdult('2008-11-28', '2026-11-27'));
  assert.ok(!isAdult('2008-02-29', '2026-02-28'));
  assert.ok(isAdult('2008-02-29', '2026-03-01'));
});

test('texts of a person have no characters that hide or reorder others', () => {
  const fields = ['first_name', 'middle_name', 'last_name', 'business_name', 'address1', 'city'];
  for (const field of [...fields, 'address2', 'state_province', 'postal_code']) {
    assert.deepEqual(findFaults({ [field]: 'Ana \u202eseya' }), [
      `${field} must not contain invisible characters, direction marks or combining marks without a letter`,
    ]);
  }
  assert.deepEqual(findFaults({ first_name: 'A\tna' }), [
    'first_name must not contain control characters',
  ]);
  assert.deepEqual(findFaults({ first_name: 'علی\u200cرضا' }), []);
  assert.equal(findFaults({ email: 'ana\u200b@shop.example' }).length, 1);
});
