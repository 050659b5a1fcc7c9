import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { before, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { createSecret, createSigner, signMessage } from './signatures.ts';

const message = {
  id: 'event_1',
  body: '{"type":"payout.completed","data":{"amount":0.10}}',
  timestampSeconds: 0,
};
// A verifier refuses a message of five minutes ago, and files load long before their tests run.
before(() => {
  message.timestampSeconds = Math.floor(Date.now() / 1000);
});

test('the reference verifier accepts an HMAC signature, and during a rotation either secret', () => {
  const [old, next] = [createSecret('hmac-sha256'), createSecret('hmac-sha256')];
  assert.match(next.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const headers = signMessage(message, [createSigner(next), createSigner(old)]);
  for (const { secret } of [old, next]) {
    assert.deepEqual(new Webhook(secret).verify(message.body, headers), JSON.parse(message.body));
  }
  assert.throws(() =>
    new Webhook(createSecret('hmac-sha256').secret).verify(message.body, headers),
  );
  assert.throws(() => new Webhook(next.secret).verify(`${message.body} `, headers));
});

test('the signature is that of the example in the specification', () => {
  const signer = createSigner({
    algorithm: 'hmac-sha256',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  });
  const content = 'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}';
  assert.equal(signer(content), 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('an Ed25519 signature is verified with the public key that the client was given', () => {
  const made = createSecret('ed25519');
  const headers = signMessage(message, [createSigner(made)]);
  const x = Buffer.from(made.publicKey.slice('whpk_'.length), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const [version, signature = ''] = (headers['webhook-signature'] ?? '').split(',');
  assert.equal(version, 'v1a');
  const content = `${message.id}.${message.timestampSeconds}.${message.body}`;
  assert.ok(verify(null, Buffer.from(content), key, Buffer.from(signature, 'base64')));
  assert.match(made.secret, /^whsk_/);
});
