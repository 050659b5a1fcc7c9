import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { verifyWebhook, type WebhookHeaders, WebhookVerificationError } from './webhooks.ts';

/** The example of the reference implementation. */
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const body = '{"test": 2432232314}';
const headers = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': '1614265330',
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};
const nowMs = 1_614_265_330_000;

const refused = (changes: Record<string, string>, text = body, options = {}) =>
  assert.rejects(
    verifyWebhook(
      { headers: { ...headers, ...changes }, body: text },
      { keys: secret, nowMs, ...options },
    ),
    WebhookVerificationError,
  );

test('the example of the reference implementation is accepted', async () => {
  const accepted: WebhookHeaders[] = [
    headers,
    new Headers(headers),
    Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
    ),
  ];
  for (const form of accepted) {
    const message = await verifyWebhook<{ test: unknown }>(
      { headers: form, body },
      { keys: secret, nowMs },
    );
    assert.equal(String(message.test), '2432232314');
  }
});

test('the headers of another implementation of fetch are read', async () => {
  const others = { get: (name: string) => new Headers(headers).get(name) } as Headers;
  await verifyWebhook({ headers: others, body }, { keys: secret, nowMs });
});

test('signatures of the reference implementation are accepted, as text and as bytes', async () => {
  const payload = '{"type":"payout.completed","sequence":7,"data":{"note":"señal 🙂"}}';
  const signed = {
    ...headers,
    'webhook-signature': new Webhook(secret).sign(headers['webhook-id'], new Date(nowMs), payload),
  };
  for (const sent of [payload, new TextEncoder().encode(payload)]) {
    const message = await verifyWebhook({ headers: signed, body: sent }, { keys: secret, nowMs });
    assert.deepEqual(message, JSON.parse(payload));
  }
});

test('during a rotation one of several signatures and one of several keys suffice', async () => {
  const other = `whsec_${Buffer.from('another secret of some length').toString('base64')}`;
  const both = { ...headers, 'webhook-signature': `v1,AAAA ${headers['webhook-signature']}` };
  await verifyWebhook({ headers: both, body }, { keys: [other, secret], nowMs });
  await refused({}, body, { keys: other });
});

test('an Ed25519 signature is accepted with the public key', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const keys = `whpk_${raw.toString('base64')}`;
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const signature = sign(null, Buffer.from(content), privateKey).toString('base64');
  const signed = { ...headers, 'webhook-signature': `v1a,${signature}` };
  await verifyWebhook({ headers: signed, body }, { keys, nowMs });
  await refused({ 'webhook-signature': `v1,${signature}` }, body, { keys });
  await refused({ 'webhook-signature': `v1a,${signature}` }, `${body} `, { keys });
});

test('a change of the body, the id or the time is refused', async () => {
  await refused({}, body.replace('2', '3'));
  await refused({ 'webhook-id': 'msg_other' });
  await refused({ 'webhook-timestamp': '1614265331' });
  await refused({ 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,') });
  await refused({ 'webhook-signature': 'v1,not base64' });
  await refused({ 'webhook-signature': '' });
});

test('a message that is too old or too new is refused', async () => {
  await refused({}, body, { nowMs: nowMs + 301_000 });
  await refused({}, body, { nowMs: nowMs - 301_000 });
  await refused({ 'webhook-timestamp': '1614265330.0' });
  await refused({}, body, { nowMs: nowMs + 301_000, toleranceSeconds: Number.NaN });
  const options = { keys: secret, nowMs: nowMs + 301_000, toleranceSeconds: 400 };
  await verifyWebhook({ headers, body }, options);
});

test('a malformed key is a mistake of the program', async () => {
  const missing = [undefined] as unknown as string[];
  for (const keys of ['', 'secret', 'whsec_', 'whsec_???', missing]) {
    await assert.rejects(verifyWebhook({ headers, body }, { keys, nowMs }), /A key must be whsec_/);
  }
});

test('a body that was parsed before is a mistake of the program', async () => {
  for (const parsed of [JSON.parse(body) as unknown, undefined]) {
    const request = { headers, body: parsed as string };
    await assert.rejects(verifyWebhook(request, { keys: secret, nowMs }), {
      name: 'TypeError',
      message: /body must be the text or the Uint8Array exactly as it arrived/,
    });
  }
});
