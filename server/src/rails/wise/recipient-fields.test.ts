import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newInstruction, toAmerica, usPayer, wisePayer } from '../../../testing/setups/wise.ts';
import type { Beneficiary } from '../contract/contract.ts';
import { railModule } from './rail.ts';
import { listRecipientFaults } from './recipient-fields.ts';

const { attributes, beneficiary } = toAmerica();

function listFields(
  changes: { attributes?: Record<string, string>; beneficiary?: Beneficiary },
  hasAttributes = true,
): readonly string[] {
  const recipient = {
    payer: usPayer,
    countryCode: 'USA',
    currency: 'USD',
    attributes,
    beneficiary,
  };
  const options = { sourceCurrency: 'EUR', hasAttributes };
  return listRecipientFaults({ ...recipient, ...changes }, options).map(({ field }) => field);
}

test('a recipient with everything has no fault; what is stored later is not missing yet', () => {
  assert.deepEqual(listFields({}), []);
  assert.deepEqual(listFields({ attributes: {} }, false), []);
});

test('attributes and address are refused early where they are missing', () => {
  const some = { BankRoutingNumber: '021000021' };
  assert.deepEqual(listFields({ attributes: some }), ['BankAccountNumber', 'BankAccountType']);
  const nowhere = { ...beneficiary, city: '', stateProvince: '' };
  assert.deepEqual(listFields({ beneficiary: nowhere }), ['city', 'state_province']);
  // From a balance in USD or AUD every recipient needs an address.
  const british = newInstruction();
  const recipient = { ...british, payer: wisePayer, beneficiary: { ...beneficiary, address1: '' } };
  const listFor = (sourceCurrency: string) =>
    listRecipientFaults(recipient, { sourceCurrency, hasAttributes: true }).map(
      ({ field }) => field,
    );
  assert.deepEqual(listFor('EUR'), []);
  assert.deepEqual(listFor('USD'), ['address1']);
});

test('the name of a person needs two words of permitted characters', () => {
  for (const lastName of ['', '李', 'B', 'Byron 2']) {
    assert.deepEqual(listFields({ beneficiary: { ...beneficiary, lastName } }), ['last_name']);
  }
  const business = { ...beneficiary, firstName: '', lastName: '', businessName: 'A1' };
  assert.deepEqual(listFields({ beneficiary: business }), []);
  assert.deepEqual(listFields({ beneficiary: { ...business, businessName: 'A' } }), [
    'business_name',
  ]);
  assert.deepEqual(listFields({ attributes: { ...attributes, BankAccountName: 'Ada Byron' } }), []);
});

test('a payer whose accounts our attributes cannot describe is refused at the start', () => {
  const sample = { BankRoutingNumber: '231470', BankAccountNumber: '28821822' };
  const check = (payer: typeof wisePayer, currency: string, values: Record<string, string>) =>
    railModule.checkPayer?.(payer, { currency, attributes: [], sample: values });
  assert.deepEqual(check(wisePayer, 'GBP', sample), []);
  assert.match(check(wisePayer, 'GBP', { BankAccountNumber: '1' })?.join() ?? '', /sortCode/);
  assert.match(check(wisePayer, 'KES', sample)?.join() ?? '', /recipientType/);
  const named = { ...wisePayer, options: { recipientType: 'kenya_mobile' } };
  assert.deepEqual(check(named, 'KES', sample), []);
});
