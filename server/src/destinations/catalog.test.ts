import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createCompany,
  createPayer,
  createRail,
  getSandboxPayer,
  sandboxCatalog,
  sandboxRail,
} from '../../testing/setups/destinations.ts';
import { isUuid } from '../core/ids.ts';
import type { PayerDeclaration, Tariff } from '../rails/contract/declarations.ts';
import { sandboxPayers } from '../rails/sandbox/network.ts';
import { compileCatalog, getDestinationToken } from './catalog.ts';

test('destination tokens never change', () => {
  const tokens = {
    'mex-bank-meridian': 'fc1e7185-0df0-5059-895c-7bd8bb32f47b',
    'mex-cash-plaza': '01e9c13a-f781-5dbc-ac86-993a3c8d18a6',
    'mex-chain-blockline': 'd9ffef1c-6983-5f1c-b6de-57445c723407',
  };
  for (const [key, token] of Object.entries(tokens)) {
    assert.equal(getDestinationToken('sandbox', key), token);
    assert.equal(sandboxCatalog.findPayer(token)?.key, key);
  }
});

test('every declared payer is found by its token and in its country', () => {
  assert.equal(sandboxCatalog.payerCount, sandboxPayers.length);
  for (const { key, countryCode } of sandboxPayers) {
    const token = getDestinationToken('sandbox', key);
    const payer = sandboxCatalog.findPayer(token);
    assert.ok(isUuid(token) && payer !== undefined, key);
    assert.ok(sandboxCatalog.payersIn(countryCode).includes(payer), key);
  }
  assert.equal(sandboxCatalog.findPayer('no token'), undefined);
  assert.deepEqual(sandboxCatalog.payersIn('XXX'), []);
});

test('all countries of ISO 3166-1 are served, in order, with currencies and delivery types', () => {
  const served = sandboxCatalog.servedCountries();
  assert.equal(served.length, 249);
  assert.deepEqual([served[0]?.country.code, served.at(-1)?.country.code], ['ABW', 'ZWE']);
  const swiss = served.find(({ country }) => country.code === 'CHE');
  assert.deepEqual(swiss?.deliveryTypes, ['BANK_DEPOSIT', 'CRYPTOCURRENCY']);
  assert.deepEqual(swiss?.currencies, ['CHF', 'BTC', 'LTC', 'ETH', 'USDC']);
});

test('payers with equal tariffs share a pricing', () => {
  const prices = new Set(sandboxPayers.map(({ key }) => getSandboxPayer(key).pricing));
  assert.ok(prices.size < 80, `${prices.size} prices`);
});

test('equivalent payers have the same name, delivery type and currency', () => {
  const payer = getSandboxPayer('mex-cash-plaza');
  const keys = sandboxCatalog.findEquivalents(payer, 'MXN').map(({ key }) => key);
  assert.deepEqual(keys.toSorted(), ['mex-cash-kestrel', 'mex-cash-meridian']);
  assert.deepEqual(sandboxCatalog.findEquivalents(payer, 'USD'), []);
});

test('a payer on another network is not equivalent, whatever its name', () => {
  const rails = ['ethereum', 'polygon', 'polygon'].map((network, index) => ({
    ...createRail(
      `rail${index}`,
      [createCompany('first')],
      [{ ...createPayer('coin'), deliveryType: 'CRYPTOCURRENCY', currencies: ['USDC'] }],
    ),
    networks: { USDC: network },
  }));
  const catalog = compileCatalog(rails);
  const [onEthereum, onPolygon] = catalog.payersIn('MEX');
  assert.ok(onEthereum !== undefined && onPolygon !== undefined);
  assert.deepEqual(onEthereum.networks, { USDC: 'ethereum' });
  assert.deepEqual(catalog.findEquivalents(onEthereum, 'USDC'), []);
  const others = catalog.findEquivalents(onPolygon, 'USDC').map(({ railName }) => railName);
  assert.deepEqual(others, ['rail2']);
});

test('a payer that takes another form of account is not equivalent, whatever its name', () => {
  const forms = [undefined, 'stored_card', 'stored_card'] as const;
  const rails = forms.map((accountForm, index) =>
    createRail(
      `rail${index}`,
      [createCompany('first')],
      [{ ...createPayer('card'), deliveryType: 'BANK_DEPOSIT', currencies: ['MXN'], accountForm }],
    ),
  );
  const catalog = compileCatalog(rails);
  const [toBank, toCard] = catalog.payersIn('MEX');
  assert.ok(toBank !== undefined && toCard !== undefined);
  assert.deepEqual(catalog.findEquivalents(toBank, 'MXN'), []);
  const others = catalog.findEquivalents(toCard, 'MXN').map(({ railName }) => railName);
  assert.deepEqual(others, ['rail2']);
});

