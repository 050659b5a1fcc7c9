import assert from 'node:assert/strict';
import { test } from 'node:test';
import { photograph } from '../../../testing/documents/page.ts';
import { specimen, writeZone } from '../../../testing/documents/zone.ts';
import { readDocument } from './reader.ts';

/** Reading a picture takes seconds: the short form has one of each result. */
const isLong = process.env['OUTLAY_TEST_LONG'] === '1';

test('the confined process reads passports and cards, also turned, tilted and in shadow', async () => {
  const card = { format: 'TD1', zone: writeZone('TD1', specimen) } as const;
  const passport = { format: 'TD3', zone: writeZone('TD3', specimen) } as const;
  const front = await photograph({ format: 'TD1', zone: [] }, 'as drawn');
  const pictures = [
    [front, await photograph(card, 'turned by 90 degrees')],
    [await photograph(card, 'upside down')],
    [await photograph(passport, 'shadow over half')],
    [await photograph(passport, 'tilted by 5 degrees')],
  ];
  for (const [index, images] of pictures.slice(0, isLong ? 4 : 1).entries()) {
    const reading = await readDocument(images);
    assert.equal(reading.result, 'read', `case ${index}`);
    assert.ok('zone' in reading);
    const { documentNumber, birthDate, surname, givenNames, issuingState } = reading.zone;
    assert.deepEqual(
      [documentNumber, birthDate, surname, givenNames, issuingState],
      ['L898902C3', '740812', 'ERIKSSON', 'ANNA MARIA', 'UTO'],
    );
    assert.ok(reading.agreeing >= 2);
  }
});

test('an unreadable picture is reported as not read', async () => {
  const formats = isLong ? (['TD1', 'TD3'] as const) : (['TD1'] as const);
  for (const format of formats) {
    const picture = await photograph({ format, zone: [], scale: 8 }, 'as drawn');
    assert.deepEqual(await readDocument([picture]), { result: 'not_read' }, format);
  }
});

test('a zone whose composite digit is wrong is read in part', async () => {
  const [first = '', second = ''] = writeZone('TD3', specimen);
  const zone = [first, `${second.slice(0, 43)}9`];
  const reading = await readDocument([await photograph({ format: 'TD3', zone }, 'as drawn')]);
  assert.equal(reading.result, 'partly_read');
  assert.ok('zone' in reading);
  assert.deepEqual(reading.zone.checks, {
    document_number: true,
    birth_date: true,
    expiry_date: true,
    personal_number: true,
    composite: false,
  });
});
