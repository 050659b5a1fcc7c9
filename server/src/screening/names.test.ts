import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSkeleton, readWords } from './names.ts';

const textsOf = (name: string): string =>
  readWords(name)
    .map(({ text }) => text)
    .join(' ');

test('names in any script become words in plain Latin letters', () => {
  assert.equal(textsOf('Łukasz MÜLLER-Öztürk'), 'lukasz muller ozturk');
  assert.equal(textsOf('Щербаков Юрий'), 'shcherbakov yuriy');
  assert.equal(textsOf('Γιώργος'), 'giorgos');
  assert.equal(textsOf('ＪＯＨＮ Ｄｏｅ'), 'john doe');
  assert.equal(textsOf("O'Brien's & Sons"), 'obriens and sons');
  assert.equal(textsOf('Jose\u0301'), 'jose');
});

test('each Chinese and Korean syllable is a word', () => {
  assert.equal(textsOf('王小明'), 'wang xiao ming');
  assert.equal(textsOf('김민수'), 'kim min su');
});

test('the Arabic article and an initial alef are kept', () => {
  assert.equal(textsOf('احمد الراشد'), 'ahmd al rashd');
});

test('all spellings of an Abdul name give the same words', () => {
  for (const name of [
    'Abdulrahman',
    'Abdel Rahman',
    'Abdurrahman',
    'Abd al-Rahman',
    'Abdalrahman',
  ]) {
    assert.equal(textsOf(name), 'abd al rahman', name);
  }
  assert.equal(textsOf('Abdullah Abdullahi'), 'abdullah abdullahi');
});

test('single letters are initials, three in a row are a word', () => {
  assert.deepEqual(
    readWords('J. R. Ewing').map(({ kind }) => kind),
    ['initial', 'initial', 'word'],
  );
  assert.equal(textsOf('Quartzbridge L.L.C.'), 'quartzbridge llc');
});

test('articles and titles are particles', () => {
  assert.deepEqual(
    readWords('Shaykh Idris al-Qumrani').map(({ kind }) => kind),
    ['particle', 'word', 'particle', 'word'],
  );
});

test('spellings of one name share a skeleton', () => {
  const groups = [
    ['muhammad', 'mohamed', 'mohammed', 'mhmd'],
    ['hussein', 'husayn', 'hossein', 'hsyn'],
    ['yusuf', 'youssef', 'iusuf'],
    ['sergei', 'sergey', 'serguei'],
    ['aleksandr', 'alexander'],
    ['qasim', 'kassem'],
  ];
  for (const group of groups) {
    assert.equal(new Set(group.map(findSkeleton)).size, 1, group.join());
  }
  assert.notEqual(findSkeleton('martin'), findSkeleton('marvin'));
});

test('the number and length of words are bounded', () => {
  const words = readWords('word '.repeat(100_000) + 'x'.repeat(100_000));
  assert.ok(words.length <= 16);
  assert.ok(readWords('x'.repeat(100_000)).every(({ text }) => text.length <= 40));
  assert.deepEqual(readWords('—– …'), []);
});
