import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listCountries } from '../core/country.ts';
import { collectAttributes } from './collected-attributes.ts';

test('every bank corridor has sample values for all attributes', () => {
  for (const { code, currency } of listCountries()) {
    for (const one of new Set([currency, 'USD', 'EUR'])) {
      const collected = collectAttributes({
        countryCode: code,
        deliveryType: 'BANK_DEPOSIT',
        currency: one,
      });
      assert.notEqual(collected.sample['BankAccountNumber'], undefined, `${code} ${one}`);
      assert.equal(Object.keys(collected.sample).length, collected.attributes.length);
    }
  }
});
