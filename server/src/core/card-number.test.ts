import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasCardNumber } from './card-number.ts';

/** The numbers are the public test numbers of card schemes and of Adyen. */

const withNumber = [
  '4111111111111111',
  '4111 1111 1111 1111',
  '4111-1111-1111-1111',
  '4111.1111.1111.1111',
  '370000000000002',
  '3700 000000 00002',
  '5555 5555 5555 4444 03/30',
  '5555555555554444/0330',
  'card 6243030000000001, Ana Núñez',
  '4111\u00a01111\u00a01111\u00a01111',
  '4988438843884305;03;2030',
];

test('a card number is found in any spelling, and in other text', () => {
  for (const text of withNumber) assert.ok(hasCardNumber(text), text);
});

test('tokens, other numbers and words are none', () => {
  for (const text of [
    'ZMV627QSCQVDKG66',
    '4111111111111112',
    '41111111111',
    'BA00000000000000000000001',
    'shopper-2026-11-26/0042',
    '550e8400-e29b-41d4-a716-446655440000',
    '',
  ]) {
    assert.ok(!hasCardNumber(text), text);
  }
});
