import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCharacterFault } from './plain-text.ts';

test('names as they are written in their scripts have no fault', () => {
  for (const name of [
    "Anne-Marie O'Neill",
    'Nguyễn'.normalize('NFD'),
    'علی\u200cرضا',
    'مُحَمَّد',
    'क्\u200dष',
    'র\u200d্যাব',
    'ශ්\u200dරී',
    'മന്\u200d',
    'សុខ\u200bភា',
    '葛\u{e0100}城',
    '辻\ufe00',
    'שָׁלוֹם',
    'ณัฐวุฒิ',
    '❤\ufe0f Shop',
    '👩🏽\u200d💻',
    '',
  ]) {
    assert.equal(findCharacterFault(name), undefined, JSON.stringify(name));
  }
});

test('characters that hide or reorder others are a fault, and so are marks without a letter', () => {
  for (const name of [
    'Ana\u202eanA',
    'Ana\u2066',
    '\u200fAna',
    'A\u200bna',
    'A\u200dna',
    'علی\u200b',
    '\u200cعلی',
    'علی\u200c\u200c',
    'A\u00adna',
    'A\u034fna',
    '\u3164',
    '\u2800',
    'Ana\u{e0041}',
    'Ana\ufe0f',
    'Ana\uffff',
    '\u0301Ana',
    'Ana \u0301',
    'Ana\u00a0\u0301',
    '\u0301',
  ]) {
    assert.match(findCharacterFault(name) ?? '', /invisible/, JSON.stringify(name));
  }
  assert.match(findCharacterFault('A\ud800na') ?? '', /malformed/);
  assert.match(findCharacterFault('A\nna') ?? '', /control/);
  assert.match(findCharacterFault('A\ufeffna') ?? '', /control/);
});
