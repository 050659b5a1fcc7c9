import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { test } from 'node:test';
import {
  createCheckedLookup,
  findUrlFault,
  isAllowedAddress,
  RefusedAddress,
} from './addresses.ts';

const strict = { isLoopbackAllowed: false };
const loopback = { isLoopbackAllowed: true };

test('a URL of a private address is refused in every spelling', () => {
  const hosts = `
    127.0.0.1 127.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.0.0.1. １２７.0.0.1
    127。0。0。1 0x7f.0.0.0x1 10.1.2.3 172.16.0.1 192.168.1.1 100.64.0.1 169.254.169.254 0xa9fea9fe
    0.0.0.0 0 198.18.0.1 203.0.113.9 224.0.0.1 255.255.255.255 [::1] [::] [::ffff:127.0.0.1]
    [::ffff:7f00:1] [::ffff:8.8.8.8] [0:0:0:0:0:ffff:10.0.0.1] [::127.0.0.1] [64:ff9b::7f00:1]
    [64:ff9b:1::a00:1] [fc00::1] [fd12::1] [fe80::1] [ff02::1] [2001:db8::1] [2002:7f00:1::]
    [2001::1]`;
  for (const host of hosts.trim().split(/\s+/)) {
    assert.match(findUrlFault(`https://${host}/hook`, strict) ?? '', /private or reserved/, host);
  }
});

test('public addresses and names are allowed', () => {
  for (const host of ['8.8.8.8', 'example.com', '[2606:4700::1111]', 'example.com:8443']) {
    assert.equal(findUrlFault(`https://${host}/hook?a=b`, strict), undefined, host);
  }
});

test('a URL must be HTTPS, without a user, a password or a fragment', () => {
  const faults = {
    'http://example.com/': 'must begin with https://',
    'http://localhost:3000/':
      'must begin with https://; for a program on your machine, use outlay webhooks forward',
    'ftp://example.com/': 'must begin with https://',
    'file:///etc/passwd': 'must begin with https://',
    'https://ada@example.com/': 'must not contain a user or password',
    'https://:secret@example.com/': 'must not contain a user or password',
    'https://example.com/#part': 'must not contain a fragment',
    'example.com/hook': 'must be a URL',
  };
  for (const [url, fault] of Object.entries(faults)) {
    assert.equal(findUrlFault(url, strict), fault, url);
  }
});

test('the switch of staging allows loopback, and nothing else that is private', () => {
  for (const url of ['http://127.0.0.1:9/', 'http://localhost/', 'https://[::1]/']) {
    assert.equal(findUrlFault(url, loopback), undefined, url);
  }
  assert.notEqual(findUrlFault('http://10.0.0.1/', loopback), undefined);
  assert.notEqual(findUrlFault('http://example.com/', loopback), undefined);
  assert.equal(isAllowedAddress('::ffff:127.0.0.1', loopback), false);
});

const lookUp = (found: readonly string[], options: { all?: boolean } = { all: true }) => {
  const calls = { count: 0 };
  const lookup = createCheckedLookup(strict, async () => {
    calls.count += 1;
    return [...found];
  });
  return new Promise<{ addresses: string | LookupAddress[]; count: number }>((resolve, reject) => {
    lookup('hooks.example', options, (error, addresses) => {
      if (error === null) resolve({ addresses, count: calls.count });
      else reject(error);
    });
  });
};

test('a name is resolved once, and the connection goes to the checked addresses', async () => {
  assert.deepEqual(await lookUp(['8.8.8.8']), {
    addresses: [{ address: '8.8.8.8', family: 4 }],
    count: 1,
  });
  assert.deepEqual(await lookUp(['8.8.8.8'], {}), { addresses: '8.8.8.8', count: 1 });
});

test('a name with one private address among public ones is refused', async () => {
  for (const address of ['127.0.0.1', '::1', '::ffff:10.0.0.1', '169.254.169.254']) {
    await assert.rejects(lookUp(['8.8.8.8', address]), RefusedAddress, address);
  }
  await assert.rejects(lookUp([]), RefusedAddress);
});
