import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitUnseen } from './unseen.ts';

test('characters that cannot be seen are named, and letters stay as they are', () => {
  for (const name of [
    'Ana Gómez',
    'محمد\u200Cرضا',
    '山田 太郎',
    '👩\u200D🔧',
    "O'Neil-Smith",
    '',
  ]) {
    assert.deepEqual(splitUnseen(name), name === '' ? [] : [{ text: name }]);
  }
  assert.deepEqual(splitUnseen('Ana\u202EzemóG'), [
    { text: 'Ana' },
    { text: '\u202E', code: 'U+202E' },
    { text: 'zemóG' },
  ]);
  const codes = ['\u200B', '\uFEFF', '\u2066', '\u00AD', '\u061C', '\u{E0041}', '\u0007', '\u3164'];
  assert.deepEqual(
    codes.map((character) => splitUnseen(character)[0]?.code),
    ['U+200B', 'U+FEFF', 'U+2066', 'U+00AD', 'U+061C', 'U+E0041', 'U+0007', 'U+3164'],
  );
});
