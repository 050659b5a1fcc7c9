import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configSchema, getDepthNeeded } from './config.ts';

const least = {
  network: 'bitcoin',
  rpc: { url: 'http://127.0.0.1:8332', credentials: 'outlay:secret\n' },
  keys: { mode: 'node', wallet: 'payouts' },
};

test('the minimal configuration is for the main network', () => {
  const config = configSchema.parse(least);
  assert.equal(config.chain, 'main');
  assert.equal(config.rpc.credentials, 'outlay:secret');
  assert.equal(config.fees.rateMax, 200_000n);
  assert.equal(config.batch.payoutsMax, 100);
});

test('confirmations depend on the amount', () => {
  const { confirmations } = configSchema.parse({
    ...least,
    confirmations: [
      { upTo: '0.5', count: 1 },
      { upTo: null, count: 6 },
    ],
  });
  assert.equal(getDepthNeeded(confirmations, 50_000_000n), 1);
  assert.equal(getDepthNeeded(confirmations, 50_000_001n), 6);
});

test('invalid settings are refused', () => {
  const wrong = [
    { network: 'dogecoin' },
    { network: 'litecoin', chain: 'signet' },
    { mainAddresses: true },
    { confirmations: [{ upTo: '1', count: 1 }] },
    {
      confirmations: [
        { upTo: null, count: 1 },
        { upTo: '1', count: 1 },
      ],
    },
    {
      confirmations: [
        { upTo: '2', count: 1 },
        { upTo: '1', count: 1 },
        { upTo: null, count: 2 },
      ],
    },
    { fees: { rateMin: '10', rateMax: '5' } },
    { fees: { rateMin: '0.0001' } },
    { keys: { mode: 'own', wallet: 'w', secret: '' } },
    { keys: { mode: 'own', wallet: '../w', secret: 'x' } },
    { rpc: { url: 'ftp://host', credentials: 'a:b' } },
    { rpc: { url: 'http://host', credentials: 'user' } },
    { rpc: { url: 'http://payer:secret@host', credentials: 'a:b' } },
    { rpc: { url: 'http://payer@host', credentials: 'a:b' } },
    { unknown: 1 },
  ];
  for (const part of wrong) {
    assert.equal(
      configSchema.safeParse({ ...least, ...part }).success,
      false,
      JSON.stringify(part),
    );
  }
});
