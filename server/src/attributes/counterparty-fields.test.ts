import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  PayerRequirements,
  RequiredField,
  StoredRequirements,
} from '../rails/contract/requirements.ts';
import { checkValues } from './checks.ts';
import type { AttributeType } from './field.ts';
import { type Corridor, getFields, getProfile } from './requirements.ts';

const philippines: Corridor = {
  countryCode: 'PHL',
  deliveryType: 'BANK_DEPOSIT',
  currency: 'PHP',
};
const britain: Corridor = { countryCode: 'GBR', deliveryType: 'BANK_DEPOSIT', currency: 'GBP' };

const text: RequiredField = {
  key: 'accountNumber',
  attribute: 'BankAccountNumber',
  isCompact: true,
  label: 'Account number',
  input: 'text',
  isRequired: true,
  isRefreshing: false,
};

function ask(
  fields: readonly RequiredField[],
  { version = 1, given = {} }: Partial<StoredRequirements> = {},
): StoredRequirements {
  const forms = [{ type: 'account', fields }];
  return { payerKey: 'bank', currency: 'PHP', given, forms, version, readAtMs: 0 };
}

function withForms(corridor: Corridor, ...variants: readonly StoredRequirements[]): Corridor {
  const version = Math.max(...variants.map((one) => one.version));
  const requirements: PayerRequirements = { version, variants };
  return { ...corridor, requirements };
}

function check(corridor: Corridor, values: Partial<Record<AttributeType, string>>) {
  const given = new Map(Object.entries(values) as [AttributeType, string][]);
  const result = checkValues(getProfile(corridor), corridor, {
    values: given,
    today: '2026-11-26',
  });
  return {
    faults: result.faults.map(({ type, code }) => `${type} ${code}`),
    missing: result.missing,
    stored: Object.fromEntries(result.normalized),
  };
}

const find = (corridor: Corridor, type: AttributeType) =>
  getProfile(corridor).requirements.find((one) => one.type === type);

test('a pattern narrows the format, and a field that is new is added', () => {
  const sortCode = { ...text, key: 'sortCode', attribute: 'BankRoutingNumber' };
  const asked = withForms(
    britain,
    ask([
      { ...sortCode, pattern: '^2' },
      { ...text, pattern: '^\\d{8}$' },
      { ...text, key: 'town', attribute: 'BankCity', label: 'Town', lengthMin: 2, lengthMax: 20 },
      { ...text, key: 'memo', attribute: 'MaidenName', label: 'Memo', isRequired: false },
    ]),
  );
  assert.deepEqual(find(asked, 'BankAccountNumber'), find(britain, 'BankAccountNumber'));
  const town = find(asked, 'BankCity');
  assert.equal(town?.label, 'Town');
  assert.equal(town.isOptional, false);
  assert.equal(town.expectedValue, '2 to 20 characters');
  assert.equal(find(asked, 'MaidenName')?.isOptional, true);
  const values = { BankRoutingNumber: '23-14-70', BankAccountNumber: '28821822' };
  assert.deepEqual(check(asked, values), {
    faults: [],
    missing: ['BankCity'],
    stored: { BankRoutingNumber: '231470', BankAccountNumber: '28821822' },
  });
  const others = { ...values, BankRoutingNumber: '040075', BankCity: 'X' };
  assert.deepEqual(check(asked, others).faults, [
    'BankRoutingNumber pattern_mismatch',
    'BankCity pattern_mismatch',
  ]);
  // The checks of the format itself stay.
  assert.deepEqual(check(asked, { ...values, BankAccountNumber: '1' }).faults, [
    'BankAccountNumber pattern_mismatch',
  ]);
});

