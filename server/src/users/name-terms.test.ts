import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listNameTerms, readNameParts } from './name-terms.ts';

const isFound = (search: string, first_name: string, last_name: string): boolean => {
  const terms = new Set(listNameTerms({ first_name, last_name }));
  const parts = readNameParts(search);
  return parts.length > 0 && parts.every((part) => terms.has(part));
};

test('a name is found by its parts in any order, without regard to case and marks', () => {
  for (const search of [
    'Ana',
    'gómez',
    'GOMEZ ANA',
    'go\u0301mez',
    'Ana María',
    'peña',
    'ana-gomez',
  ]) {
    assert.ok(isFound(search, 'Ana María', 'Gómez Peña'), search);
  }
  assert.ok(!isFound('Ana Pérez', 'Ana', 'Gómez'), 'every part must match');
});

test('three to eight letters find the names that begin with them, fewer or more a whole part', () => {
  const find = (search: string) => isFound(search, 'Konstantinos', 'Li');
  assert.ok(find('kon') && find('konstant') && find('konstantinos li'));
  assert.ok(!find('ko') && !find('konstanti') && !find('konstantinosa'));
  assert.ok(find('LI') && !isFound('Li', 'Lisa', 'Lin'));
});

test('a name is found in its own script and in Latin letters', () => {
  for (const [first, last, ...searches] of [
    ['小明', '王', '王小明', '小明', 'wang xiaoming', 'Xiao Ming Wang'],
    ['민수', '김', '김민수', 'gim min-su', 'minsu'],
    ['Андрей', 'Ђорђевић', 'андреи', 'andrei djord', 'ЂОРЂ'],
    ['أحمد', 'مُحَمَّد', 'احمد محمد', 'mhmd'],
    ['अनिता', 'शर्मा', 'अनिता', 'anita'],
    ['がくと', 'さとう', 'がくと', 'gakuto satou'],
    ['Łukasz', 'Strauß', 'lukasz', 'STRAUSS'],
    ['Seán', "O'Brien", 'o’brien', 'OBrien sean'],
    ['İpek', 'Þórsdóttir', 'ipek thorsdot'],
  ]) {
    for (const search of searches) assert.ok(isFound(search, first ?? '', last ?? ''), search);
  }
});

test('a long name has no more terms than a bound', () => {
  const long = Array.from({ length: 40 }, (_, index) => `part${index}x`).join(' ');
  assert.ok(listNameTerms({ first_name: long, last_name: long }).length <= 16 * 7);
  assert.deepEqual(readNameParts(' ... - '), []);
});
