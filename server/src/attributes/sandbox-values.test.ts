import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getCountry, listCountries } from '../core/country.ts';
import {
  findMagicOutcome,
  listMagicValues,
  type MagicOutcome,
  type MagicRow,
} from '../rails/sandbox/magic.ts';
import { checkValues } from './checks.ts';
import type { AttributeType } from './field.ts';
import { type Corridor, getFields, getProfile } from './requirements.ts';
import { makeSampleSet } from './sample-values.ts';

const today = '2026-01-01';

function listCorridors(row: MagicRow): Corridor[] {
  return row.destinations.flatMap((destination) => {
    const [country = '', currency] = destination.split(' ');
    const codes = country === '*' ? listCountries().map((one) => one.code) : [country];
    return codes.flatMap((countryCode) =>
      row.deliveryTypes.map((deliveryType) => ({
        countryCode,
        deliveryType,
        currency: currency ?? getCountry(countryCode).currency,
      })),
    );
  });
}

test('every value passes the checks of its destinations', () => {
  for (const row of listMagicValues()) {
    for (const corridor of listCorridors(row)) {
      const { countryCode } = corridor;
      const filler = makeSampleSet(getFields(corridor), { seed: '000000', countryCode, today });
      for (const [outcome, value] of Object.entries(row.values)) {
        const companions = Object.entries(row.companions) as [AttributeType, string][];
        const values = new Map([...filler, ...companions, [row.type, value] as const]);
        const result = checkValues(getProfile(corridor), corridor, { values, today });
        const name = `${row.destinations[0]} ${outcome}`;
        assert.deepEqual(result.faults, [], name);
        assert.deepEqual(result.missing, [], name);
        const stored = Object.fromEntries(result.normalized);
        assert.equal(findMagicOutcome(stored), outcome as MagicOutcome, name);
      }
    }
  }
});

test('every destination of a bank deposit and every mobile network has its values', () => {
  const bank = new Set(
    listMagicValues()
      .filter((row) => row.deliveryTypes.includes('BANK_DEPOSIT'))
      .flatMap((row) => row.destinations),
  );
  const mobile = new Set(
    listMagicValues()
      .filter((row) => row.deliveryTypes.includes('MOBILE_WALLET'))
      .flatMap((row) => row.destinations),
  );
  for (const { code, currency } of listCountries()) {
    for (const one of [currency, 'EUR', 'USD']) assert.ok(bank.has(`${code} ${one}`), code);
    assert.ok(mobile.has(code), code);
  }
});

test('ordinary values have no outcome', () => {
  for (const row of listMagicValues()) {
    const [corridor] = listCorridors(row);
    assert.ok(corridor !== undefined);
    const { countryCode } = corridor;
    const ordinary = makeSampleSet(getFields(corridor), { seed: '000000', countryCode, today });
    assert.equal(findMagicOutcome(Object.fromEntries(ordinary)), undefined);
  }
});