test('codes of the counterparty replace a format, and narrow choices that mean the same', () => {
  const bank: RequiredField = {
    ...text,
    key: 'bankCode',
    attribute: 'BankRoutingNumber',
    label: 'Bank name',
    input: 'options',
    choices: [
      { value: 'BDO', label: 'Banco de Oro (BDO)' },
      { value: 'BPI', label: 'BPI' },
    ],
  };
  const corridor = withForms(philippines, ask([bank, text]));
  const shown = find(corridor, 'BankRoutingNumber');
  assert.equal(shown?.inputType, 'options');
  assert.equal(shown.validation, 'BDO|BPI');
  assert.equal(shown.expectedValue, 'One of: BDO (Banco de Oro BDO), BPI');
  // The format of the country has the bank by its SWIFT/BIC, which this counterparty does not ask for.
  assert.equal(find(philippines, 'SWIFT')?.isOptional, false);
  assert.equal(find(corridor, 'SWIFT')?.isOptional, true);
  const values = { BankRoutingNumber: 'bpi', BankAccountNumber: '1234567890' };
  assert.deepEqual(check(corridor, values).stored, { ...values, BankRoutingNumber: 'BPI' });
  assert.deepEqual(check(corridor, { ...values, BankRoutingNumber: 'BNORPHMM' }).faults, [
    'BankRoutingNumber pattern_mismatch',
  ]);
  const kind: RequiredField = {
    ...text,
    key: 'accountType',
    attribute: 'BankAccountType',
    input: 'options',
    choices: [{ value: 'checking', label: 'Checking' }],
  };
  const usa: Corridor = { ...britain, countryCode: 'USA', currency: 'USD' };
  const narrowed = find(withForms(usa, ask([kind])), 'BankAccountType');
  assert.equal(narrowed?.validation, 'CHECKING');
  assert.equal(narrowed.label, find(usa, 'BankAccountType')?.label);
});

test('a shorter account number is announced as the counterparty takes it', () => {
  const shorter = { ...text, lengthMin: 4, lengthMax: 16 };
  const account = find(withForms(philippines, ask([shorter])), 'BankAccountNumber');
  assert.equal(account?.validation, '^[0-9]{6,16}$');
  assert.equal(account.expectedValue, '6 to 16 digits');
  const longer = ask([{ ...text, lengthMax: 40 }]);
  const kept = find(withForms(philippines, longer), 'BankAccountNumber');
  assert.equal(kept?.expectedValue, '6 to 20 digits');
});

test('a pattern of digits is said in words', () => {
  const shared = { ...text, key: 'taxId', attribute: 'IdentificationNumber', label: 'Tax number' };
  const say = (pattern: string) =>
    find(withForms(philippines, ask([text, { ...shared, pattern }])), 'IdentificationNumber')
      ?.expectedValue;
  assert.equal(say('^\\d{9}$'), '9 digits');
  assert.equal(say('^[0-9]{9,12}$'), '9 to 12 digits');
  assert.equal(say('^[A-Z]{2}$'), 'Tax number');
});

test('codes that could not stand in a pattern are checked as a text', () => {
  const choices = ['a|b', '.*', '(x)+'].map((value) => ({ value, label: value }));
  const odd: RequiredField = {
    ...text,
    key: 'bank',
    attribute: 'BankName',
    label: 'Bank',
    input: 'options',
    choices,
  };
  const corridor = withForms(philippines, ask([odd]));
  assert.equal(find(corridor, 'BankName')?.inputType, 'text');
  assert.deepEqual(check(corridor, { BankName: '.*' }).faults, []);
  assert.deepEqual(check(corridor, { BankName: 'anything' }).faults, ['BankName pattern_mismatch']);
});

test('a field of some forms is optional, and says when the payer requires it', () => {
  const tax = { ...text, key: 'taxId', attribute: 'IdentificationNumber', label: 'Tax number' };
  const base = ask([text]);
  const business = ask([text, tax], { version: 2, given: { legalType: 'BUSINESS' } });
  const shown = find(withForms(philippines, base, business), 'IdentificationNumber');
  assert.equal(shown?.isOptional, true);
  assert.match(shown.expectedValue, /The payer requires it where legal type is business$/);
  const legalType: RequiredField = {
    ...text,
    key: 'legalType',
    attribute: undefined,
    label: 'Recipient type',
    input: 'options',
    choices: [
      { value: 'PRIVATE', label: 'Person' },
      { value: 'BUSINESS', label: 'Business' },
    ],
  };
  const named = ask([legalType, text, tax], { version: 2, given: { legalType: 'BUSINESS' } });
  const inWords = find(withForms(philippines, base, named), 'IdentificationNumber');
  assert.match(inWords?.expectedValue ?? '', /requires it where Recipient type is Business$/);
  const everywhere = ask([text, tax], { version: 3 });
  assert.equal(
    find(withForms(philippines, everywhere, business), 'IdentificationNumber')?.isOptional,
    false,
  );
});

