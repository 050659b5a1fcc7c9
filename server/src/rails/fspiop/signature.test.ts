import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { formatBody, formatRequest } from './messages.ts';
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
    date,
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

test('a request is signed over the bytes on the wire, which have their members in order', () => {
  const written = formatBody({
    transferId: 'b',
    amount: { currency: 'KES', amount: '1.5' },
    list: [{ key: 'payoutReference', b: null, a: undefined }],
    Upper: 'before lower case',
  });
  const sorted =
    '{"Upper":"before lower case","amount":{"amount":"1.5","currency":"KES"},' +
    '"list":[{"b":null,"key":"payoutReference"}],"transferId":"b"}';
  assert.equal(written, sorted);
  const draft = { resource: 'transfers', method: 'POST', uri: '/transfers' } as const;
  const request = formatRequest(
    { ...draft, body: written, source: 'wallets', destination: 'outlay', atMs: Date.parse(date) },
    pair.privateKey,
  );
  assert.equal(request.body, sorted);
  // A receiver that parses the body and writes it anew, as one that takes it as it came.
  for (const received of [request.body, formatBody(JSON.parse(request.body))]) {
    const message = { ...request, uris: ['/transfers'], body: Buffer.from(received) };
    assert.equal(readSignature(message, keys).kind, 'proven');
  }
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
