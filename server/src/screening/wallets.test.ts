import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sha256 } from '@noble/hashes/sha2.js';
import { hexToBytes } from '@noble/hashes/utils.js';
import { bech32, createBase58check } from '@scure/base';
import { normalizeWallet } from './wallets.ts';

const hash = '751e76e8199196d454941c45d1b3a323f1433bd6';
const script = 'c0b74cbecb5efc5f9a4a4e4b1ab2f7ce4dfe1c52';

function base58(version: number, hex: string): string {
  return createBase58check(sha256).encode(Uint8Array.from([version, ...hexToBytes(hex)]));
}

test('an EVM address is equal in upper and lower case', () => {
  const address = '0x7F367cC41522cE07553e823bf3be79A889DEbe1B';
  assert.equal(normalizeWallet(address), normalizeWallet(address.toLowerCase()));
  assert.equal(normalizeWallet(address), normalizeWallet(`0x${address.slice(2).toUpperCase()}`));
});

test('a key is equal in its old and new form, on Bitcoin and Litecoin', () => {
  const witness = (prefix: string): string =>
    bech32.encode(prefix, [0, ...bech32.toWords(hexToBytes(hash))]);
  const forms = [
    base58(0x00, hash),
    base58(0x30, hash),
    witness('bc'),
    witness('bc').toUpperCase(),
    witness('ltc'),
  ];
  assert.deepEqual(new Set(forms.map(normalizeWallet)), new Set([`key:${hash}`]));
});

test('a Litecoin script is equal with prefix 3 and M, and differs from a key', () => {
  assert.equal(normalizeWallet(base58(0x05, script)), normalizeWallet(base58(0x32, script)));
  assert.notEqual(normalizeWallet(base58(0x05, hash)), normalizeWallet(base58(0x00, hash)));
});

test('base58 addresses are case-sensitive', () => {
  const address = base58(0x00, hash);
  assert.notEqual(normalizeWallet(address), normalizeWallet(address.toLowerCase()));
});

test('an address in an unknown format is unchanged', () => {
  const form = 'XnPFsRWTaSgiVauosEwQ6dEitGYXgwznz2';
  assert.equal(normalizeWallet(` ${form} `), form);
  const taproot = 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0';
  assert.equal(normalizeWallet(taproot.toUpperCase()), taproot);
});
