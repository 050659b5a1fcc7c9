import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { createKeyRing, newDataKey } from './sealing.ts';
import { findSigner, formatKeySet, PublicKeyFault, readPublicKeys } from './verifying-keys.ts';

const rings = [createKeyRing(newDataKey()), createKeyRing(newDataKey())] as const;
const [present, former] = rings.map(({ signing }) => signing);
const published = rings.map(({ signing: { id, publicPem } }, index) => ({
  generation: 2 - index,
  id,
  publicPem,
  since: new Date(index === 0 ? '2026-02-01T00:00:00Z' : '2026-01-01T00:00:00Z'),
  until: index === 0 ? undefined : new Date('2026-02-01T00:00:00Z'),
  isDestroyed: index > 0,
}));

test('a key set names each key and its time, and verifies what any of them signed', () => {
  const text = JSON.stringify(formatKeySet(published));
  const read = readPublicKeys(text);
  assert.deepEqual(
    read.map(({ id, untilMs }) => [id, untilMs]),
    [
      [present?.id, undefined],
      [former?.id, Date.parse('2026-02-01T00:00:00Z')],
    ],
  );
  const data = Buffer.from('receipt');
  for (const key of [present, former]) {
    const signature = key?.sign(data) ?? Buffer.alloc(0);
    assert.equal(findSigner(read, data, signature)?.id, key?.id);
    assert.equal(findSigner(read, Buffer.from('another'), signature), undefined);
  }
});

test('PEM has one key or several', () => {
  const pems = published.map(({ publicPem }) => publicPem);
  assert.deepEqual(
    readPublicKeys(pems.join('')).map(({ id }) => id),
    [present?.id, former?.id],
  );
  assert.equal(readPublicKeys(pems[0] ?? '').length, 1);
});

test('what is no Ed25519 public key is refused', () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const other = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const texts = ['', 'key', '{', '{"keys":[]}', '{"keys":[{"kty":"RSA"}]}', other];
  for (const text of texts) assert.throws(() => readPublicKeys(text), PublicKeyFault);
});
