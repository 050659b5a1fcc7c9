import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTestConfig, withIat } from '../../../testing/setups/nacha.ts';
import { getProfile } from '../../attributes/requirements.ts';
import type { RailHost } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import { listPayerFaults } from './payer-checks.ts';
import { railModule } from './rail.ts';

function makePayer(countryCode: string, options: Readonly<Record<string, string>> = {}) {
  const payer: Partial<PayerDeclaration> = {
    key: `to_${countryCode}`,
    countryCode,
    deliveryType: 'BANK_DEPOSIT',
    currencies: ['USD'],
    options,
  };
  return payer as PayerDeclaration;
}

/** With the attributes that the service really asks for. */
function makeHost(payers: readonly PayerDeclaration[]): RailHost {
  const host: Partial<RailHost> = {
    name: 'bank_us',
    payers,
    log: () => undefined,
    listAttributes: ({ countryCode, deliveryType }, currency) =>
      getProfile({ countryCode, deliveryType, currency }).requirements.map(({ type }) => type),
  };
  return host as RailHost;
}

test('payers whose recipients provide all required attributes have no faults', () => {
  const host = makeHost(['USA', 'DEU', 'MEX', 'CAN', 'JPN'].map((country) => makePayer(country)));
  assert.deepEqual(listPayerFaults(readTestConfig(withIat()), host), []);
});

test('a payer whose attributes cannot fill an entry is refused at the start, with all faults', async () => {
  const payers = [
    makePayer('ECU'),
    makePayer('PAN'),
    makePayer('USA', { entryDescription: 'SALARY PAYMENT' }),
  ];
  const host = makeHost(payers);
  const config = readTestConfig(withIat());
  assert.deepEqual(listPayerFaults(config, host), [
    'the payer to_ECU can never pay: an entry requires SWIFT or BankRoutingNumber, which is not collected from recipients in ECU',
    'the payer to_PAN can never pay: an entry requires SWIFT or BankRoutingNumber, which is not collected from recipients in PAN',
    'the entryDescription of the payer to_USA must be at most 10 ASCII characters',
  ]);
  await assert.rejects(railModule.create(config, host), /to_ECU can never pay.*to_PAN.*to_USA/);
});

test('a payer abroad without the member iat is refused', () => {
  const host = makeHost([makePayer('DEU')]);
  assert.deepEqual(listPayerFaults(readTestConfig(), host), [
    'the payer to_DEU requires the setting iat',
  ]);
});
