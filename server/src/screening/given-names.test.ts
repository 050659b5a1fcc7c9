import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  altLine,
  asFile,
  createScreeningTest,
  person,
  screenPerson,
  sdnLine,
} from '../../testing/setups/screening.ts';
import { isSameGivenName, listNameForms } from './given-names.ts';
import { readWord } from './names.ts';
import { compareWords, wordSimilarityMin } from './word-similarity.ts';

test('forms of one given name match, and other names do not', () => {
  const compare = (left: string, right: string): number =>
    compareWords(readWord(left), readWord(right));
  for (const [left, right] of [
    ['ihor', 'igor'],
    ['vladimir', 'volodymyr'],
    ['mehmet', 'mohammed'],
    ['pepe', 'jose'],
  ] as const) {
    assert.ok(compare(left, right) >= wordSimilarityMin, `${left} ${right}`);
  }
  assert.ok(compare('ihor', 'oleh') < wordSimilarityMin);
  assert.equal(isSameGivenName('zverovsky', 'zverovsky'), false);
  assert.deepEqual(listNameForms('ihor').toSorted(), ['igor', 'ihar']);
  assert.deepEqual(listNameForms('zverovsky'), []);
});

test('a listed person is found by another form of the given name', async () => {
  await using screening = await createScreeningTest();
  const lines = [
    sdnLine({ id: 201, name: 'KRAVETSUN, Volodymyr', type: 'individual' }),
    sdnLine({ id: 202, name: 'PALMADILLO, Francisco', type: 'individual' }),
  ];
  const aliases = [altLine(202, 1, 'PALMADILLO RUBIO, Francisco')];
  await screening.load({ sdn: asFile(lines), alt: asFile(aliases) });
  const find = async (given: string, family: string): Promise<string[]> => {
    const { hits } = await screenPerson(screening.db.system, person(given, family));
    return hits.map(({ entryId }) => entryId);
  };
  assert.deepEqual(await find('Uladzimir', 'Kravetsun'), ['201']);
  assert.deepEqual(await find('Paco', 'Palmadilho'), ['202']);
  assert.deepEqual(await find('Ihor', 'Kravetsun'), []);
});
