import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { fixEnvironmentKeys, nameSigningKey } from './environment-keys.ts';
import { AppError } from './errors.ts';
import {
  createKeyRing,
  MissingMasterKey,
  newDataKey,
  openBytes,
  readMasterKey,
  readWrappingId,
  rowContext,
  sealBytes,
} from './sealing.ts';

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const context = fc.string({ unit: 'grapheme', maxLength: 40 });

test('sealed bytes open with their key and context, and with no other', () => {
  fc.assert(
    fc.property(bytes, context, context, (plain, own, other) => {
      const key = newDataKey();
      const sealed = sealBytes(key, plain, own);
      assert.deepEqual(openBytes(key, sealed, own), plain);
      assert.throws(() => openBytes(newDataKey(), sealed, own));
      if (own !== other) assert.throws(() => openBytes(key, sealed, other));
    }),
  );
});

test('a change of any single bit, and any cut, is noticed', () => {
  fc.assert(
    fc.property(bytes, fc.nat(), fc.nat(), (plain, bit, cut) => {
      const key = newDataKey();
      const sealed = sealBytes(key, plain, 'context');
      const changed = Buffer.from(sealed);
      const at = bit % (sealed.length * 8);
      changed[at >> 3] = (changed[at >> 3] ?? 0) ^ (1 << (at & 7));
      assert.throws(() => openBytes(key, changed, 'context'));
      assert.throws(() => openBytes(key, sealed.subarray(0, cut % sealed.length), 'context'));
      assert.throws(() => openBytes(key, Buffer.concat([sealed, Buffer.of(0)]), 'context'));
    }),
  );
});

test('sealed bytes reveal nothing of a text, and the same text is sealed differently each time', () => {
  const key = newDataKey();
  const plain = Buffer.from('Gómez Ana 032180000118359719');
  const sealed = Array.from({ length: 200 }, () => sealBytes(key, plain, 'x').toString('hex'));
  assert.equal(new Set(sealed).size, 200);
  for (const one of sealed) assert.ok(!one.includes(plain.subarray(0, 6).toString('hex')));
});

test('no nonce is used twice', () => {
  const key = newDataKey();
  const nonces = Array.from({ length: 2000 }, () =>
    sealBytes(key, Buffer.from('x'), 'context').toString('hex', 1, 13),
  );
  assert.equal(new Set(nonces).size, nonces.length);
});

test('a key ring wraps keys for their owner, and another master key opens nothing', () => {
  const master = newDataKey();
  const ring = createKeyRing(master);
  const other = createKeyRing(newDataKey());
  const key = newDataKey();
  const owner = { accountId: 'account', userId: 'user' };
  const wrapped = ring.wrap(key, owner);
  assert.deepEqual(ring.unwrap(wrapped, owner), key);
  assert.deepEqual(createKeyRing(master).unwrap(wrapped, owner), key);
  assert.throws(() => ring.unwrap(wrapped, { ...owner, userId: 'another' }));
  assert.throws(() => ring.unwrap(wrapped, { ...owner, accountId: 'another' }));
  assert.throws(() => other.unwrap(wrapped, owner));
  const isErased = (error: unknown): boolean =>
    error instanceof AppError && error.code === 'user_erased';
  assert.throws(() => ring.unwrap(Buffer.alloc(0), owner), isErased);
  const record = ring.seal(Buffer.from('answer'), 'record');
  assert.equal(ring.open(record, 'record').toString(), 'answer');
  // The keys of the two purposes differ.
  assert.throws(() => ring.unwrap(record, owner));
  assert.equal(createKeyRing(master).masterKeyId, ring.masterKeyId);
  assert.notEqual(other.masterKeyId, ring.masterKeyId);
  assert.throws(() => createKeyRing(Buffer.alloc(31)));
});

test('contexts of different rows differ, however their parts are cut', () => {
  assert.notEqual(rowContext('t', 'a', 'b c'), rowContext('t', 'a b', 'c'));
  assert.notEqual(rowContext('t', 'a/b', 'c'), rowContext('t', 'a', 'b/c'));
  assert.notEqual(rowContext('t', 'a', 'b'), rowContext('t', 'a","b'));
});

test('a blind index is equal for equal values of one purpose, and for nothing else', () => {
  const ring = createKeyRing(newDataKey());
  const index = (purpose: string, value: string) => ring.blindIndex(purpose, value).toString('hex');
  assert.equal(index('email', 'a@b'), index('email', 'a@b'));
  assert.equal(ring.blindIndex('email', 'a@b').length, 32);
  const others = [
    index('email', 'a@c'),
    index('mail', 'a@b'),
    index('emai', 'la@b'),
    createKeyRing(newDataKey()).blindIndex('email', 'a@b').toString('hex'),
  ];
  for (const one of others) assert.notEqual(one, index('email', 'a@b'));
});

test('the signing key follows from the master key, and its public half verifies', () => {
  const master = newDataKey();
  const { signing } = createKeyRing(master);
  assert.equal(createKeyRing(master).signing.publicPem, signing.publicPem);
  assert.notEqual(createKeyRing(newDataKey()).signing.id, signing.id);
  const signature = signing.sign(Buffer.from('data'));
  const publicKey = createPublicKey(signing.publicPem);
  assert.equal(verify(null, Buffer.from('data'), publicKey, signature), true);
  assert.equal(verify(null, Buffer.from('date'), publicKey, signature), false);
  assert.equal(nameSigningKey(publicKey), signing.id);
});

test('a key names the master key that wraps it; the newest wraps, and all open', () => {
  const [old, fresh] = [readMasterKey(newDataKey()), readMasterKey(newDataKey())];
  const secrets = { sealing: newDataKey(), authentication: newDataKey(), signing: newDataKey() };
  const environment = fixEnvironmentKeys(newDataKey(), secrets);
  const before = createKeyRing({ list: () => [old] }, environment);
  const during = createKeyRing({ list: () => [fresh, old] }, environment);
  const after = createKeyRing({ list: () => [fresh] }, environment);
  const owner = { accountId: 'account', userId: 'user' };
  const key = newDataKey();
  const wrapped = before.wrap(key, owner);
  assert.equal(readWrappingId(wrapped), old.id);
  assert.deepEqual(during.unwrap(wrapped, owner), key);
  const again = during.wrap(key, owner);
  assert.equal(readWrappingId(again), fresh.id);
  assert.deepEqual(after.unwrap(again, owner), key);
  assert.throws(() => after.unwrap(wrapped, owner), MissingMasterKey);
  // The id is authenticated: it cannot be exchanged.
  const forged = Buffer.concat([again.subarray(0, 8), wrapped.subarray(8)]);
  assert.throws(() => during.unwrap(forged, owner));
  assert.deepEqual(before.blindIndex('email', 'a'), after.blindIndex('email', 'a'));
  assert.equal(before.signing.id, after.signing.id);
});
