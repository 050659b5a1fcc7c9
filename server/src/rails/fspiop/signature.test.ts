import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { type ReceivedMessage, readSignature, signMessage } from './signature.ts';

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
const keys = new Map<string, KeyObject>([['wallets', pair.publicKey]]);
const uri = '/transfers/7c1ac2e0-8c2a-5d6a-9a3e-2c6a1c9a0a11';
const date = 'Fri, 20 Nov 2026 12:00:00 GMT';
const body = '{"transferState":"COMMITTED"}';

function write(changes: Partial<ReceivedMessage> = {}, key = pair.privateKey): ReceivedMessage {
  const head = { method: 'PUT', uri, source: 'wallets', destination: 'outlay', date };
  return {
    method: 'PUT',
    uris: [uri],
    headers: {
      'fspiop-source': 'wallets',
      'fspiop-destination': 'outlay',
      date,
      'fspiop-signature': signMessage(head, body, key),
    },
    body: Buffer.from(body),
    ...changes,
  };
}

test('a message is its source’s when everything that was signed agrees', () => {
  assert.deepEqual(readSignature(write(), keys), {
    kind: 'proven',
    source: 'wallets',
    destination: 'outlay',
  });
});

test('nothing that was signed can be changed, left out or taken from another message', () => {
  const { headers } = write();
  const forged: ReceivedMessage[] = [
    write({}, other.privateKey),
    write({ body: Buffer.from(`${body} `) }),
    write({ method: 'POST' }),
    write({ uris: ['/transfers/another'] }),
    write({ headers: { ...headers, 'fspiop-source': 'hub' } }),
    write({ headers: { ...headers, 'fspiop-destination': 'another' } }),
    write({ headers: { ...headers, date: 'Fri, 20 Nov 2026 12:00:01 GMT' } }),
    write({ headers: { ...headers, 'fspiop-signature': '' } }),
    write({ headers: { ...headers, 'fspiop-signature': '{"signature":"","protectedHeader":""}' } }),
  ];
  for (const message of forged) assert.equal(readSignature(message, keys).kind, 'unproven');
});

test('a source signs for itself only', () => {
  const both = new Map([...keys, ['hub', other.publicKey]]);
  const { headers } = write();
  const message = write({ headers: { ...headers, 'fspiop-source': 'hub' } });
  assert.equal(readSignature(message, both).kind, 'unproven');
});

test('no other algorithm is taken', () => {
  for (const alg of ['none', 'HS256', 'RS512']) {
    const message = write();
    const signed = JSON.parse(message.headers['fspiop-signature'] ?? '') as {
      signature: string;
      protectedHeader: string;
    };
    const fields = JSON.parse(Buffer.from(signed.protectedHeader, 'base64url').toString());
    const protectedHeader = Buffer.from(JSON.stringify({ ...fields, alg })).toString('base64url');
    const headers = {
      ...message.headers,
      'fspiop-signature': JSON.stringify({ ...signed, protectedHeader }),
    };
    assert.equal(readSignature({ ...message, headers }, keys).kind, 'unproven', alg);
  }
});
