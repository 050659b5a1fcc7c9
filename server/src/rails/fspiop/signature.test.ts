import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { FlattenedSign } from 'jose';
import { formatBody, formatRequest } from './messages.ts';
import { type ReceivedMessage, readSignature, signMessage } from './signature.ts';

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
const keys = new Map<string, KeyObject>([['wallets', pair.publicKey]]);
const uri = '/transfers/7c1ac2e0-8c2a-5d6a-9a3e-2c6a1c9a0a11';
const date = 'Fri, 20 Nov 2026 12:00:00 GMT';
const body = '{"transferState":"COMMITTED"}';

async function write(
  changes: Partial<ReceivedMessage> = {},
  key = pair.privateKey,
): Promise<ReceivedMessage> {
  const head = { method: 'PUT', uri, source: 'wallets', destination: 'outlay', date };
  return {
    method: 'PUT',
    uris: [uri],
    headers: {
      'fspiop-source': 'wallets',
      'fspiop-destination': 'outlay',
      date,
      'fspiop-signature': await signMessage(head, body, key),
    },
    body: Buffer.from(body),
    ...changes,
  };
}

test('a message whose signed fields match its HTTP headers is proven', async () => {
  assert.deepEqual(await readSignature(await write(), keys), {
    kind: 'proven',
    source: 'wallets',
    destination: 'outlay',
    date,
  });
});

test('a message whose signed content was changed, removed or copied is unproven', async () => {
  const { headers } = await write();
  const forged = [
    await write({}, other.privateKey),
    await write({ body: Buffer.from(`${body} `) }),
    await write({ method: 'POST' }),
    await write({ uris: ['/transfers/another'] }),
    await write({ headers: { ...headers, 'fspiop-source': 'hub' } }),
    await write({ headers: { ...headers, 'fspiop-destination': 'another' } }),
    await write({ headers: { ...headers, date: 'Fri, 20 Nov 2026 12:00:01 GMT' } }),
    await write({ headers: { ...headers, 'fspiop-signature': '' } }),
    await write({
      headers: { ...headers, 'fspiop-signature': '{"signature":"","protectedHeader":""}' },
    }),
  ];
  for (const message of forged) {
    assert.equal((await readSignature(message, keys)).kind, 'unproven');
  }
});

test('a request body is signed with its members sorted by name', async () => {
  const content = {
    transferId: 'b',
    amount: { currency: 'KES', amount: '1.5' },
    list: [{ key: 'payoutReference', b: null, a: undefined }],
    Upper: 'before lower case',
  };
  const sorted =
    '{"Upper":"before lower case","amount":{"amount":"1.5","currency":"KES"},' +
    '"list":[{"b":null,"key":"payoutReference"}],"transferId":"b"}';
  assert.equal(formatBody(content), sorted);
  const request = await formatRequest(
    { resource: 'transfers', uri: '/transfers', destination: 'outlay', content },
    { fspId: 'wallets', privateKey: pair.privateKey },
    Date.parse(date),
  );
  assert.equal(request.body, sorted);
  // Receivers verify either the received bytes or the parsed body, serialized again.
  for (const received of [request.body, formatBody(JSON.parse(request.body))]) {
    const message = { ...request, uris: ['/transfers'], body: Buffer.from(received) };
    assert.equal((await readSignature(message, keys)).kind, 'proven');
  }
});

test('a source cannot sign for another source', async () => {
  const both = new Map([...keys, ['hub', other.publicKey]]);
  const { headers } = await write();
  const message = await write({ headers: { ...headers, 'fspiop-source': 'hub' } });
  assert.equal((await readSignature(message, both)).kind, 'unproven');
});

test('signatures with another algorithm than RS256 are unproven', async () => {
  const message = await write();
  const { protectedHeader } = JSON.parse(message.headers['fspiop-signature'] ?? '') as {
    protectedHeader: string;
  };
  const fields = JSON.parse(Buffer.from(protectedHeader, 'base64url').toString());
  const secret = Buffer.from(pair.publicKey.export({ type: 'spki', format: 'pem' }));
  const keyByAlgorithm = { RS256: pair.privateKey, RS512: pair.privateKey, HS256: secret };
  for (const [alg, key] of Object.entries(keyByAlgorithm)) {
    const signed = await new FlattenedSign(message.body)
      .setProtectedHeader({ ...fields, alg })
      .sign(key);
    const signature = { signature: signed.signature, protectedHeader: signed.protected };
    const headers = { ...message.headers, 'fspiop-signature': JSON.stringify(signature) };
    const { kind } = await readSignature({ ...message, headers }, keys);
    assert.equal(kind, alg === 'RS256' ? 'proven' : 'unproven', alg);
  }
  const none = Buffer.from(JSON.stringify({ ...fields, alg: 'none' })).toString('base64url');
  const headers = {
    ...message.headers,
    'fspiop-signature': JSON.stringify({ signature: '', protectedHeader: none }),
  };
  assert.equal((await readSignature({ ...message, headers }, keys)).kind, 'unproven');
});
