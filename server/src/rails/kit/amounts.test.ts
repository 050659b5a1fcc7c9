import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatFixed, formatFixedAmount } from './amounts.ts';

test('a fixed amount has all digits of its scale', () => {
  assert.equal(formatFixed(10_010n, 2), '100.10');
  assert.equal(formatFixed(5n, 2), '0.05');
  assert.equal(formatFixed(5n, 0), '5');
  assert.equal(formatFixed(1_234n, 3), '1.234');
  assert.equal(formatFixed(1n, 8), '0.00000001');
  assert.equal(formatFixedAmount(1_234n, 'KWD'), '1.234');
});
