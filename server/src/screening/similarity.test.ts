import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readWords } from './names.ts';
import { compareLetters, compareNames, type WeightedName } from './similarity.ts';

const weigh = (name: string, weights: Record<string, number> = {}): WeightedName => {
  const words = readWords(name);
  const usual = { particle: 0.06, initial: 0.3, word: 0.7 };
  return { words, weights: words.map(({ text, kind }) => weights[text] ?? usual[kind]) };
};
const compare = (left: string, right: string, weights?: Record<string, number>): number => {
  const score = compareNames(weigh(left, weights), weigh(right, weights));
  const back = compareNames(weigh(right, weights), weigh(left, weights));
  assert.ok(Math.abs(score - back) < 1e-9, `${left} and ${right} differ by direction`);
  return score;
};
const isAbove = (score: number, bound: number): void => assert.ok(score > bound, `${score}`);
const isBelow = (score: number, bound: number): void => assert.ok(score < bound, `${score}`);

test('Jaro-Winkler gives the values of the published examples', () => {
  assert.equal(compareLetters('martha', 'marhta').toFixed(3), '0.961');
  assert.equal(compareLetters('dwayne', 'duane').toFixed(3), '0.840');
  assert.equal(compareLetters('dixon', 'dicksonx').toFixed(3), '0.813');
  assert.equal(compareLetters('abc', 'xyz'), 0);
});

test('the order of words does not matter', () => {
  assert.equal(compare('Timofey Zverovsky', 'ZVEROVSKY Timofey'), 1);
});

test('one typing error costs little, and two not much more', () => {
  isAbove(compare('Timofey Zverovski', 'Timofey Zverovsky'), 0.95);
  isAbove(compare('Timofe Zveroovsky', 'Timofey Zverovsky'), 0.88);
});

test('a middle name may be missing on either side', () => {
  isAbove(compare('Timofey Zverovsky', 'Timofey Arkadyevich Zverovsky'), 0.88);
  isAbove(compare('Timofey Arkadyevich Zverovsky', 'Timofey Zverovsky'), 0.88);
});

test('one common word is no match, however rare', () => {
  isBelow(compare('Maria Zverovsky', 'Timofey Zverovsky', { zverovsky: 1 }), 0.7);
  isBelow(compare('Timofey Schmidt', 'Timofey'), 0.8);
});

test('an initial stands for its name', () => {
  isAbove(compare('T. Arkadyevich Zverovsky', 'Timofey Arkadyevich Zverovsky'), 0.9);
  isBelow(compare('B. Zverovsky', 'Timofey Zverovsky'), 0.8);
});

test('words may be joined or split', () => {
  isAbove(compare('Abdul Latif Saleh', 'Abdullatif Saleh'), 0.93);
  isAbove(compare('Quartz Bridge Trading', 'Quartzbridge Trading'), 0.95);
});

test('an article is not joined to the word before it', () => {
  isBelow(compare('Jesus Hernandez Lopez', 'Hernan de Jesus Lopez'), 0.95);
});

test('a common word is weighted by its rarity', () => {
  const rare = compare('Ali Qumrani', 'Hasan Ali Qumrani', { ali: 0.3, hasan: 0.3, qumrani: 1 });
  const common = compare('Ali Qumrani', 'Hasan Ali Qumrani', { ali: 0.3, hasan: 1, qumrani: 0.3 });
  isAbove(rare, common);
});

test('numbers must be equal', () => {
  isBelow(compare('Brigade 27', 'Brigade 28'), 0.8);
  assert.equal(compare('Brigade 27', '27 Brigade'), 1);
});

test('a name without vowels is compared by its consonants', () => {
  isAbove(compare('محمد سلطان', 'Mohammed Sultan'), 0.9);
});

test('names without words have similarity 0', () => {
  assert.equal(compareNames(weigh(''), weigh('')), 0);
  assert.equal(compareNames(weigh('Timofey'), weigh('')), 0);
});
