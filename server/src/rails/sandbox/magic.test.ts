import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findMagicOutcome, listMagicValues } from './magic.ts';
import { outcomeNames } from './magic-rows.ts';

test('each outcome is found by its value, in any spelling of it', () => {
  for (const { type, values } of listMagicValues()) {
    for (const [outcome, value] of Object.entries(values)) {
      const spaced = value.replace(/(.{4})/g, '$1 ').trim();
      for (const spelling of [value, value.toLowerCase(), value.toUpperCase(), spaced]) {
        assert.equal(findMagicOutcome({ [type]: spelling }), outcome);
      }
    }
  }
});

test('no value stands for two outcomes', () => {
  const seen = new Map<string, string>();
  for (const { type, values } of listMagicValues()) {
    for (const [outcome, value] of Object.entries(values)) {
      const key = `${type} ${value}`;
      assert.equal(seen.get(key) ?? outcome, outcome, key);
      seen.set(key, outcome);
    }
  }
});

test('every outcome has a value, and the network can show it where it makes sense', () => {
  const rows = listMagicValues();
  for (const outcome of outcomeNames) {
    const carriers = rows.filter((row) => row.values[outcome] !== undefined);
    assert.ok(carriers.length > 0, outcome);
    const isPickup = outcome.startsWith('ready_');
    const hasBank = carriers.some((row) => row.deliveryTypes.includes('BANK_DEPOSIT'));
    assert.equal(hasBank, !isPickup, outcome);
  }
});

test('examples of other documentation are ordinary values', () => {
  const examples = [
    '032180000118359719',
    '002010077777777771',
    '646180157000000004',
    'GB29NWBK60161331926819',
    'GB82WEST12345698765432',
    'DE89370400440532013000',
    'FR1420041010050500013M02606',
    '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
    'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq',
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0000014579',
    '000123456789',
    '12345678',
  ];
  for (const BankAccountNumber of examples) {
    assert.equal(findMagicOutcome({ BankAccountNumber }), undefined);
  }
  for (const PhoneNumber of ['+12015550123', '+447400123456', '+254712123456']) {
    assert.equal(findMagicOutcome({ PhoneNumber }), undefined);
  }
  assert.equal(findMagicOutcome({}), undefined);
});
