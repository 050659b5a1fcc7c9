import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkValues } from './checks.ts';
import type { AttributeType } from './field.ts';
import { getProfile } from './requirements.ts';

function check(currency: string, address: string) {
  const corridor = { countryCode: 'MEX', deliveryType: 'CRYPTOCURRENCY', currency } as const;
  const values = new Map<AttributeType, string>([['BankAccountNumber', address]]);
  return checkValues(getProfile(corridor), corridor, { values, today: '2026-01-01' });
}

/** From BIP 173, BIP 350, BIP 341, ERC-55 and the projects' own test vectors. */
const right: Readonly<Record<string, readonly string[]>> = {
  BTC: [
    '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
    '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy',
    '1111111111111111111114oLvT2',
    'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4',
    'bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3',
    'bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr',
    'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
  ],
  LTC: [
    'LaMT348PWRnrqeeWArpwQPbuanpXDZGEUz',
    'MJRSgZ3UUFcTBTBAaN38XAXvZLwRe8WVw7',
    'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9',
  ],
  ETH: [
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed',
    '0x52908400098527886E0F7030069857D2E4169EE7',
  ],
  USDC: ['0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'],
};

const wrong: Readonly<Record<string, readonly string[]>> = {
  BTC: [
    '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb',
    'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn',
    '2MzQwSSnBHWHqSAqtTVQ6v47XtaisrJa1Vc',
    'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx',
    'LaMT348PWRnrqeeWArpwQPbuanpXDZGEUz',
    'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9',
    // Version 0 with the checksum of version 1 and later, and the other way round.
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh',
    'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd',
    // Capitals and small letters mixed, a program of one byte, an empty one.
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3T4',
    'bc1pw5dgrnzv',
    'bc1gmk9yu',
    // Valid by BIP 350, but of versions without rules: anyone could spend the money.
    'BC1SW50QGDZ25J',
    'bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs',
    'bc1pfeessrawgf',
    'BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R',
    '',
  ],
  LTC: [
    'LaMT348PWRnrqeeWArpwQPbuanpXDZGEUy',
    '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
    // Litecoin's older form of script addresses, which is Bitcoin's: the first one is known there.
    '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy',
    '3CDJNfdWX8m2NwuGUV3nhXHXEeLygMXoAj',
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
    'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0',
  ],
  ETH: [
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD',
    '0x0000000000000000000000000000000000000000',
    '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae',
    '5aaeb6053f3e94c9b9a09f33669435e7ef1beaed',
    'vitalik.eth',
  ],
};

test('addresses of the main networks pass', () => {
  for (const [currency, addresses] of Object.entries(right)) {
    for (const address of addresses) {
      assert.deepEqual(check(currency, address).faults, [], `${currency} ${address}`);
    }
  }
});

test('addresses with a wrong checksum, of another chain or of a test network are refused', () => {
  for (const [currency, addresses] of Object.entries(wrong)) {
    for (const address of addresses) {
      assert.equal(check(currency, address).faults.length, 1, `${currency} ${address}`);
    }
  }
});

test('every change of one character of an address is found', () => {
  const address = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
  for (let index = 4; index < address.length; index += 1) {
    const other = address[index] === 'q' ? 'p' : 'q';
    const changed = address.slice(0, index) + other + address.slice(index + 1);
    assert.equal(check('BTC', changed).faults.length, 1, changed);
  }
});

test('the normalized form is lower case for witness addresses and ERC-55 for Ethereum', () => {
  const capitals = 'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4';
  const bitcoin = check('BTC', capitals).normalized.get('BankAccountNumber');
  assert.equal(bitcoin, capitals.toLowerCase());
  const lower = '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed';
  const ether = check('ETH', lower).normalized.get('BankAccountNumber');
  assert.equal(ether, '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed');
});

test('an address must be one of the network on which the payer pays, which the label names', () => {
  const on = (network: string, address: string) => {
    const corridor = {
      countryCode: 'MEX',
      deliveryType: 'CRYPTOCURRENCY',
      currency: 'USDC',
      network,
    } as const;
    const profile = getProfile(corridor);
    const values = new Map<AttributeType, string>([['BankAccountNumber', address]]);
    const { faults } = checkValues(profile, corridor, { values, today: '2026-01-01' });
    return [profile.id, profile.requirements[0]?.label, faults.length];
  };
  const ethereum = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
  const wallet = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM';
  const program = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
  assert.deepEqual(on('ethereum', ethereum), ['crypto:USDC', 'Wallet address (Ethereum)', 0]);
  assert.deepEqual(on('polygon', ethereum), ['crypto:USDC:polygon', 'Wallet address (Polygon)', 0]);
  const solana = ['crypto:USDC:solana', 'Wallet address (Solana)'];
  assert.deepEqual(on('solana', wallet), [...solana, 0]);
  assert.deepEqual(on('solana', ethereum), [...solana, 1]);
  assert.deepEqual(on('solana', program), [...solana, 1]);
  assert.deepEqual(on('solana', wallet.slice(0, -2)), [...solana, 1]);
  assert.equal(on('polygon', wallet)[2], 1);
});
