import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCompany, createPayer, createRail } from '../../testing/setups/destinations.ts';
import { getProfile } from '../attributes/requirements.ts';
import type { Rail } from '../rails/contract/contract.ts';
import type { PayerDeclaration } from '../rails/contract/declarations.ts';
import { findStoredCorridor } from './stored-corridor.ts';

/** A stored payout names the attributes that its destination asks for, and no others. */

function openRail(payer: Partial<PayerDeclaration>, changes: Partial<Rail> = {}): Rail {
  const base = createRail('one', [createCompany('first')], [{ ...createPayer('only'), ...payer }]);
  return { ...base, ...changes };
}

const route = {
  rail: 'one',
  payer_key: 'only',
  country: 'MEX',
  delivery_type: 'BANK_DEPOSIT',
  destination_currency: 'MXN',
};
const nameProfile = (rails: readonly Rail[], changes: Partial<typeof route> = {}): string =>
  getProfile(findStoredCorridor(rails, { ...route, ...changes })).id;

test('of a stored card, its token', () => {
  assert.equal(nameProfile([openRail({ accountForm: 'stored_card' })]), 'stored_card:MEX');
  assert.equal(nameProfile([openRail({})]), 'bank:MEX:MXN');
});

test('of a coin, an address on the network of its rail', () => {
  const coin = { delivery_type: 'CRYPTOCURRENCY', destination_currency: 'USDC' };
  const payer = { deliveryType: 'CRYPTOCURRENCY', currencies: ['USDC'] } as const;
  const onPolygon = openRail(payer, { networks: { USDC: 'polygon' } });
  assert.equal(nameProfile([onPolygon], coin), 'crypto:USDC:polygon');
  const onEthereum = openRail(payer, { networks: { USDC: 'ethereum' } });
  assert.equal(nameProfile([onEthereum], coin), 'crypto:USDC');
});

test('of a payer that is no longer configured, those of the delivery type', () => {
  const rails = [openRail({ accountForm: 'stored_card' })];
  assert.equal(nameProfile(rails, { payer_key: 'gone' }), 'bank:MEX:MXN');
  assert.equal(nameProfile([]), 'bank:MEX:MXN');
});
