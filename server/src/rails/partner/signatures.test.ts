import assert from 'node:assert/strict';
import { createHash, createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { httpbis } from 'http-message-signatures';
import {
  createSigningKey,
  createVerifyingKeys,
  digestBody,
  type KeyDeclaration,
  type SignedPart,
  signingKeySchema,
  signMessage,
  verifyingKeySchema,
  verifyMessage,
} from './signatures.ts';

const secret = randomBytes(32);
const shared: KeyDeclaration = {
  id: 'k1',
  algorithm: 'hmac-sha256',
  key: secret.toString('base64'),
};
const times = { createdS: 1_700_000_000, expiresS: 1_700_000_060, nonce: 'abcdefghijklmnop' };
const body = Buffer.from('{"amount":"1.00"}');
const url = 'https://partner.example:8443/api/payments/abc';

function request(changes: Record<string, string> = {}) {
  const headers: Record<string, string> = { 'content-digest': digestBody(body), ...changes };
  return { method: 'PUT', url, headers };
}

async function signed(role: SignedPart['role'] = 'request', key = shared) {
  const headers = await signMessage({ role, message: request() }, createSigningKey(key), times);
  return { method: 'PUT', url, headers: lowerCase(headers) };
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

function verify(message: ReturnType<typeof request>, role: SignedPart['role'] = 'request') {
  const verified = verifyMessage({ role, message, body }, createVerifyingKeys([shared]));
  return verified.ok ? 'ok' : verified.detail;
}

/** The base as RFC 9421, section 2.5, builds it, written down by hand. */
const parameters =
  '("@method" "@authority" "@path" "content-digest");created=1700000000;expires=1700000060' +
  ';nonce="abcdefghijklmnop";keyid="k1";alg="hmac-sha256";tag="outlay-request"';
const base = [
  '"@method": PUT',
  '"@authority": partner.example:8443',
  '"@path": /api/payments/abc',
  `"content-digest": sha-256=:${createHash('sha256').update(body).digest('base64')}:`,
  `"@signature-params": ${parameters}`,
].join('\n');

test('the library signs the example of RFC 9421, appendix B.2.5, as it stands there', async () => {
  const key = Buffer.from(
    'uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==',
    'base64',
  );
  const message = {
    method: 'POST',
    url: 'https://example.com/foo?param=Value&Pet=dog',
    headers: { date: 'Tue, 20 Apr 2021 02:07:55 GMT', 'content-type': 'application/json' },
  };
  const result = await httpbis.signMessage(
    {
      name: 'sig-b25',
      key: {
        id: 'test-shared-secret',
        sign: async (bytes) => createHmac('sha256', key).update(bytes).digest(),
      },
      fields: ['date', '@authority', 'content-type'],
      params: ['created', 'keyid'],
      paramValues: { created: new Date(1_618_884_473_000) },
    },
    message,
  );
  const { Signature: signature } = result.headers as Record<string, string>;
  assert.equal(signature, 'sig-b25=:pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=:');
});

test('a signature computed by hand is the one that we make, and is taken', async () => {
  const mac = createHmac('sha256', secret).update(base).digest('base64');
  const message = await signed();
  assert.equal(message.headers['signature-input'], `outlay=${parameters}`);
  assert.equal(message.headers['signature'], `outlay=:${mac}:`);
  assert.equal(verify(message), 'ok');
});

test('any change to what is covered is noticed', async () => {
  const message = await signed();
  assert.equal(verify({ ...message, method: 'POST' }), 'the signature is wrong');
  assert.equal(verify({ ...message, url: url.replace('abc', 'abd') }), 'the signature is wrong');
  assert.equal(verify({ ...message, url: url.replace('8443', '443') }), 'the signature is wrong');
  const digest = digestBody(Buffer.from('{"amount":"9.00"}'));
  const headers = { ...message.headers, 'content-digest': digest };
  assert.equal(verify({ ...message, headers }), 'the signature is wrong');
  const later = message.headers['signature-input']?.replace('1700000060', '1700009999') ?? '';
  const longer = { ...message.headers, 'signature-input': later };
  assert.equal(verify({ ...message, headers: longer }), 'the signature is wrong');
});

test('a body that is not the one of the digest is noticed', async () => {
  const message = await signed();
  const other = Buffer.from('{"amount":"9.00"}');
  const verified = verifyMessage(
    { role: 'request', message, body: other },
    createVerifyingKeys([shared]),
  );
  assert.equal(verified.ok, false);
});

test('a signature that covers less is refused, however right it is', async () => {
  const fields = ['"@method"', '"@path"', '"content-digest"'];
  const result = await httpbis.signMessage(
    {
      name: 'outlay',
      key: {
        id: 'k1',
        alg: 'hmac-sha256',
        sign: async (bytes) => createHmac('sha256', secret).update(bytes).digest(),
      },
      fields,
      params: ['created', 'expires', 'nonce', 'keyid', 'alg', 'tag'],
      paramValues: { nonce: times.nonce, tag: 'outlay-request' },
    },
    request(),
  );
  const message = { ...request(), headers: lowerCase(result.headers) };
  assert.match(verify(message), /does not cover/);
});

test('a message of one role is not taken for one of another', async () => {
  assert.match(verify(await signed('callback')), /another kind/);
  assert.match(verify(await signed('request'), 'callback'), /another kind/);
});

test('an answer holds only for its own request', async () => {
  const asked = await signed();
  const headers = { 'content-digest': digestBody(body) };
  const answer = await signMessage(
    { role: 'answer', message: { status: 200, headers }, request: asked },
    createSigningKey(shared),
    times,
  );
  const check = (changes: { status?: number; request?: ReturnType<typeof request> }) =>
    verifyMessage(
      {
        role: 'answer',
        message: { status: changes.status ?? 200, headers: lowerCase(answer) },
        request: changes.request ?? asked,
        body,
      },
      createVerifyingKeys([shared]),
    ).ok;
  assert.equal(check({}), true);
  assert.equal(check({ status: 404 }), false);
  assert.equal(check({ request: { ...asked, url: url.replace('abc', 'abd') } }), false);
  assert.equal(check({ request: { ...asked, method: 'GET' } }), false);
});

test('headers that cannot be read are refused and do not throw', async () => {
  const { headers } = await signed();
  for (const broken of ['', 'outlay', 'outlay=1', 'outlay=("@method"', 'other=()', '\u0000']) {
    assert.notEqual(verify(request({ ...headers, 'signature-input': broken })), 'ok');
    assert.notEqual(verify(request({ ...headers, signature: broken })), 'ok');
    assert.notEqual(verify(request({ ...headers, 'content-digest': broken })), 'ok');
  }
  assert.equal(verify(request()), 'there is no signature');
});

test('keys are selected by their ids, so that two are valid during a rotation', async () => {
  const next: KeyDeclaration = { ...shared, id: 'k2', key: randomBytes(32).toString('base64') };
  const keys = createVerifyingKeys([shared, next]);
  for (const key of [shared, next]) {
    const message = await signed('request', key);
    assert.equal(verifyMessage({ role: 'request', message, body }, keys).ok, true);
  }
  const message = await signed('request', { ...next, id: 'k1' });
  assert.equal(verifyMessage({ role: 'request', message, body }, keys).ok, false);
  const unknown = await signed('request', { ...shared, id: 'k9' });
  assert.equal(verify(unknown), 'the key of the signature is not known');
  assert.throws(() => createVerifyingKeys([shared, shared]), /same id/);
});

test('Ed25519 keys sign and verify, and no algorithm stands for another', async () => {
  const pair = generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const ours = signingKeySchema.parse({ id: 'e1', algorithm: 'ed25519', key: pair.privateKey });
  const theirs = verifyingKeySchema.parse({ id: 'e1', algorithm: 'ed25519', key: pair.publicKey });
  const message = await signed('request', ours);
  const keys = createVerifyingKeys([theirs]);
  assert.equal(verifyMessage({ role: 'request', message, body }, keys).ok, true);
  // The public key is no secret: as one it would let everyone sign.
  const confused = await signed('request', { ...shared, id: 'e1' });
  assert.deepEqual(verifyMessage({ role: 'request', message: confused, body }, keys), {
    ok: false,
    detail: 'the algorithm is not the one of the key',
  });
  assert.equal(verifyingKeySchema.safeParse({ ...theirs, key: pair.privateKey }).success, false);
  assert.equal(signingKeySchema.safeParse({ ...ours, key: pair.publicKey }).success, false);
});

test('a short or senseless secret is refused, and the refusal does not repeat it', () => {
  for (const key of ['', 'short', randomBytes(31).toString('base64'), '!'.repeat(60)]) {
    const result = signingKeySchema.safeParse({ ...shared, key });
    assert.equal(result.success, false);
    if (key !== '') assert.equal(result.error?.message.includes(key), false);
  }
});
