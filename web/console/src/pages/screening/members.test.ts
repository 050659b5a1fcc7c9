import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeMembers, listHits, readMember } from './members.ts';

test('every member of a hit is shown by name, also one that this console does not know', () => {
  const hit = {
    list: 'ofac_sdn',
    scorePermille: 990,
    programmes: ['SDGT', 'NPWMD'],
    matchedOn: { field: 'person_name', listedName: 'A_B', dateOfBirth: 'unknown' },
    added_later: { list_of: [{ alias: 'x' }], is_new: true },
    nothing: null,
  };
  assert.deepEqual(
    describeMembers(hit).map(({ name, text }) => `${name}: ${text}`),
    [
      'List: ofac_sdn',
      'Score, of 1000: 990',
      'Programmes: SDGT; NPWMD',
      'Field: Person name',
      'Listed name: A_B',
      'Date of birth: unknown',
      'List of: Alias: x',
      'Is new: yes',
    ],
  );
  assert.deepEqual(describeMembers({ screenedAtMs: 0 }), [
    { name: 'Screened at', text: '1970-01-01T00:00:00.000Z' },
  ]);
});

test('hits are read from what may be any answer', () => {
  assert.deepEqual(listHits({}), []);
  assert.deepEqual(listHits({ hits: [null, 'x', { list: 'un' }] }), [{ list: 'un' }]);
  assert.equal(readMember({ sequence: 3 }, 'sequence'), '3');
  assert.equal(readMember({ sequence: {} }, 'sequence'), '');
});
