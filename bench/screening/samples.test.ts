import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListEntry } from '../../server/src/screening/list-entry.ts';
import { groups, holdOut, partOf } from './samples.ts';

const entry: ListEntry = {
  entryId: '101',
  kind: 'person',
  names: [
    { text: 'Timofey ZVEROVSKY', quality: 'primary' },
    { text: 'ZVEROVSKY Timofey', quality: 'alias' },
    { text: 'Tim the Miller', quality: 'weak' },
    { text: 'Timoteo Fieras', quality: 'alias' },
    { text: 'Timoteo (Tim) FIERAS', quality: 'alias' },
    { text: 'Тимофей Зверовский', quality: 'alias' },
  ],
  births: [{ from: '1965-08-12', to: '1965-08-12' }],
  countries: ['RUS'],
  programmes: [],
  wallets: [],
};

test('a held-out alias leaves the list in all spellings, and names in other scripts too', () => {
  const { lists, cases } = holdOut([{ list: 'ofac_sdn', entries: [entry] }]);
  const left = lists[0]?.entries[0]?.names.map(({ text }) => text);
  assert.deepEqual(left, ['Timofey ZVEROVSKY', 'ZVEROVSKY Timofey', 'Tim the Miller']);
  assert.deepEqual(
    cases.map(({ group, target, person }) => [group, target?.entryId, person.dateOfBirth]),
    [
      [groups.script, '101', '1965-08-12'],
      [groups.alias, '101', '1965-08-12'],
    ],
  );
  assert.ok(cases.every(({ part }) => part === partOf('ofac_sdn 101')));
});

test('half of the keys are for training, and a key is always in the same part', () => {
  const counted = { train: 0, validation: 0, test: 0 };
  for (let index = 0; index < 4_000; index += 1) counted[partOf(String(index))] += 1;
  assert.ok(Math.abs(counted.train - 2_000) < 150, String(counted.train));
  assert.ok(Math.abs(counted.test - 1_000) < 120, String(counted.test));
});
