import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RE2JS } from 're2js';
import { isRunnable, matchesForeignPattern, writePublicPattern } from './patterns.ts';

test('a pattern is searched for, in linear time; one of another dialect is not run', () => {
  assert.equal(matchesForeignPattern('[0-9]{3}', 'ab123'), true);
  assert.equal(matchesForeignPattern('^[0-9]{3}$', 'ab123'), false);
  const long = `${'a'.repeat(10_000)}!`;
  for (const pattern of ['^(a+)+$', '^(a|aa)+$', '^(([a-z])+.)+[A-Z]$']) {
    assert.equal(matchesForeignPattern(pattern, long), false);
  }
  for (const pattern of [
    '(?=a)b',
    'a++',
    '(a)\\1',
    '(a{1,1000}){1,1000}',
    `^${'a'.repeat(500)}$`,
  ]) {
    assert.equal(isRunnable(pattern), false);
    assert.equal(matchesForeignPattern(pattern, 'a'), undefined);
  }
});

const shown: readonly (readonly [string, string | undefined])[] = [
  ['^[0-9]{6}$', '^[0-9]{6}$'],
  ['^\\d{6,16}$', '^[0-9]{6,16}$'],
  ['^[A-Za-z]{4}0[0-9A-Za-z]{6}$', '^[A-Za-z]{4}0[0-9A-Za-z]{6}$'],
  ['^[a-zA-Z0-9- ]+$', '^[a-zA-Z0-9\\- ]{1,255}$'],
  ['^\\d{3}-?\\d{2}$', '^[0-9]{3}-?[0-9]{2}$'],
  ['^[A-Z]{2}\\/\\d*$', '^[A-Z]{2}\\/[0-9]{0,255}$'],
  ["^[À-ÖØ-öø-ÿ'. ]{2,}$", "^[À-ÖØ-öø-ÿ'. ]{2,255}$"],
  // Without both anchors, with groups or alternatives, negated, too long or too often: nothing is shown.
  ['[0-9]{6}', undefined],
  ['^[0-9]{6}', undefined],
  ['^([0-9]+)+$', undefined],
  ['^[0-9]{6}$|^[0-9]{9}$', undefined],
  ['^[^0-9]+$', undefined],
  ['^[0-9]{1,999}$', undefined],
  ['^[0-9]{9,1}$', undefined],
  ['^a*a*a*a*$', undefined],
  ['^a+?$', undefined],
  ['^.*$', undefined],
  ['^[,-9]$', undefined],
  ['^[z-a]$', undefined],
  ['^\\p{L}+$', undefined],
  ['^$', undefined],
];

for (const [pattern, expected] of shown) {
  test(`${pattern} is shown as ${expected ?? 'nothing'}`, () => {
    const written = writePublicPattern(pattern);
    assert.equal(written, expected);
    if (written === undefined) return;
    for (const value of ['123456', 'ABCD0123456', '123-45', 'AB/1', 'a b-c', "É'. ", '', '12']) {
      const isMatch = new RegExp(pattern).test(value);
      for (const flags of ['', 'u', 'v']) {
        assert.equal(new RegExp(written, flags).test(value), isMatch, `${value} /${flags}`);
      }
      assert.equal(RE2JS.compile(written).matches(value), isMatch, value);
    }
  });
}
