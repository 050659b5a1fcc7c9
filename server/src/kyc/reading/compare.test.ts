import assert from 'node:assert/strict';
import { test } from 'node:test';
import { specimen, writeZone } from '../../../testing/documents/zone.ts';
import { compareDocument, type Recipient } from './compare.ts';
import { compareNames, transliterate } from './names.ts';
import { findZone, isProven, parseZone } from './zone.ts';

test('names are compared as states transliterate them', () => {
  const cases = [
    ['MUELLER', 'Müller', 'same'],
    ['MULLER', 'Müller', 'same'],
    ['MUXXLLER', 'Müller', 'same'],
    ['OESTERGAARD', 'Østergård', 'same'],
    ['NUNEZ GARCIA', 'Núñez-García', 'same'],
    ['OBRIEN', "O'Brien", 'same'],
    ['STRASSE', 'Straße', 'same'],
    ['IVANOV', 'Иванов', 'same'],
    ['SHCHERBAKOV', 'Щербаков', 'same'],
    ['ANNA MARIA', 'Anna', 'similar'],
    ['ANNA', 'Anna María', 'similar'],
    ['ANNA', 'Anne', 'different'],
    ['KOWALSKA', 'Kowalski', 'different'],
    ['', 'Anna', 'different'],
  ] as const;
  for (const [document, user, expected] of cases) {
    assert.equal(compareNames(document, user, false), expected, `${document} and ${user}`);
  }
  assert.equal(compareNames('CHRISTOPHERSON NILSS', 'Christopherson Nilsson', true), 'similar');
  assert.equal(transliterate('Jörg Ångström'), 'JOERG AANGSTROEM');
});

const recipient: Recipient = {
  firstName: 'Anna',
  middleName: 'Maria',
  lastName: 'Eriksson',
  dateOfBirth: '1974-08-12',
  country: 'DEU',
  documentNumbers: ['L898902-C3'],
};

test('each field of a document stands beside what the client gave', () => {
  const zone = parseZone(writeZone('TD1', { ...specimen, issuingState: 'D<<' }));
  assert.ok(zone !== undefined && isProven(zone));
  const read = compareDocument(zone, recipient, new Date('2034-04-15T12:00:00Z'));
  assert.deepEqual(
    read.comparisons.map(({ field, result }) => [field, result]),
    [
      ['surname', 'same'],
      ['given_names', 'same'],
      ['date_of_birth', 'same'],
      ['document_number', 'same'],
      ['issuing_state', 'same'],
    ],
  );
  assert.deepEqual([read.document.expiresOn, read.isExpired], ['2034-04-15', false]);
  assert.equal(compareDocument(zone, recipient, new Date('2034-04-16T00:00:00Z')).isExpired, true);
});

test('a zone with one wrong digit, or of chance, is not proven', () => {
  for (const format of ['TD1', 'TD2', 'TD3'] as const) {
    const lines = writeZone(format, specimen);
    assert.equal(findZone(`junk\n${lines.join('\n')}\n`)?.format, format);
    const wrong = lines.map((line) => line.replace('740812', '740813'));
    assert.equal(parseZone(wrong)?.checks.birth_date, false);
  }
  const noise = Array.from({ length: 400 }, (_, index) =>
    Array.from({ length: 44 }, (__, at) => ((index * 7919 + at * 104_729) % 36).toString(36)).join(
      '',
    ),
  );
  const found = findZone(noise.join('\n').toUpperCase());
  assert.ok(found === undefined || !isProven(found));
});
