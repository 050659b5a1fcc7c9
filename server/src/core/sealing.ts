import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { AppError } from './errors.ts';

/**
 * Personal data at rest: AES-256-GCM, every ciphertext bound to its account, table and row, so that
 * a row copied elsewhere does not open.
 *
 * What is stored about a user as a person (the user, attribute values, images, decisions of a
 * screening, stored answers about the user) is sealed under a key of that user, which is wrapped by
 * the environment's master key; the master key never enters the database. Overwriting
 * `users.data_key` (with an empty value) makes all of it unreadable.
 *
 * It does not reach what is sealed under the environment's record key (records and messages of
 * rails, stored answers about no user or about several) or stored in the clear (metadata, pickup
 * codes, identifiers that the client chose), nor backups that were made before.
 */
export type KeyRing = {
  /** Names the master key without telling it, so that a wrong key is noticed at start. */
  readonly masterKeyId: string;
  /** The key of a user as `users.data_key` stores it. */
  wrap(key: Buffer, owner: KeyOwner): Buffer;
  /** @throws AppError user_erased where the key was destroyed. */
  unwrap(wrapped: Buffer, owner: KeyOwner): Buffer;
  /** A keyed hash, to find equal values without storing them (a blind index). */
  blindIndex(purpose: string, value: string): Buffer;
  /** A keyed hash over a row (`rowContext`), so that one that others wrote is noticed. */
  mac(row: string): Buffer;
  seal(plain: Buffer, context: string): Buffer;
  open(sealed: Buffer, context: string): Buffer;
  readonly signing: SigningKey;
};

/** An Ed25519 key (RFC 8032) with which the environment signs what others verify. */
export type SigningKey = {
  /** The first 16 hexadecimal digits of the SHA-256 of the public key (SPKI, DER). */
  readonly id: string;
  /** SPKI, PEM: what verifiers are given. */
  readonly publicPem: string;
  /** 64 bytes. */
  sign(data: Uint8Array): Buffer;
};

export type KeyOwner = { readonly accountId: string; readonly userId: string };

/** What a ciphertext is bound to: the table, and what identifies the row, from the account on. */
export function rowContext(table: string, ...row: readonly (string | number)[]): string {
  return JSON.stringify([table, ...row]);
}

function keyContext({ accountId, userId }: KeyOwner): string {
  return rowContext('users.data_key', accountId, userId);
}

/** The key of a user; undefined where it was destroyed. */
export function findUserKey(keys: KeyRing, wrapped: Buffer, owner: KeyOwner): Buffer | undefined {
  try {
    return keys.unwrap(wrapped, owner);
  } catch (error) {
    if (error instanceof AppError && error.code === 'user_erased') return undefined;
    throw error;
  }
}

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

/**
 * Opens what `with_version` of the database answers: the version of the value, then its ciphertext,
 * which was sealed with that version in its context. A ciphertext of an earlier version of the row
 * does not open.
 */
export function openVersioned(
  key: Buffer | KeyObject,
  versioned: Buffer,
  contextOf: (version: number) => string,
): Buffer {
  return openBytes(key, versioned.subarray(4), contextOf(versioned.readInt32BE(0)));
}

const keyBytes = 32;

export function newDataKey(): Buffer {
  return randomBytes(keyBytes);
}

function isWrappedKey(wrapped: Buffer): boolean {
  return wrapped.length === 1 + nonceBytes + keyBytes + tagBytes;
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
  const macKey = derive('row authentication');
  return {
    masterKeyId: createHash('sha256')
      .update(derive('identity').export())
      .digest('hex')
      .slice(0, 16),
    wrap: (key, owner) => sealBytes(wrappingKey, key, keyContext(owner)),
    unwrap: (wrapped, owner) => {
      if (!isWrappedKey(wrapped)) {
        throw new AppError('user_erased', 'the data of this user was erased');
      }
      return openBytes(wrappingKey, wrapped, keyContext(owner));
    },
    blindIndex: (purpose, value) =>
      createHmac('sha256', indexKey).update(`${purpose}\0${value}`).digest(),
    mac: (row) => createHmac('sha256', macKey).update(row).digest(),
    seal: (plain, context) => sealBytes(recordKey, plain, context),
    open: (sealed, context) => openBytes(recordKey, sealed, context),
    signing: createSigningKey(derive('signing').export()),
  };
}

/** What PKCS #8 has before the 32 bytes of an Ed25519 key (RFC 8410, section 7). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

function createSigningKey(seed: Buffer): SigningKey {
  const key = createPrivateKey({
    key: Buffer.concat([pkcs8Prefix, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const publicKey = createPublicKey(key);
  return {
    id: nameSigningKey(publicKey),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    sign: (data) => sign(null, data, key),
  };
}

/** As `SigningKey.id`. */
export function nameSigningKey(publicKey: KeyObject): string {
  const bytes = publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}
