import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { sandboxCatalog } from '../../testing/setups/destinations.ts';
import { corridorOf, formatAttributeToken, type ReadAttribute } from './attributes.ts';
import { checkValues } from './checks.ts';
import type { AttributeType } from './field.ts';
import { describeJsonSchema } from './json-schema.ts';
import { type Corridor, getFields, getProfile, identityVerification } from './requirements.ts';
import { makeSampleSet } from './sample-values.ts';

/** The JSON Schema of attributes, with a validator that knows nothing of this service. */

const ajv = new Ajv2020({ strict: true, allErrors: true });
addFormats.default(ajv);
const today = '2026-01-01';

function listAttributes(corridor: Corridor): ReadAttribute[] {
  const profile = getProfile(corridor);
  return [...profile.requirements, identityVerification].map((requirement) => ({
    ...requirement,
    token: formatAttributeToken(profile, requirement.type),
    attrSetToken: '',
    value: '',
    isLastValueUsed: false,
  }));
}

function compile(corridor: Corridor) {
  const profile = getProfile(corridor);
  const schema = describeJsonSchema(listAttributes(corridor), profile.id);
  const validate = ajv.compile(schema);
  return {
    schema,
    isValid: (values: Readonly<Partial<Record<AttributeType, string>>>): boolean =>
      validate(
        Object.fromEntries(
          Object.entries(values).map(([type, value]) => [
            formatAttributeToken(profile, type as AttributeType),
            value,
          ]),
        ),
      ),
  };
}

/** A corridor for each profile that the simulated network offers. */
function listCorridors(): Corridor[] {
  const corridors = new Map<string, Corridor>();
  for (const { country } of sandboxCatalog.servedCountries()) {
    for (const payer of sandboxCatalog.payersIn(country.code)) {
      for (const currency of payer.currencies) {
        const corridor = corridorOf({ payer, currency });
        corridors.set(getProfile(corridor).id, corridor);
      }
    }
  }
  return [...corridors.values()];
}

test('every profile is a strict JSON Schema that takes complete values and refuses partial ones', () => {
  const corridors = listCorridors();
  assert.ok(corridors.length > 200, String(corridors.length));
  for (const corridor of corridors) {
    const { countryCode } = corridor;
    const { schema, isValid } = compile(corridor);
    const sample = makeSampleSet(getFields(corridor), { seed: '', countryCode, today });
    const values = Object.fromEntries(sample);
    assert.ok(isValid(values), `${String(schema['title'])} ${JSON.stringify(ajv.errors)}`);
    const profile = getProfile(corridor);
    for (const { type, alternatives } of profile.requirements) {
      if (!sample.has(type) || alternatives.length > 0) continue;
      const { [type]: _missing, ...rest } = values;
      assert.equal(isValid(rest), false, `${String(schema['title'])} without ${type}`);
    }
    assert.equal(isValid({ ...values, CardZip: 'x' }), false, 'an unknown property');
  }
});

const brazil = { countryCode: 'BRA', deliveryType: 'BANK_DEPOSIT', currency: 'BRL' } as const;

test('a form may give a Pix key, or bank, branch and account', () => {
  const { schema, isValid } = compile(brazil);
  const person = { IdentificationNumber: '11144477735', RemittanceReason: 'SALARY' };
  const bank = { BankRoutingNumber: '001', BankAccountBranchNumber: '1234' };
  const noBank = { BankRoutingNumber: '', BankAccountBranchNumber: '' };
  const cases: [Partial<Record<AttributeType, string>>, boolean][] = [
    [{ BankAccountNumber: 'someone@example.com' }, true],
    [{ BankAccountNumber: 'someone@example.com', ...bank }, true],
    [{ BankAccountNumber: 'someone@example.com', ...noBank }, true],
    [{ BankAccountNumber: '12345-6', ...noBank }, false],
    [{ BankAccountNumber: '12345-6', ...bank }, true],
    [{ BankAccountNumber: '12345-6' }, false],
    [{ BankAccountNumber: '12345-6', BankRoutingNumber: '001' }, false],
    [bank, false],
    [{}, false],
  ];
  for (const [values, expected] of cases) {
    const given = { ...person, ...values };
    assert.equal(isValid(given), expected, JSON.stringify(values));
    const { missing } = checkValues(getProfile(brazil), brazil, {
      values: new Map(Object.entries(given) as [AttributeType, string][]),
      today,
    });
    assert.equal(missing.length === 0, expected, 'the service says the same');
  }
  const options = schema['anyOf'] as { title: string; required: string[] }[];
  assert.deepEqual(
    options.map(({ title, required }) => [title, required.length]),
    [
      ['Pix key', 1],
      ['Bank, branch and account', 3],
    ],
  );
});

test('stored values are defaults, and an empty optional field is none', () => {
  const corridor = { countryCode: 'MEX', deliveryType: 'CASH_PICKUP', currency: 'MXN' } as const;
  const attributes = listAttributes(corridor).map((attribute) =>
    attribute.type === 'IdentificationNumber' ? { ...attribute, value: 'G12345678' } : attribute,
  );
  const { properties } = describeJsonSchema(attributes, '') as {
    properties: Record<string, { $comment: string; default?: string }>;
  };
  const defaults = Object.values(properties).flatMap(({ $comment, default: value }) =>
    value === undefined ? [] : [[$comment, value]],
  );
  assert.deepEqual(defaults, [['IdentificationNumber', 'G12345678']]);
  const { isValid } = compile(corridor);
  const form = {
    IdentificationType: 'PASSPORT',
    IdentificationNumber: 'G12345678',
    IdentificationExpiration: '',
    PhoneNumber: '',
  };
  assert.ok(isValid(form), JSON.stringify(ajv.errors));
});
