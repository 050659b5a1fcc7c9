import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecipientDraft } from '../contract/contract.ts';
import type { NachaConfig } from './config.ts';
import { checkRecipient } from './recipient-check.ts';

const beneficiary = {
  firstName: 'Ana',
  middleName: '',
  lastName: 'Gómez',
  businessName: '',
  address1: '',
  address2: '',
  city: '',
  stateProvince: '',
  postalCode: '',
  countryCode: 'USA',
  email: '',
  mobileNumber: '',
  dateOfBirth: '',
};
const attributes = {
  BankRoutingNumber: '021000021',
  BankAccountNumber: '12345',
  BankAccountType: 'CHECKING',
};
const config = { speed: 'next_day' } as NachaConfig;

function check(changes: Partial<RecipientDraft> = {}): string[] {
  const draft: RecipientDraft = {
    payerKey: 'ach',
    countryCode: 'USA',
    deliveryType: 'BANK_DEPOSIT',
    currency: 'USD',
    amountMinor: 100n,
    beneficiary,
    attributes,
    ...changes,
  };
  return checkRecipient(draft, { config, payers: [] }).map(({ field, code }) => `${field} ${code}`);
}

test('a name that ACH can write passes at the quote, without its accents', () => {
  assert.deepEqual(check(), []);
  assert.deepEqual(check({ attributes: undefined }), []);
});

test('a name partly in another script is refused at the quote, field by field', () => {
  const chinese = { ...beneficiary, firstName: '李小龙', lastName: 'Lee' };
  assert.deepEqual(check({ beneficiary: chinese }), ['first_name invalid']);
  const company = { ...beneficiary, businessName: 'Ωmega Trading' };
  assert.deepEqual(check({ beneficiary: company, attributes: undefined }), [
    'business_name invalid',
  ]);
});

test('an amount with more than ten digits is refused at the quote', () => {
  assert.deepEqual(check({ amountMinor: 10_000_000_000n }), ['amount amount_refused']);
});

test('the faults of an international entry list every missing part of the address', () => {
  assert.deepEqual(check({ countryCode: 'MEX' }), ['address1 missing', 'city missing']);
  assert.deepEqual(check({ countryCode: 'MEX', attributes: undefined }), []);
});

test('bank details that do not fill an entry are refused', () => {
  assert.deepEqual(check({ attributes: { ...attributes, BankRoutingNumber: '1' } }), [
    'BankAccountNumber invalid',
  ]);
});
