import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createCompany,
  createPayer,
  createRail,
  getSandboxPayer,
  sandboxCatalogue,
  sandboxRail,
} from '../../testing/setups/destinations.ts';
import { isUuid } from '../core/ids.ts';
import type { PayerDeclaration, Tariff } from '../rails/contract/declarations.ts';
import { sandboxPayers } from '../rails/sandbox/network.ts';
import { compileCatalogue, getDestinationToken } from './catalogue.ts';

test('a destination token is for ever: these were given out', () => {
  const tokens = {
    'mex-bank-meridian': 'fc1e7185-0df0-5059-895c-7bd8bb32f47b',
    'mex-cash-plaza': '01e9c13a-f781-5dbc-ac86-993a3c8d18a6',
    'mex-chain-blockline': 'd9ffef1c-6983-5f1c-b6de-57445c723407',
  };
  for (const [key, token] of Object.entries(tokens)) {
    assert.equal(getDestinationToken('sandbox', key), token);
    assert.equal(sandboxCatalogue.findPayer(token)?.key, key);
  }
});

test('every declared payer is found by its token and in its country', () => {
  assert.equal(sandboxCatalogue.payerCount, sandboxPayers.length);
  for (const { key, countryCode } of sandboxPayers) {
    const token = getDestinationToken('sandbox', key);
    const payer = sandboxCatalogue.findPayer(token);
    assert.ok(isUuid(token) && payer !== undefined, key);
    assert.ok(sandboxCatalogue.payersIn(countryCode).includes(payer), key);
  }
  assert.equal(sandboxCatalogue.findPayer('no token'), undefined);
  assert.deepEqual(sandboxCatalogue.payersIn('XXX'), []);
});

test('the countries served are all of ISO 3166-1, in order, with what they take', () => {
  const served = sandboxCatalogue.servedCountries();
  assert.equal(served.length, 249);
  assert.deepEqual([served[0]?.country.code, served.at(-1)?.country.code], ['ABW', 'ZWE']);
  const swiss = served.find(({ country }) => country.code === 'CHE');
  assert.deepEqual(swiss?.deliveryTypes, ['BANK_DEPOSIT', 'CRYPTOCURRENCY']);
  assert.deepEqual(swiss?.currencies, ['CHF', 'BTC', 'LTC', 'ETH', 'USDC']);
});

test('payers of the same price share it, so that thousands stay small', () => {
  const prices = new Set(sandboxPayers.map(({ key }) => getSandboxPayer(key).pricing));
  assert.ok(prices.size < 80, `${prices.size} prices`);
});

test('equivalents deliver the same currency the same way under the same name', () => {
  const payer = getSandboxPayer('mex-cash-plaza');
  const keys = sandboxCatalogue.findEquivalents(payer, 'MXN').map(({ key }) => key);
  assert.deepEqual(keys.toSorted(), ['mex-cash-kestrel', 'mex-cash-meridian']);
  assert.deepEqual(sandboxCatalogue.findEquivalents(payer, 'USD'), []);
});

test('two rails may use the same key', () => {
  const rails = ['one', 'two'].map((name) =>
    createRail(name, [createCompany('first')], [createPayer('same')]),
  );
  assert.equal(compileCatalogue([...rails, sandboxRail]).payersIn('MEX').length, 23);
});

const faulty: [string, Partial<PayerDeclaration & Tariff>, RegExp][] = [
  ['an unknown country', { countryCode: 'XKX' }, /payer test\/faulty: unknown country XKX/],
  ['an unknown currency', { currencies: ['MXN', 'XAU'] }, /unknown currency XAU/],
  ['a currency named twice', { currencies: ['MXN', 'MXN'] }, /named twice/],
  ['no currency', { currencies: [] }, /no currency/],
  ['an unknown company', { companyKey: 'other' }, /unknown company other/],
  ['no fee', { fee: [] }, /no fee step/],
  ['a bounded last step', { fee: [{ upTo: '5', fixed: '1', basisPoints: 0 }] }, /is bounded/],
  [
    'steps that do not ascend',
    {
      fee: [
        { upTo: '500', fixed: '1', basisPoints: 0 },
        { upTo: '500', fixed: '2', basisPoints: 0 },
        { upTo: null, fixed: '3', basisPoints: 0 },
      ],
    },
    /payer test\/faulty: its fee steps do not ascend/,
  ],
  [
    'an unbounded step in between',
    {
      fee: [
        { upTo: null, fixed: '1', basisPoints: 0 },
        { upTo: null, fixed: '2', basisPoints: 0 },
      ],
    },
    /before the last one is unbounded/,
  ],
  ['a negative fee', { fee: [{ upTo: null, fixed: '-1', basisPoints: 0 }] }, /of its fee/],
  ['a fee finer than a cent', { fee: [{ upTo: null, fixed: '0.001', basisPoints: 0 }] }, /fee/],
  ['a negative margin', { marginBasisPoints: -1 }, /a margin of -1/],
  ['a margin of half the amount', { marginBasisPoints: 5_000 }, /a margin of 5000/],
  ['limits that exclude everything', { minLimit: '10', maxLimit: '5' }, /over its maximum/],
  ['a maximum of next to nothing', { maxLimit: '0.5' }, /less than 1 USD/],
  ['a key with a space', { key: 'not plain' }, /not a plain key/],
  ['a logo that is no PNG', { logo: 'R0lGODlh' }, /not a PNG/],
  ['parts of a location', { numberOfLocations: 1.5 }, /locations/],
  ['a rate lock of a moment', { rateLockSeconds: 1 }, /rate lock/],
];

for (const [name, changes, message] of faulty) {
  test(`a declaration with ${name} is refused`, () => {
    const rail = createRail('test', [createCompany('first')], [createPayer('faulty', changes)]);
    assert.throws(() => compileCatalogue([rail]), message);
  });
}

const faultyRules: [string, object, RegExp][] = [
  ['a time zone that is none', { timeZone: 'Mars/Base' }, /unknown time zone/],
  ['a calendar that is none', { calendar: 'XX' }, /unknown calendar/],
  ['a week of rest', { weekend: [0, 1, 2, 3, 4, 5, 6] }, /weekend/],
  ['a cut-off at 25:00', { cutOff: '25:00' }, /cut-off at 25:00/],
  [
    'an arrival before the cut-off',
    { cutOff: '12:00', delay: { businessDays: 0, arrival: '11:00' } },
    /not after a cut-off/,
  ],
];

for (const [name, changes, message] of faultyRules) {
  test(`an availability with ${name} is refused`, () => {
    const availability = { ...createPayer('plain').availability, ...changes };
    const payers = [createPayer('faulty', { availability })];
    const rail = createRail('test', [createCompany('first')], payers);
    assert.throws(() => compileCatalogue([rail]), message);
  });
}

test('a key that is used twice is refused', () => {
  const payers = [createPayer('same'), createPayer('same')];
  const rail = createRail('test', [createCompany('first')], payers);
  assert.throws(() => compileCatalogue([rail]), /payer test\/same: its key is used twice/);
});
