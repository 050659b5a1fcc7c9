import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listCurrencies } from './currency.ts';
import {
  describeNetwork,
  findAddressFormat,
  findHomeNetwork,
  findNetwork,
  getEvmNetwork,
} from './networks.ts';

test('every cryptocurrency has a home network whose coin is a known currency', () => {
  const codes = listCurrencies().map(({ code }) => code);
  for (const { code, isCrypto } of listCurrencies()) {
    const network = findHomeNetwork(code);
    assert.equal(network !== undefined, isCrypto, code);
    if (network !== undefined) assert(codes.includes(network.coin), network.coin);
  }
});

test('a network is found by its name and by its CAIP-2 identifier', () => {
  assert.equal(findNetwork('polygon')?.caip2, 'eip155:137');
  assert.equal(findNetwork('eip155:137')?.name, 'polygon');
  assert.equal(findNetwork(''), undefined);
});

test('an EVM chain has the coin in which it takes fees, and a name even if it is not listed', () => {
  assert.equal(getEvmNetwork(137).coin, 'POL');
  assert.equal(getEvmNetwork(56, 'ETH').coin, 'BNB');
  const other = getEvmNetwork(31_337);
  assert.deepEqual([other.name, other.coin], ['eip155:31337', 'ETH']);
  assert.equal(describeNetwork('eip155:31337'), 'eip155:31337');
});

test('addresses of test chains and of chains that are not listed have a known form', () => {
  assert.equal(findAddressFormat('eip155:31337'), 'evm');
  assert.equal(findAddressFormat('bitcoin-regtest'), 'bitcoin');
  assert.equal(findAddressFormat('solana-devnet'), 'solana');
  assert.equal(findAddressFormat('solana-localnet'), 'solana');
  assert.equal(findAddressFormat('mainframe'), undefined);
});
