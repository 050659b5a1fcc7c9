import assert from 'node:assert/strict';
import { test } from 'node:test';
import { providerAddress } from './provider-address.ts';

test('the address of a provider is https, or http within one machine', () => {
  const read = (text: string) => providerAddress.safeParse(text).data;
  assert.equal(read('https://api.example.com'), 'https://api.example.com');
  assert.equal(read('https://api.example.com/v1//'), 'https://api.example.com/v1');
  assert.equal(read('http://127.0.0.1:8090/'), 'http://127.0.0.1:8090');
  assert.equal(read('http://[::1]:8090'), 'http://[::1]:8090');
  for (const text of [
    'http://api.example.com',
    'https://name@api.example.com',
    'https://api.example.com/?a=1',
    'https://api.example.com/#a',
    'ftp://127.0.0.1',
    'api.example.com',
    `https://${'a'.repeat(1000)}.com`,
  ]) {
    assert.equal(read(text), undefined, text);
  }
});
