import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

/**
 * Personal data at rest: AES-256-GCM under a key per user, itself wrapped by the environment's
 * master key, which never enters the database. Destroying the wrapped key erases the user.
 */
export type KeyRing = {
  /** Names the master key without telling it, so that a wrong key is noticed at start. */
  readonly masterKeyId: string;
  wrap(key: Buffer, owner: string): Buffer;
  unwrap(wrapped: Buffer, owner: string): Buffer;
  /** A keyed hash, to find equal values without storing them (a blind index). */
  blindIndex(purpose: string, value: string): Buffer;
  seal(plain: Buffer, context: string): Buffer;
  open(sealed: Buffer, context: string): Buffer;
};

const formatVersion = 1;
const nonceBytes = 12;
const tagBytes = 16;

/** Node takes bytes for a key too, but looks at them for several times as long as the cipher takes. */
function importKey(key: Buffer | KeyObject): KeyObject {
  return Buffer.isBuffer(key) ? createSecretKey(key) : key;
}

/** version (1) + nonce (12) + ciphertext + tag (16). The context is authenticated, not stored. */
export function sealBytes(key: Buffer | KeyObject, plain: Buffer, context: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', importKey(key), nonce);
  cipher.setAAD(Buffer.from(context));
  return Buffer.concat([
    Buffer.of(formatVersion),
    nonce,
    cipher.update(plain),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}

export function openBytes(key: Buffer | KeyObject, sealed: Buffer, context: string): Buffer {
  const lengthMin = 1 + nonceBytes + tagBytes;
  if (sealed.length < lengthMin || sealed[0] !== formatVersion)
    throw new Error('sealed data of an unknown format');
  const nonce = sealed.subarray(1, 1 + nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', importKey(key), nonce, {
    authTagLength: tagBytes,
  });
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
  const body = sealed.subarray(1 + nonceBytes, sealed.length - tagBytes);
  return Buffer.concat([decipher.update(body), decipher.final()]);
}

export function newDataKey(): Buffer {
  return randomBytes(32);
}

export function createKeyRing(masterKey: Buffer): KeyRing {
  if (masterKey.length !== 32) throw new Error('a master key has 32 bytes');
  const derive = (purpose: string): KeyObject =>
    createSecretKey(
      Buffer.from(hkdfSync('sha256', masterKey, Buffer.alloc(0), `outlay ${purpose}`, 32)),
    );
  const wrappingKey = derive('key wrapping');
  const indexKey = derive('blind index');
  const recordKey = derive('records');
  return {
    masterKeyId: createHash('sha256')
      .update(derive('identity').export())
      .digest('hex')
      .slice(0, 16),
    wrap: (key, owner) => sealBytes(wrappingKey, key, owner),
    unwrap: (wrapped, owner) => openBytes(wrappingKey, wrapped, owner),
    blindIndex: (purpose, value) =>
      createHmac('sha256', indexKey).update(`${purpose}\0${value}`).digest(),
    seal: (plain, context) => sealBytes(recordKey, plain, context),
    open: (sealed, context) => openBytes(recordKey, sealed, context),
  };
}
