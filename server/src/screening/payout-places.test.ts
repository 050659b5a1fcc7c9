import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScreeningTest, person } from '../../testing/setups/screening.ts';
import { findBic } from './bank-identifiers.ts';
import { findBlockedPlaces, listPlaces } from './payout-places.ts';
import { screenUsers } from './records.ts';

/** Countries of payments that the operator blocks. */

const payment = {
  destinationCountry: 'DEU',
  recipientCountry: 'POL',
  accountNumber: 'LV80 BANK 0000 4351 9500 1',
  bankCodes: ['OLIBFRPPXXX'],
};

test('a country is known by destination, recipient, IBAN and BIC', () => {
  const places = listPlaces(payment);
  assert.deepEqual(
    places.map(({ country }) => country),
    ['DEU', 'POL', 'LVA', 'FRA'],
  );
  const hits = findBlockedPlaces(places, new Set(['LVA', 'FRA', 'PRK']));
  assert.deepEqual(
    hits.map(({ entryId, matchedOn }) => [entryId, matchedOn.listedName]),
    [
      ['LVA', 'account number'],
      ['FRA', 'bank'],
    ],
  );
});

test('numbers of accounts and codes of banks without a country say nothing', () => {
  const places = listPlaces({ ...payment, accountNumber: '6212345678901232', bankCodes: [] });
  assert.deepEqual(
    places.map(({ known }) => known),
    ['destination', 'recipient'],
  );
  assert.deepEqual(findBlockedPlaces(listPlaces(payment), new Set()), []);
  for (const code of ['021000021', 'HDFC0001234', '', 'OLIBXX']) {
    assert.equal(findBic(code), undefined);
  }
  assert.equal(findBic('olib de ff'), 'OLIBDEFF');
});

test('a service that blocks countries and has no list finds no names', async () => {
  await using screening = await createScreeningTest();
  const user = { ...(await screening.newUser()), person: person('Timofey', 'Zverovsky') };
  const services = { session: screening.db.system, keys: screening.keys };
  const [result] = await screenUsers(services, [user]);
  assert.deepEqual([result?.state, result?.listVersions], ['clear', []]);
});
