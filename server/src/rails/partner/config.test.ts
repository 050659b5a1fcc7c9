import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createAuthority } from '../../../testing/setups/certificates.ts';
import { newKeys } from '../../../testing/setups/partner.ts';
import { readRailFile } from '../host/rail-config.ts';
import { configSchema } from './config.ts';

const keys = newKeys();
const config = {
  baseUrl: 'https://partner.example/v1/',
  signingKey: keys.outlay,
  partnerKeys: [keys.partner],
};

test('the configuration that the README shows is taken as it stands', () => {
  const text = readFileSync(new URL('./README.md', import.meta.url), 'utf8');
  const [, example = ''] = /```json\n(.*?)```/s.exec(text) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'outlay-partner-'));
  try {
    const secretFile = join(folder, 'secret');
    writeFileSync(secretFile, `${keys.partner.key}\n`);
    const file = join(folder, 'rails.json');
    writeFileSync(file, `{"rails":[${example.replace('/run/secrets/cash_mx', secretFile)}]}`);
    const { configs } = readRailFile(file, {
      readVariable: (name) => (name === 'CASH_MX_KEY' ? keys.outlay.key : undefined),
      openSealed: () => Buffer.alloc(0),
    });
    const [rail] = configs;
    assert.equal(rail?.kind, 'partner');
    const read = configSchema.parse(rail.config);
    assert.equal(read.signingKey?.key, keys.outlay.key);
    assert.equal(read.partnerKeys?.[0]?.key, keys.partner.key);
    assert.equal(read.bookingSeconds, 30);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('addresses that would send people’s data in the clear are refused', () => {
  const read = (baseUrl: string) => configSchema.safeParse({ ...config, baseUrl });
  assert.equal(read('https://partner.example/v1/').data?.baseUrl, 'https://partner.example/v1');
  assert.equal(read('http://127.0.0.1:8080').success, true);
  for (const address of [
    'http://partner.example',
    'http://127.0.0.1.partner.example',
    'https://partner.example/?a=1',
    'https://user:secret@partner.example',
    'ftp://partner.example',
    'partner.example',
  ]) {
    assert.equal(read(address).success, false, address);
  }
});

test('a fault of the configuration does not repeat a secret', () => {
  const key = 'c2hvcnQgYnV0IHNlY3JldA==';
  const read = configSchema.safeParse({ ...config, signingKey: { ...keys.outlay, key } });
  assert.equal(read.success, false);
  assert.equal(JSON.stringify(read.error.issues).includes(key), false);
});

test('the configuration has keys of the signed level or the light one', () => {
  const baseUrl = 'https://partner.example';
  const signing = keys.outlay;
  const { algorithm: _algorithm, ...key } = keys.outlay;
  const authentication = { kind: 'hmac', key };
  const read = (given: object) => configSchema.safeParse({ baseUrl, ...given });
  assert.equal(read({ light: { authentication } }).success, true);
  for (const given of [
    {},
    { signingKey: signing },
    { light: { authentication }, signingKey: signing },
    { light: { authentication: { kind: 'hmac', key: { id: 'a', key: 'short' } } } },
    { light: { authentication: { kind: 'tls', ...key } } },
  ]) {
    assert.equal(read(given).success, false, JSON.stringify(given).slice(0, 60));
  }
  const client = createAuthority().issue('outlay');
  const tls = { light: { authentication: { kind: 'tls', ...client } } };
  assert.equal(read(tls).success, true);
  assert.equal(read({ ...tls, baseUrl: 'http://127.0.0.1' }).success, false);
});
