import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findObfuscations, readObfuscatedName } from './obfuscated-names.ts';

test('a word that mixes scripts is detected and read as the Latin word that it resembles', () => {
  // Cyrillic letters: ѕ in Oѕama, а in Lаden.
  assert.deepEqual(findObfuscations('O\u0455ama Bin L\u0430den', false), ['mixed_scripts']);
  assert.deepEqual(readObfuscatedName('O\u0455ama Bin L\u0430den'), ['Osama Bin Laden']);
  // Greek omicron, Armenian oh.
  assert.deepEqual(findObfuscations('V\u03BFlkov', false), ['mixed_scripts']);
  assert.deepEqual(readObfuscatedName('V\u0585lk\u03BFv'), ['Volkov']);
  // An invisible character between the scripts changes nothing.
  assert.deepEqual(findObfuscations('L\u200B\u0430den', true), ['mixed_scripts']);
  // Cherokee is not in the table, but detected by its script.
  assert.deepEqual(findObfuscations('\u13AAsama', false), ['mixed_scripts']);
});

test('a word of look-alikes only is read as Latin too, but needs no review', () => {
  assert.deepEqual(findObfuscations('\u0421\u0430\u0440\u043E', false), []);
  assert.deepEqual(readObfuscatedName('\u0421\u0430\u0440\u043E'), ['capo']);
});

test("digits within a person's name are detected and read as letters", () => {
  assert.deepEqual(findObfuscations('N1colas Madur0', false), ['digits_in_word']);
  assert.deepEqual(readObfuscatedName('N1colas Madur0'), ['Nicolas Maduro', 'Nlcolas Maduro']);
  assert.deepEqual(readObfuscatedName('V1ktor Veks3lberg 2'), [
    'Viktor Vekselberg 2',
    'Vlktor Vekselberg 2',
  ]);
});

test("digits in a company's name are read as letters, but need no review", () => {
  assert.deepEqual(findObfuscations('7Eleven G4S', true), []);
  assert.deepEqual(readObfuscatedName('Quartzbr1dge'), ['Quartzbridge', 'Quartzbrldge']);
});

test('ordinary names of people and companies need no review', () => {
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
  for (const name of names) assert.deepEqual(findObfuscations(name, false), [], name);
  assert.deepEqual(readObfuscatedName('José María Ñuñez-Gómez 3rd'), []);
});