test('a field that depends on another attribute is missing beside its value', () => {
  const bank: RequiredField = {
    ...text,
    key: 'bankCode',
    attribute: 'BankRoutingNumber',
    input: 'options',
    choices: ['BDO', 'BPI'].map((value) => ({ value, label: value })),
  };
  const branch = { ...text, key: 'branchCode', attribute: 'BankAccountBranchNumber' };
  const tax = { ...text, key: 'taxId', attribute: 'IdentificationNumber' };
  const given = { bankCode: 'BPI', legalType: 'PRIVATE' };
  const corridor = withForms(
    philippines,
    ask([bank, text]),
    ask([bank, text, branch], { version: 2, given }),
    ask([bank, text, tax], { version: 3, given: { legalType: 'BUSINESS' } }),
  );
  const values = { BankRoutingNumber: 'BPI', BankAccountNumber: '1234567890' };
  assert.deepEqual(check(corridor, values).missing, ['BankAccountBranchNumber']);
  assert.deepEqual(check(corridor, { ...values, BankAccountBranchNumber: '001' }).missing, []);
  assert.deepEqual(check(corridor, { ...values, BankRoutingNumber: 'BDO' }).missing, []);
  // Where another form for the same bank does not ask for it, the rail decides by the recipient.
  const business = { bankCode: 'BPI', legalType: 'BUSINESS' };
  const both = withForms(
    philippines,
    ask([bank, text, branch], { version: 2, given }),
    ask([bank, text], { version: 4, given: business }),
  );
  assert.deepEqual(check(both, values).missing, []);
});

test('the bank comes before the account, and what is not asked for at the end', () => {
  const bank = { ...text, key: 'bankCode', attribute: 'BankRoutingNumber' };
  const gender = { ...text, key: 'gender', attribute: 'Gender' };
  const { requirements } = getProfile(withForms(philippines, ask([text, bank, gender])));
  const order = requirements.map(({ type }) => type);
  assert.deepEqual(order.slice(0, 2), ['BankRoutingNumber', 'BankAccountNumber']);
  assert.deepEqual(order.slice(-2), ['Gender', 'SWIFT']);
});

test('a form of a value that the counterparty no longer takes does not count', () => {
  const bank = (...codes: string[]): RequiredField => ({
    ...text,
    key: 'bankCode',
    attribute: 'BankRoutingNumber',
    input: 'options',
    choices: codes.map((value) => ({ value, label: value })),
  });
  const branch = { ...text, key: 'branchCode', attribute: 'BankAccountBranchNumber' };
  const gone = ask([bank('BDO', 'BPI'), branch], { given: { bankCode: 'BPI' } });
  const corridor = withForms(philippines, ask([bank('BDO')], { version: 2 }), gone);
  assert.equal(find(corridor, 'BankRoutingNumber')?.validation, 'BDO');
  assert.equal(find(corridor, 'BankAccountBranchNumber'), undefined);
});

test('a date is a date, and what is no attribute of the API is left out', () => {
  const born: RequiredField = {
    ...text,
    key: 'born',
    isCompact: false,
    attribute: 'DateOfBirth',
    label: 'Date of birth',
    input: 'date',
    pattern: '^\\d{4}-\\d{2}-\\d{2}$',
  };
  const strange = { ...text, key: 'color', attribute: 'FavouriteColor' };
  const selfie = { ...text, key: 'selfie', attribute: 'IDSelfieCollection' };
  const corridor = withForms(philippines, ask([born, strange, selfie]));
  assert.equal(find(corridor, 'DateOfBirth')?.inputType, 'date');
  assert.deepEqual(check(corridor, { DateOfBirth: '1985-02-30' }).faults, [
    'DateOfBirth not_a_date',
  ]);
  const count = getProfile(philippines).requirements.length;
  assert.equal(getProfile(corridor).requirements.length, count + 1);
  const checkBirth = (date: string) => check(corridor, { DateOfBirth: date }).faults;
  assert.deepEqual(checkBirth('0001-01-01'), ['DateOfBirth invalid_value']);
  assert.deepEqual(checkBirth('1899-12-31'), ['DateOfBirth invalid_value']);
  assert.deepEqual(checkBirth('1900-01-01'), []);
  assert.deepEqual(checkBirth('2999-01-01'), ['DateOfBirth too_young']);
});

test('the version of the profile names the requirements; tokens do not depend on them', () => {
  const asked = withForms(philippines, ask([text], { version: 7 }));
  assert.match(getProfile(asked).version, /^[0-9a-f]{16}@7$/);
  assert.equal(getProfile(asked).id, getProfile(philippines).id);
  assert.equal(getProfile(asked), getProfile({ ...asked }));
  assert.equal(getFields(philippines).length, getFields(asked).length);
});
