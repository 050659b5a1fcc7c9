import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAbbreviation, readParts } from './abbreviations.ts';

test('an abbreviation has letters from the beginning of each word, in order', () => {
  const isOf = (word: string, name: string): boolean => isAbbreviation(word, readParts(name));
  assert.ok(isOf('comecarnes', 'Comercializadora de Carnes Ltda.'));
  assert.ok(isOf('mosoblbank', 'Moskovski Oblastnoi Bank OAO'));
  assert.ok(!isOf('carnescome', 'Comercializadora de Carnes Ltda.'), 'another order');
  assert.ok(!isOf('comecarn', 'Comercializadora de Carnes Rojas'), 'a word is missing');
  assert.ok(!isOf('zverov', 'Zverov Ltda.'), 'one word is no abbreviation');
});
