import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Decimal, decimal } from './decimal.ts';
import { parseJson, writeJson } from './exact-json.ts';

test('an amount keeps every digit from an answer to the next request', () => {
  const text = '{"fee":90071992547409931234.000000000000000001}';
  const { fee } = parseJson(text) as { fee: Decimal };
  assert.equal(fee.text, '90071992547409931234.000000000000000001');
  assert.equal(writeJson({ fee }), text);
});

test('counts and sequences are numbers, also those of a map', () => {
  const text = '{"sequence":7,"payouts":{"COMPLETED":3},"amount":3}';
  assert.deepEqual(parseJson(text), {
    sequence: 7,
    payouts: { COMPLETED: 3 },
    amount: decimal('3'),
  });
});

test('texts that look like numbers, quotes or marks stay texts', () => {
  for (const value of [
    '12',
    'n12',
    's',
    '',
    '"',
    '\\',
    '\\"',
    'a":1',
    '🙂\n',
    '\u2028',
    '{"a":[1]}',
  ]) {
    const text = JSON.stringify({ [value]: [value], __proto__x: value });
    assert.deepEqual(parseJson(text), JSON.parse(text), text);
  }
  assert.deepEqual(parseJson('{"a\\"" : [ true, null ]}'), { 'a"': [true, null] });
});

test('text that is not JSON is refused as JSON.parse does', () => {
  for (const text of [
    '',
    '{',
    '01',
    '1.',
    '-',
    '+1',
    '.5',
    '"',
    '1 2',
    '{"a":1,}',
    '[1',
    'NaN',
    '1e',
  ]) {
    assert.throws(() => JSON.parse(text) as unknown, SyntaxError);
    assert.throws(() => parseJson(text), SyntaxError, text);
  }
});

test('a floating point number is refused before it is sent', () => {
  assert.throws(() => writeJson({ source_amount: 0.1 + 0.2 }), /decimal\('0.30000000000000004'\)/);
  assert.throws(() => writeJson([Number.NaN]), TypeError);
  assert.equal(
    writeJson({ a: [1, 2n, undefined, null], b: undefined, c: new Date(0), d: decimal('1.50') }),
    '{"a":[1,2,null,null],"c":"1970-01-01T00:00:00.000Z","d":1.50}',
  );
});

test('what JSON cannot hold is refused instead of being sent as an empty object', () => {
  for (const value of [
    new Map([['a', '1']]),
    new Set(['a']),
    new TextEncoder().encode('a,b'),
    Buffer.from('a,b'),
    new ReadableStream(),
    Promise.resolve('a'),
  ]) {
    assert.throws(() => writeJson({ metadata: value }), /cannot be written as JSON/);
  }
});

test('decimals add, subtract and compare exactly', () => {
  assert.equal(decimal('0.1').plus(decimal('0.2')).text, '0.3');
  assert.equal(decimal('1').minus(decimal('1.005')).text, '-0.005');
  assert.equal(decimal('1.25e2').plus(decimal('5e-1')).text, '125.5');
  assert.ok(decimal('10').compare(decimal('9')) > 0);
  assert.ok(decimal('1.50').equals(decimal('1.5')));
  assert.equal(String(decimal('1.50')), '1.50');
  assert.equal(JSON.stringify({ fee: decimal('1.50') }), '{"fee":"1.50"}');
});

test('a decimal is never used as a floating point number by accident', () => {
  const add = (value: unknown) => (value as number) + 2;
  for (const compute of [Number, add]) {
    assert.throws(() => compute(decimal('1.5')), /not a floating point number/);
  }
  // JavaScript has no types that refuse them.
  for (const value of [0.1 + 0.2, 1e21, 1, ['1'], undefined]) {
    assert.throws(() => decimal(value as unknown as string), /must be a text/);
  }
  for (const text of ['', '1,5', '.5', '0x1', 'Infinity', ' 1']) {
    assert.throws(() => decimal(text), TypeError, text);
  }
  assert.throws(() => decimal('1e999999999').plus(decimal('1')), RangeError);
});
