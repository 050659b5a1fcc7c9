import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { listCountries } from '../core/country.ts';
import { type DeliveryType, deliveryTypes } from '../rails/contract/declarations.ts';
import { findLocalFormat } from './bank-formats.ts';
import { usesIban } from './bank-iban.ts';
import { checkValues, matchesPattern, valueLengthMax } from './checks.ts';
import { type AttributeType, attributeTypes } from './field.ts';
import { type Corridor, getFields, getProfile } from './requirements.ts';
import { makeSampleSet } from './sample-values.ts';

/** The long form tries more texts. */
const isLong = process.env['OUTLAY_TEST_LONG'] === '1';

const today = '2026-01-01';

function listCurrenciesFor(deliveryType: DeliveryType, currency: string): string[] {
  if (deliveryType === 'CRYPTOCURRENCY') return ['BTC', 'LTC', 'ETH', 'USDC'];
  if (deliveryType === 'BANK_DEPOSIT') return [...new Set([currency, 'EUR', 'USD'])];
  return [currency];
}

const corridors: readonly Corridor[] = listCountries().flatMap(({ code, currency }) =>
  deliveryTypes.flatMap((deliveryType) =>
    listCurrenciesFor(deliveryType, currency).map((one) => ({
      countryCode: code,
      deliveryType,
      currency: one,
    })),
  ),
);

/** One corridor for each profile. */
const distinct = [...new Map(corridors.map((one) => [getProfile(one).id, one])).values()];

/** How many characters a pattern of ours admits at most: it has no unbounded repetition. */
function hasBoundedLength(validation: string): boolean {
  const outsideClasses = validation.replace(/\\./g, '').replace(/\[[^\]]*\]/g, 'x');
  return !/[*+]|\{\d+,\}/.test(outsideClasses);
}

test('every country and delivery type has a profile whose types are known and occur once', () => {
  assert.equal(listCountries().length, 249);
  for (const corridor of distinct) {
    const { requirements } = getProfile(corridor);
    const types = requirements.map((one) => one.type);
    assert.ok(types.length > 0);
    assert.equal(new Set(types).size, types.length);
    assert.ok(types.every((type) => attributeTypes.includes(type)));
    assert.ok(requirements.some((one) => !one.isOptional));
  }
});

