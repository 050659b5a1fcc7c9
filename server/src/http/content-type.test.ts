import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMediaType } from './content-type.ts';

test('a body in UTF-8 has the type of its header, whatever its other parameters are', () => {
  for (const header of [
    'application/json',
    'Application/JSON ;',
    'application/json; charset=utf-8',
    'application/json;CHARSET="UTF8"; charset=utf-8',
    'application/json; version=1; charset=utf-8',
    'application/json; q="a b"',
  ]) {
    assert.equal(readMediaType(header), 'application/json', header);
  }
  assert.equal(readMediaType('text/csv; header=present'), 'text/csv');
});

test('another charset or form has no type', () => {
  for (const header of [
    undefined,
    '',
    ';',
    'json',
    'application/',
    '/json',
    'application/json, text/csv',
    'application/json; charset=latin1',
    'application/json; charset=utf-16; version=1',
    'application/json; charset=utf-8; charset=latin1',
    'application/json; charset=',
    'application/json; charset',
    "application/json; charset*=UTF-8''utf-8",
  ]) {
    assert.equal(readMediaType(header), undefined, header);
  }
});
