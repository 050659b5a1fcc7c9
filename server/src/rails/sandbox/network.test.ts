import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { findCountry, listCountries } from '../../core/country.ts';
import {
  type DeliveryType,
  deliveryTypes,
  type PayerDeclaration,
} from '../contract/declarations.ts';
import { sandboxCompanies, sandboxPayers } from './network.ts';
import * as data from './network-data.ts';

function listPayers(countryCode: string, deliveryType: DeliveryType): PayerDeclaration[] {
  return sandboxPayers.filter(
    (payer) => payer.countryCode === countryCode && payer.deliveryType === deliveryType,
  );
}

test('every country takes bank deposits in its currency, through several companies', () => {
  assert.equal(listCountries().length, 249);
  for (const { code, currency } of listCountries()) {
    const payers = listPayers(code, 'BANK_DEPOSIT');
    assert.ok(new Set(payers.map((payer) => payer.companyKey)).size >= 3, code);
    assert.ok(
      payers.every((payer) => payer.currencies[0] === currency),
      code,
    );
  }
});

test('every country takes the four cryptocurrencies, each through two companies', () => {
  for (const { code } of listCountries()) {
    const payers = listPayers(code, 'CRYPTOCURRENCY');
    assert.equal(payers.length, 2, code);
    for (const payer of payers) assert.deepEqual(payer.currencies, ['BTC', 'LTC', 'ETH', 'USDC']);
  }
});

test('each way of paying is there where it is used', () => {
  const expected: Record<string, readonly DeliveryType[]> = {
    MEX: [
      'BANK_DEPOSIT',
      'CASH_PICKUP',
      'MOBILE_WALLET',
      'HOME_DELIVERY',
      'BILL',
      'CRYPTOCURRENCY',
    ],
    KEN: ['BANK_DEPOSIT', 'CASH_PICKUP', 'MOBILE_WALLET', 'BILL', 'CRYPTOCURRENCY'],
    SWE: ['BANK_DEPOSIT', 'CRYPTOCURRENCY'],
    USA: ['BANK_DEPOSIT', 'CASH_PICKUP', 'PAPER_CHECK', 'CRYPTOCURRENCY'],
    ATA: ['BANK_DEPOSIT', 'CRYPTOCURRENCY'],
  };
  for (const [code, types] of Object.entries(expected)) {
    const offered = deliveryTypes.filter((type) => listPayers(code, type).length > 0);
    assert.deepEqual(offered.toSorted(), [...types].toSorted(), code);
  }
  assert.deepEqual(
    deliveryTypes.filter((type) => !sandboxPayers.some((payer) => payer.deliveryType === type)),
    [],
  );
});

test('where banks keep dollar accounts, dollars come second', () => {
  const [payer] = listPayers('LBN', 'BANK_DEPOSIT');
  assert.deepEqual(payer?.currencies, ['LBP', 'USD']);
  assert.deepEqual(listPayers('SLV', 'BANK_DEPOSIT')[0]?.currencies, ['USD']);
  assert.deepEqual(listPayers('MEX', 'BANK_DEPOSIT')[0]?.currencies, ['MXN']);
});

test('recipients of cash are verified above 1,000 USD, in some countries always', () => {
  for (const { kind, countryCode } of listPayers('PHL', 'CASH_PICKUP').map((payer) => ({
    ...payer.verification,
    countryCode: payer.countryCode,
  }))) {
    assert.deepEqual([kind, countryCode], ['above', 'PHL']);
  }
  assert.ok(
    listPayers('SOM', 'CASH_PICKUP').every(({ verification }) => verification.kind === 'always'),
  );
  assert.ok(
    listPayers('SOM', 'BANK_DEPOSIT').every(({ verification }) => verification.kind === 'never'),
  );
});

test('no company and no payer has the name of a real one, and each says that it is simulated', () => {
  assert.ok(sandboxCompanies.length >= 6);
  for (const { description } of sandboxCompanies)
    assert.match(description, /invented.*No money moves/);
  for (const payer of sandboxPayers) {
    assert.match(payer.payerName, /^Sandbox /);
    assert.match(payer.additionalDescription, /Simulated\.$/);
  }
});

test('every code in the lists is one of ISO 3166-1, and every number a whole one', () => {
  for (const [name, list] of Object.entries(data)) {
    if (list instanceof Set) {
      for (const code of list) assert.ok(findCountry(code) !== undefined, `${name} ${code}`);
    }
    if (list instanceof Map) {
      for (const [code, number] of list) {
        assert.ok(findCountry(code) !== undefined && Number.isInteger(number), `${name} ${code}`);
      }
    }
  }
});

test('banks rest on the days on which they do in that country', () => {
  const weekends = ['SAU', 'ARE', 'ISR', 'EGY', 'MEX', 'IRN', 'NPL'].map(data.getWeekend);
  assert.deepEqual(weekends, [[5, 6], [6, 0], [5, 6], [5, 6], [6, 0], [4, 5], [6]]);
});

test('the logos are small pictures, each company with its own', async () => {
  const logos = new Set([...sandboxCompanies, ...sandboxPayers].map(({ logo }) => logo));
  assert.equal(new Set(sandboxCompanies.map(({ logo }) => logo)).size, sandboxCompanies.length);
  assert.equal(logos.size, 19);
  for (const logo of logos) {
    const png = Buffer.from(logo, 'base64');
    assert.ok(png.length < 1_000 && png.toString('base64') === logo);
    const { info } = await sharp(png).raw().toBuffer({ resolveWithObject: true });
    assert.deepEqual([info.width, info.height], [64, 64]);
  }
});
