import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findDisguises, unmaskName } from './disguised-names.ts';

test('a word that mixes scripts is found, and read as what it looks like', () => {
  // Cyrillic letters: ѕ in Oѕama, а in Lаden.
  assert.deepEqual(findDisguises('O\u0455ama Bin L\u0430den', false), ['mixed_scripts']);
  assert.deepEqual(unmaskName('O\u0455ama Bin L\u0430den'), ['Osama Bin Laden']);
  // Greek omicron, Armenian oh.
  assert.deepEqual(findDisguises('V\u03BFlkov', false), ['mixed_scripts']);
  assert.deepEqual(unmaskName('V\u0585lk\u03BFv'), ['Volkov']);
  // An invisible character between the scripts changes nothing.
  assert.deepEqual(findDisguises('L\u200B\u0430den', true), ['mixed_scripts']);
  // Cherokee has no entry in the table: found by its script all the same.
  assert.deepEqual(findDisguises('\u13AAsama', false), ['mixed_scripts']);
});

test('a word of look-alikes only is read as Latin too, and is no reason to hold', () => {
  assert.deepEqual(findDisguises('\u0421\u0430\u0440\u043E', false), []);
  assert.deepEqual(unmaskName('\u0421\u0430\u0440\u043E'), ['capo']);
});

test('digits within the words of a person are found, and read as letters', () => {
  assert.deepEqual(findDisguises('N1colas Madur0', false), ['digits_in_word']);
  assert.deepEqual(unmaskName('N1colas Madur0'), ['Nicolas Maduro', 'Nlcolas Maduro']);
  assert.deepEqual(unmaskName('V1ktor Veks3lberg 2'), [
    'Viktor Vekselberg 2',
    'Vlktor Vekselberg 2',
  ]);
});

test('companies have digits in their names, which are read as letters and hold nothing', () => {
  assert.deepEqual(findDisguises('7Eleven G4S', true), []);
  assert.deepEqual(unmaskName('Quartzbr1dge'), ['Quartzbridge', 'Quartzbrldge']);
});

test('what people and companies are called is left alone', () => {
  const names = [
    'José María Ñuñez-Gómez',
    'Иван Петрович Смирнов',
    'Иван Smith',
    '李小龙',
    '山田太郎 ヤマダ',
    'NTTデータ',
    '김 Kim',
    'Ζωή Παπαδοπούλου',
    'محمد علی‌رضا',
    "O'Brien ʻAbd",
    'John Smith 3rd',
    'Henry Ⅷ',
    'अमित शर्मा',
    '〇一',
    'Brigade 27',
  ];
  for (const name of names) assert.deepEqual(findDisguises(name, false), [], name);
  assert.deepEqual(unmaskName('José María Ñuñez-Gómez 3rd'), []);
});
