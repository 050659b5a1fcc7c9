import assert from 'node:assert/strict';
import { test } from 'node:test';
import { informWord, measureNames } from './name-features.ts';
import { scoreName } from './name-model.ts';
import { type NameWord, readWords } from './names.ts';
import { asOrganisationWord } from './organisation-words.ts';
import { pairWords } from './similarity.ts';
import { compareLetters } from './word-similarity.ts';

const names = 38_000;
const inform = (words: readonly NameWord[], counts: Record<string, number>) => ({
  words,
  information: words.map((word) => informWord(word, { word: counts[word.text] ?? 40, names })),
});
const none = { isAbjad: 0, isSyllabic: 0, isWeak: 0, isAcronym: 0, isOtherKind: 0 };
/** 0 to 1; `counts` are numbers of listed names with a word. */
const compare = (searched: string, listed: string, counts: Record<string, number> = {}): number => {
  const [left, right] = [readWords(searched), readWords(listed)];
  const features = measureNames(inform(left, counts), inform(right, counts), right);
  return scoreName('person', { ...features, ...none }, { shift: 0, isIdentical: false }) / 1000;
};
const compareOrganisations = (searched: string, listed: string): number => {
  const read = (text: string) => readWords(text).map(asOrganisationWord);
  const [left, right] = [read(searched), read(listed)];
  const counts = { zverov: 1 };
  const features = measureNames(inform(left, counts), inform(right, counts), right);
  return (
    scoreName('organisation', { ...features, ...none }, { shift: 0, isIdentical: false }) / 1000
  );
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
  assert.equal(
    compare('Timofey Zverovsky', 'ZVEROVSKY Timofey'),
    compare('Timofey Zverovsky', 'Timofey Zverovsky'),
  );
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
  isBelow(compare('Maria Zverovsky', 'Timofey Zverovsky', { zverovsky: 1 }), 0.87);
  isBelow(compare('Timofey Schmidt', 'Timofey', { timofey: 400 }), 0.87);
});

test('an initial stands for its name', () => {
  isAbove(compare('T. Arkadyevich Zverovsky', 'Timofey Arkadyevich Zverovsky'), 0.9);
  isBelow(compare('B. Zverovsky', 'Timofey Zverovsky'), 0.87);
});

test('words may be joined or split', () => {
  isAbove(compare('Abdul Latif Saleh', 'Abdullatif Saleh'), 0.9);
  isAbove(compare('Quartz Bridge Trading', 'Quartzbridge Trading'), 0.9);
});

test('an article is not joined to the word before it', () => {
  const pairs = pairWords(readWords('Jesus Hernandez Lopez'), readWords('Hernan de Jesus Lopez'));
  assert.ok(pairs.every(({ right }) => right.count === 1));
});

test('a common word is weighted by its rarity', () => {
  const rare = compare('Ali Qumrani', 'Hasan Ali Qumrani', {
    ali: 2_000,
    hasan: 2_000,
    qumrani: 1,
  });
  const common = compare('Ali Qumrani', 'Hasan Ali Qumrani', {
    ali: 2_000,
    hasan: 1,
    qumrani: 2_000,
  });
  isAbove(rare, common);
});

test('numbers must be equal', () => {
  const pairs = pairWords(readWords('Brigade 27'), readWords('28 Brigade'));
  assert.deepEqual(
    pairs.map(({ left }) => left.text),
    ['brigade'],
  );
});

test('a name without vowels is compared by its consonants', () => {
  isAbove(compare('محمد سلطان', 'Mohammed Sultan'), 0.85);
});

test('names without words are not similar', () => {
  isBelow(compare('', ''), 0.4);
  isBelow(compare('Timofey', ''), 0.4);
});

test('an Arabic name is read with its long vowels, and not as another name', () => {
  isAbove(compare('حسين الكبير', 'Hussein al-Kabir'), 0.87);
  isBelow(compare('حسن الكبير', 'Hussein al-Kamil'), 0.6);
  isAbove(compare('نصير الدين قمراني', 'Nasiruddin Qumrani'), 0.87);
  isAbove(compare('عبد الرحمن قمراني', 'Abdurrahman Qumrani'), 0.87);
  isBelow(compare('محمد خان', 'Mahmoud Khan', { khan: 900 }), 0.87);
});

test('a Korean name is found in the spellings of North and South', () => {
  isAbove(compare('박철수', 'PAK Chol Su'), 0.87);
  isBelow(compare('박철수', 'KIM Chol Ho'), 0.6);
});

test('a legal form, a line of business and its language do not distinguish organisations', () => {
  isAbove(compareOrganisations('Zverov Shipping OOO', 'Zverov Denizcilik LLC'), 0.8);
  isAbove(compareOrganisations('Jaysh Zverov', 'Army of Zverov'), 0.87);
  isBelow(compareOrganisations('Golden General Trading LLC', 'Zverov General Trading LLC'), 0.7);
});