test('two rails may use the same key', () => {
  const rails = ['one', 'two'].map((name) =>
    createRail(name, [createCompany('first')], [createPayer('same')]),
  );
  assert.equal(compileCatalog([...rails, sandboxRail]).payersIn('MEX').length, 23);
});

const faulty: [string, Partial<PayerDeclaration & Tariff>, RegExp][] = [
  ['an unknown country', { countryCode: 'XKX' }, /payer test\/faulty: unknown country XKX/],
  ['an unknown currency', { currencies: ['MXN', 'XAU'] }, /currency XAU must be a currency that/],
  ['a withdrawn currency', { currencies: ['BGN'] }, /currency BGN must be EUR, which replaced BGN/],
  ['a repeated currency', { currencies: ['MXN', 'MXN'] }, /a currency occurs twice/],
  ['no currency', { currencies: [] }, /it must have a currency/],
  [
    'a card that takes cash',
    { accountForm: 'stored_card', deliveryType: 'CASH_PICKUP' },
    /accountForm stored_card must be of BANK_DEPOSIT/,
  ],
  ['an unknown company', { companyKey: 'other' }, /unknown company other/],
  ['no fee', { fee: [] }, /it must have a fee step/],
  [
    'a bounded last step',
    { fee: [{ upTo: '5', fixed: '1', basisPoints: 0 }] },
    /upTo of its last fee step must be null/,
  ],
  [
    'unordered fee steps',
    {
      fee: [
        { upTo: '500', fixed: '1', basisPoints: 0 },
        { upTo: '500', fixed: '2', basisPoints: 0 },
        { upTo: null, fixed: '3', basisPoints: 0 },
      ],
    },
    /payer test\/faulty: its fee steps must be in the order of upTo/,
  ],
  [
    'an unbounded step in between',
    {
      fee: [
        { upTo: null, fixed: '1', basisPoints: 0 },
        { upTo: null, fixed: '2', basisPoints: 0 },
      ],
    },
    /upTo of its fee steps before the last must not be null/,
  ],
  ['a negative fee', { fee: [{ upTo: null, fixed: '-1', basisPoints: 0 }] }, /of its fee/],
  ['a fee finer than a cent', { fee: [{ upTo: null, fixed: '0.001', basisPoints: 0 }] }, /fee/],
  ['a negative margin', { marginBasisPoints: -1 }, /marginBasisPoints -1 must be/],
  ['a margin of half the amount', { marginBasisPoints: 5_000 }, /marginBasisPoints 5000 must be/],
  [
    'limits that exclude everything',
    { minLimit: '10', maxLimit: '5' },
    /minLimit must not exceed maxLimit/,
  ],
  ['a maximum below 1 USD', { maxLimit: '0.5' }, /maxLimit must be at least 1 USD/],
  ['a key with a space', { key: 'not plain' }, /its key must be lower-case letters/],
  ['a logo that is not a PNG', { logo: 'R0lGODlh' }, /must be a PNG/],
  ['a fraction of a location', { numberOfLocations: 1.5 }, /numberOfLocations must be/],
  ['a rate lock of a second', { rateLockSeconds: 1 }, /rateLockSeconds must be/],
];

for (const [name, changes, message] of faulty) {
  test(`a declaration with ${name} is refused`, () => {
    const rail = createRail('test', [createCompany('first')], [createPayer('faulty', changes)]);
    assert.throws(() => compileCatalog([rail]), message);
  });
}

const faultyRules: [string, object, RegExp][] = [
  ['an unknown time zone', { timeZone: 'Mars/Base' }, /unknown time zone/],
  ['an unknown calendar', { calendar: 'XX' }, /unknown calendar/],
  ['a week of rest', { weekend: [0, 1, 2, 3, 4, 5, 6] }, /weekend/],
  ['a cut-off at 25:00', { cutOff: '25:00' }, /cutOff 25:00 must be a time/],
  [
    'an arrival before the cut-off',
    { cutOff: '12:00', delay: { businessDays: 0, arrival: '11:00' } },
    /arrival must be after cutOff/,
  ],
];

for (const [name, changes, message] of faultyRules) {
  test(`an availability with ${name} is refused`, () => {
    const availability = { ...createPayer('plain').availability, ...changes };
    const payers = [createPayer('faulty', { availability })];
    const rail = createRail('test', [createCompany('first')], payers);
    assert.throws(() => compileCatalog([rail]), message);
  });
}

test('a key that is already used is refused', () => {
  const payers = [createPayer('same'), createPayer('same')];
  const rail = createRail('test', [createCompany('first')], payers);
  assert.throws(() => compileCatalog([rail]), /payer test\/same: its key is already used/);
});
