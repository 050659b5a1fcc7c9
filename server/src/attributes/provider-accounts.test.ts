import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listCountries } from '../core/country.ts';
import type { AccountForm, DeliveryType } from '../rails/contract/declarations.ts';
import { maskValues } from './attribute-values.ts';
import { checkValues } from './checks.ts';
import type { AttributeType } from './field.ts';
import { type Corridor, getFields, getProfile } from './requirements.ts';
import { makeSampleSet } from './sample-values.ts';

/** What is required of recipients whom a provider knows by an ID of its own. */

const today = '2026-11-26';

function makeCorridorOf(
  accountForm: AccountForm,
  deliveryType: DeliveryType = 'BANK_DEPOSIT',
): Corridor {
  return { countryCode: 'ESP', deliveryType, currency: 'EUR', accountForm };
}

function check(corridor: Corridor, values: Partial<Record<AttributeType, string>>) {
  const given = new Map(Object.entries(values)) as Map<AttributeType, string>;
  return checkValues(getProfile(corridor), corridor, { values: given, today });
}

const card = { CardNumber: 'ZMV627QSCQVDKG66', BillReferenceNumber: 'customer 42' };

test('a stored card is its token and the reference of the cardholder', () => {
  const { missing, faults, normalized } = check(makeCorridorOf('stored_card'), card);
  assert.deepEqual({ missing, faults }, { missing: [], faults: [] });
  // Capitals count, and nothing is tidied away.
  assert.equal(normalized.get('CardNumber'), card.CardNumber);
  const lower = check(makeCorridorOf('stored_card'), { ...card, CardNumber: 'zmv627qscqvdkg66' });
  assert.equal(lower.normalized.get('CardNumber'), 'zmv627qscqvdkg66');
  assert.deepEqual(check(makeCorridorOf('stored_card'), {}).missing, [
    'CardNumber',
    'BillReferenceNumber',
  ]);
  assert.deepEqual(maskValues(card, 'BANK_DEPOSIT'), { ...card, CardNumber: '****KG66' });
});

test('a card number is refused wherever it could be entered, and not repeated', () => {
  const spellings = ['4111111111111111', '4111 1111 1111 1111', '4111-1111-1111-1111'];
  for (const number of spellings) {
    for (const [form, type] of [
      ['stored_card', 'CardNumber'],
      ['stored_card', 'BillReferenceNumber'],
      ['provider_account', 'BankAccountNumber'],
    ] as const) {
      const { faults, normalized } = check(makeCorridorOf(form), { [type]: number });
      assert.deepEqual(
        faults.map((fault) => [fault.type, fault.code]),
        [[type, 'card_number']],
        `${type} ${number}`,
      );
      assert.ok(!JSON.stringify(faults).includes('1111'));
      assert.equal(normalized.get(type), undefined);
    }
  }
});

test('an account at a provider is its ID, for wallets and for banks', () => {
  for (const deliveryType of ['BANK_DEPOSIT', 'MOBILE_WALLET'] as const) {
    const corridor = makeCorridorOf('provider_account', deliveryType);
    const id = { BankAccountNumber: 'BA00000000000000000000777' };
    assert.deepEqual(check(corridor, id).faults, []);
    assert.deepEqual(check(corridor, id).missing, []);
    assert.deepEqual(check(corridor, {}).missing, ['BankAccountNumber']);
    const wrong = check(corridor, { BankAccountNumber: 'BA 1 €' });
    assert.deepEqual(
      wrong.faults.map(({ code }) => code),
      ['pattern_mismatch'],
    );
    assert.deepEqual(maskValues(id, deliveryType), { BankAccountNumber: '****0777' });
  }
});

test('the law of the country is asked for as for any delivery, and samples pass everywhere', () => {
  const types = ({ requirements }: ReturnType<typeof getProfile>) =>
    requirements.map(({ type }) => type);
  const india = { ...makeCorridorOf('stored_card'), countryCode: 'IND', currency: 'INR' };
  assert.ok(types(getProfile(india)).includes('RemittanceReason'));
  for (const { code: countryCode, currency } of listCountries()) {
    for (const form of ['stored_card', 'provider_account'] as const) {
      const corridor = { ...makeCorridorOf(form), countryCode, currency };
      const values = makeSampleSet(getFields(corridor), { seed: '', countryCode, today });
      const { faults, missing } = checkValues(getProfile(corridor), corridor, { values, today });
      assert.deepEqual({ faults, missing }, { faults: [], missing: [] }, countryCode);
    }
  }
});

test('attributes of the forms are not those of a bank account', () => {
  const bank: Corridor = { countryCode: 'ESP', deliveryType: 'BANK_DEPOSIT', currency: 'EUR' };
  const ids = [bank, makeCorridorOf('stored_card'), makeCorridorOf('provider_account')].map(
    (corridor) => getProfile(corridor).id,
  );
  assert.deepEqual(ids, ['bank:ESP:EUR', 'stored_card:ESP', 'provider_account:ESP']);
});
