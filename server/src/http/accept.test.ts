import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getPreference, isAcceptable, isPreferredToJson } from './accept.ts';

/** Quadratic work on a text of this length would take hours. */
const long = 4_000_000;

test('an Accept header takes time in proportion to its length', () => {
  for (const accept of [
    `a${' '.repeat(long)}b`,
    `a;${' '.repeat(long)}q=1`,
    `application/json${'\t'.repeat(long)};q=0.5`,
    ';'.repeat(long),
  ]) {
    getPreference(accept, 'application/json');
  }
});

test('the most specific range counts, with spaces around its parameters', () => {
  const accept = 'text/* ; q=0.5 , application/json ;\tq=0.2,*/*;q=0.1';
  assert.deepEqual(getPreference(accept, 'application/json'), {
    quality: 0.2,
    isNamed: true,
    rank: 3,
  });
  assert.equal(getPreference(accept, 'text/html').quality, 0.5);
  assert.equal(getPreference(accept, 'image/png').quality, 0.1);
  assert.ok(isPreferredToJson(accept, 'text/html'));
  assert.ok(!isAcceptable('application/json;q=0', ['application/json']));
});
