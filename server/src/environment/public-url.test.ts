import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getBaseUrl } from './public-url.ts';

const local = { HOST: '127.0.0.1', PORT: 8080, OUTLAY_DEFAULT_ENVIRONMENT: 'staging' } as const;

test('each environment has its own label in the public address', () => {
  const config = { ...local, OUTLAY_PUBLIC_URL: 'https://staging-api.pay.example' };
  assert.equal(getBaseUrl(config, 'staging'), 'https://staging-api.pay.example');
  assert.equal(getBaseUrl(config, 'live'), 'https://api.pay.example');
  const plain = { ...local, OUTLAY_PUBLIC_URL: 'https://pay.example' };
  assert.equal(getBaseUrl(plain, 'live'), 'https://api.pay.example');
});

test('without one it is the address of this machine', () => {
  assert.equal(
    getBaseUrl({ ...local, OUTLAY_PUBLIC_URL: undefined }, 'live'),
    'http://127.0.0.1:8080',
  );
});