test('every pattern compiles in RE2 and in ECMAScript, is bounded and anchored', () => {
  for (const corridor of distinct) {
    for (const { validation, inputType, label, expectedValue } of getProfile(corridor)
      .requirements) {
      // JSON Schema validators use the flag u, the pattern attribute of HTML forms the flag v.
      for (const flags of ['', 'u', 'v']) {
        assert.doesNotThrow(() => new RegExp(validation, flags), validation);
      }
      assert.doesNotThrow(() => matchesPattern({ validation }, ''), validation);
      assert.ok(!matchesPattern({ validation }, 'x'.repeat(valueLengthMax + 1)), validation);
      assert.ok(hasBoundedLength(validation), validation);
      assert.ok(!/\\[pPdDwWsSbBk]|\(\?[^:]|\[\[:/.test(validation), validation);
      if (inputType === 'options') {
        assert.match(validation, /^[A-Z0-9_]+(\|[A-Z0-9_]+)+$/);
        for (const choice of validation.split('|')) assert.ok(expectedValue.includes(choice));
      } else {
        assert.ok(validation.startsWith('^') && validation.endsWith('$'), validation);
      }
      assert.ok(label !== '' && label.length <= 60 && expectedValue !== '');
    }
  }
});

test('sample values fill every profile and pass in both engines', () => {
  for (const corridor of distinct) {
    const profile = getProfile(corridor);
    const { countryCode } = corridor;
    const values = makeSampleSet(getFields(corridor), { seed: '771799', countryCode, today });
    const { faults, missing, normalized } = checkValues(profile, corridor, { values, today });
    assert.deepEqual({ faults, missing }, { faults: [], missing: [] }, profile.id);
    for (const { type, validation, inputType } of profile.requirements) {
      const value = values.get(type);
      if (value === undefined) continue;
      const pattern = inputType === 'options' ? `^(?:${validation})$` : validation;
      assert.match(value, new RegExp(pattern, 'u'));
    }
    // The normalized form is itself a right value, and its own normalized form.
    const again = checkValues(profile, corridor, { values: normalized, today });
    assert.deepEqual(again.faults, []);
    assert.deepEqual(again.normalized, normalized);
  }
});

test('profiles are stable and shared by corridors with equal requirements', () => {
  const bitcoin = { deliveryType: 'CRYPTOCURRENCY', currency: 'BTC' } as const;
  assert.equal(
    getProfile({ ...bitcoin, countryCode: 'MEX' }),
    getProfile({ ...bitcoin, countryCode: 'VNM' }),
  );
  const ids = new Set(distinct.map((one) => getProfile(one).id));
  assert.equal(ids.size, distinct.length);
  for (const corridor of distinct) {
    assert.match(getProfile(corridor).version, /^[0-9a-f]{16}$/);
  }
});

test('75 countries without IBAN have formats of their own', () => {
  const local = listCountries().filter(
    ({ code }) => !usesIban(code) && findLocalFormat(code) !== undefined,
  );
  assert.ok(local.length >= 75, `${local.length} local formats`);
  const named = 'USA GBR MEX IND BRA NGA AUS CAN JPN CHN PHL VNM KOR IDN THA ZAF KEN GHA ARG NZL';
  for (const code of named.split(' '))
    assert.ok(
      local.some((one) => one.code === code),
      code,
    );
});

test('a dollar account abroad needs a SWIFT/BIC, a euro account in SEPA does not', () => {
  const find = (countryCode: string, currency: string) =>
    getProfile({ countryCode, deliveryType: 'BANK_DEPOSIT', currency }).requirements.find(
      (one) => one.type === 'SWIFT',
    )?.isOptional;
  assert.equal(find('MEX', 'USD'), false);
  assert.equal(find('FRA', 'USD'), false);
  assert.equal(find('FRA', 'EUR'), true);
  assert.equal(find('GBR', 'EUR'), true);
  assert.equal(find('SAU', 'EUR'), false);
  assert.equal(find('MEX', 'MXN'), undefined);
});

test('any text in any attribute is checked without an exception', () => {
  const corridorsTried = distinct.filter((_, index) => index % 10 === 0);
  fc.assert(
    fc.property(
      fc.constantFrom(...corridorsTried),
      fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[A-Z0-9+-]{1,34}$/)), {
        minLength: 8,
        maxLength: 8,
      }),
      (corridor, texts) => {
        const { requirements } = getProfile(corridor);
        const values = new Map<AttributeType, string>(
          requirements.map(({ type }, index) => [type, texts[index % 8] ?? '']),
        );
        const result = checkValues(getProfile(corridor), corridor, { values, today });
        const answered = result.faults.length + result.normalized.size + result.missing.length;
        assert.ok(answered <= requirements.length);
      },
    ),
    { numRuns: isLong ? 2_000 : 400 },
  );
});

test('a single wrong digit in a number with check digits is always found', () => {
  for (const [countryCode, currency] of [
    ['MEX', 'MXN'],
    ['DEU', 'EUR'],
    ['ARG', 'ARS'],
    ['PER', 'PEN'],
    ['SEN', 'XOF'],
    ['AGO', 'AOA'],
    ['USA', 'USD'],
  ] as const) {
    const corridor = { countryCode, deliveryType: 'BANK_DEPOSIT', currency } as const;
    const type = countryCode === 'USA' ? 'BankRoutingNumber' : 'BankAccountNumber';
    const fields = getFields(corridor);
    const values = makeSampleSet(fields, { seed: '771798', countryCode, today });
    const right = values.get(type) ?? '';
    for (let index = 0; index < right.length; index += 1) {
      if (!/[0-9]/.test(right[index] ?? '')) continue;
      const other = (Number(right[index]) + 1) % 10;
      values.set(type, `${right.slice(0, index)}${other}${right.slice(index + 1)}`);
      const { faults } = checkValues(getProfile(corridor), corridor, { values, today });
      assert.ok(
        faults.some((one) => one.type === type),
        `${countryCode} ${index}`,
      );
    }
  }
});
