import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listCountries } from './country.ts';
import { findCurrency, findCurrencyFault, listCurrencies } from './currency.ts';

test('a withdrawn currency is known, and its fault names the successor', () => {
  for (const [code, successor] of [
    ['ANG', 'XCG'],
    ['BGN', 'EUR'],
    ['CUC', 'CUP'],
  ] as const) {
    assert.equal(findCurrency(code)?.scale, 2);
    assert.equal(findCurrencyFault(code), `must be ${successor}, which replaced ${code}`);
    assert.equal(findCurrencyFault(successor), undefined);
  }
});

test('currencies withdrawn before are unknown, and their fault names the successor as well', () => {
  assert.equal(findCurrency('HRK'), undefined);
  assert.equal(findCurrencyFault('HRK'), 'must be EUR, which replaced HRK');
  assert.equal(findCurrencyFault('XXQ'), 'must be a currency that the service knows');
});

test('no country has a withdrawn currency', () => {
  const faulty = listCountries().filter(({ currency }) => findCurrencyFault(currency));
  assert.deepEqual(faulty, []);
  const withdrawn = listCurrencies().filter(({ code }) => findCurrencyFault(code) !== undefined);
  assert.deepEqual(withdrawn.map(({ code }) => code).toSorted(), ['ANG', 'BGN', 'CUC']);
});
