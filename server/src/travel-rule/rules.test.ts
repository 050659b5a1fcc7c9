import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Beneficiary, Sender } from '../rails/contract/contract.ts';
import { listLacking, readTravelRules, selectRules } from './rules.ts';

const folder = mkdtempSync(join(tmpdir(), 'outlay-travel-rule-'));
after(() => rmSync(folder, { recursive: true }));

function read(file: unknown) {
  const path = join(folder, 'rules.json');
  writeFileSync(path, JSON.stringify(file));
  return readTravelRules(path);
}

const everything = {
  name: 'everything',
  deliveryTypes: ['CRYPTOCURRENCY'],
  countries: ['DEU'],
  aboveUsd: '1000.00',
  sender: ['name', 'address', 'registration'],
  recipient: ['name', 'address', 'dateOfBirth'],
};

test('a rule applies to its corridors above its value, and without a rate to all values', () => {
  const rules = read({ rules: [everything, { name: 'all' }] });
  const transfer = {
    countryCode: 'DEU',
    deliveryType: 'CRYPTOCURRENCY',
    usdMinor: 100_001n,
  } as const;
  const select = (changes: object) =>
    selectRules(rules, { ...transfer, ...changes }).map(({ name }) => name);
  assert.deepEqual(select({}), ['everything', 'all']);
  assert.deepEqual(select({ usdMinor: 100_000n }), ['all']);
  assert.deepEqual(select({ usdMinor: undefined }), ['everything', 'all']);
  assert.deepEqual(select({ countryCode: 'FRA' }), ['all']);
  assert.deepEqual(select({ deliveryType: 'BANK_DEPOSIT' }), ['all']);
});

test('everything that is missing is named once', () => {
  const rules = read({ rules: [everything, { ...everything, name: 'again' }] });
  const beneficiary = { address1: '', city: '', dateOfBirth: '', businessName: '' } as Beneficiary;
  const fields = (changes: Partial<Beneficiary>, sender?: Sender) =>
    listLacking(rules, { sender, beneficiary: { ...beneficiary, ...changes } }).map(
      ({ field, code }) => `${field} ${code}`,
    );
  assert.deepEqual(fields({}), [
    'address1 missing',
    'city missing',
    'date_of_birth missing',
    'sender sender_incomplete',
  ]);
  const sender = { legalName: 'X', address1: 'Y', city: 'Z', countryCode: 'DEU' };
  assert.deepEqual(
    fields({ address1: 'a', city: 'b', businessName: 'A business has no date of birth' }, {
      ...sender,
      registrationId: '1',
    } as Sender),
    [],
  );
});

test('the faults of a file are all named', () => {
  assert.throws(
    () => read({ rules: [{ name: 'A' }, { name: 'b', countries: ['XX'], aboveUsd: '1.234' }] }),
    (error: Error) =>
      /rules\.0\.name: must be a to z/.test(error.message) &&
      /rules\.1\.countries\.0: must be a country code/.test(error.message) &&
      /rules\.1\.aboveUsd: must be an amount in USD/.test(error.message),
  );
  assert.throws(() => read({ rules: [everything, everything] }), /a name of its own/);
  assert.throws(
    () => readTravelRules(join(folder, 'none.json')),
    /none\.json cannot be read \(ENOENT\)/,
  );
});
