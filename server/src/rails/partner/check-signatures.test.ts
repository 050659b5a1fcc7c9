import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { findCallbackFault } from '../../../../cli/src/partner-check/authentication.ts';
import type { Access } from '../../../../cli/src/partner-check/description.ts';
import {
  createSigningKey,
  createVerifyingKeys,
  digestBody,
  signMessage,
  verifyMessage,
} from './signatures.ts';

/** `outlay partner-check` reads signatures by code of its own, and must accept what the rail accepts. */

test('the check accepts the signatures of callbacks that the rail accepts, and no others', async () => {
  const key = {
    id: 'partner-1',
    key: randomBytes(32).toString('base64'),
    algorithm: 'hmac-sha256',
  } as const;
  const access: Access = { level: 'signed', signingKey: key, partnerKeys: [key] };
  const nowS = 1_900_000_000;
  const url = new URL('http://127.0.0.1/rails/check');
  const body = Buffer.from('{}');
  const cases = [
    { nonce: '0123456789abcdef', isRight: true },
    { nonce: 'c2l4dGVlbiBieXRlcyE+/w==', isRight: false },
    { nonce: 'short', isRight: false },
  ];
  for (const { nonce, isRight } of cases) {
    const message = {
      method: 'POST',
      url: url.href,
      headers: { 'content-digest': digestBody(body) },
    };
    const times = { createdS: nowS, expiresS: nowS + 60, nonce };
    const part = { role: 'callback', message } as const;
    const headers = await signMessage(part, createSigningKey(key), times);
    const lower = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const keys = createVerifyingKeys([key]);
    const signed = { role: 'callback', message: { ...message, headers: lower }, body } as const;
    assert.equal(verifyMessage(signed, keys).ok, isRight, `the rail and ${nonce}`);
    const fault = findCallbackFault({ headers: lower, body, url, nowS }, access);
    assert.equal(fault === undefined, isRight, `the check and ${nonce}`);
    const late = findCallbackFault({ headers: lower, body, url, nowS: nowS + 301 }, access);
    assert.notEqual(late, undefined);
  }
});
