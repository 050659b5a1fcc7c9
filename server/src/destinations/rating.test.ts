import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeRating } from './lookup-view.ts';

test('a rating is a plain decimal', () => {
  const company = { description: 'A bank.', railName: 'sandbox', key: 'bank' };
  const rate = (tenths: number | undefined): string =>
    describeRating(company, () => tenths).rating.text;
  assert.equal(rate(50), '5');
  assert.equal(rate(47), '4.7');
  assert.equal(rate(0), '0');
  assert.equal(rate(undefined), '0');
});
