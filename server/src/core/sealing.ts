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
 * Personal data at rest: AES-256-GCM, every ciphertext bound to its account, table, row and version, so
 * that a row copied elsewhere or put back does not open.
 *
 * What is stored about a user as a person is sealed under a key of that user, which is wrapped by the
 * newest master key. What belongs to no single user is sealed under a key that follows from the
 * environment's root key, a random key that is wrapped in the same way. Master keys never enter the
 * database. An erasure destroys the user's wrapped key (`erasure/erasure.ts`); decision 46 lists every
 * table with personal data.
 */
export type KeyRing = {
  /** Of the newest master key, which wraps; a hash that does not reveal it. */
  readonly masterKeyId: string;
  /** The key of a user as `users.data_key` stores it. */
  wrap(key: Buffer, owner: KeyOwner): Buffer;
  /** @throws AppError user_erased where the key was destroyed; MissingMasterKey. */
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

/** One key of several users, in the order of their ids: without one of them there is no way to it. */
export function joinUserKeys(keys: readonly Buffer[]): KeyObject {
  return deriveKey(Buffer.concat(keys), 'joined users');
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
  return openBytes(key, versioned.subarray(4), contextOf(readVersion(versioned)));
}

/** The version in what `with_version` of the database answers. */
export function readVersion(versioned: Buffer): number {
  return versioned.readInt32BE(0);
}

const keyBytes = 32;

export function newDataKey(): Buffer {
  return randomBytes(keyBytes);
}

/** A master key, by what is made of it. */
export type MasterKey = { readonly id: string; readonly wrapping: KeyObject };

export type MasterKeys = {
  /** The newest first: it wraps, and all of them unwrap. */
  list(): readonly MasterKey[];
  /** Reads them again, where their source allows, for a key that another process began to use. */
  refresh?(): void;
};

/** Data is sealed under a master key that this process was not given. */
export class MissingMasterKey extends Error {}

const masterKeyIdBytes = 8;

export function readMasterKey(bytes: Buffer): MasterKey {
  if (bytes.length !== keyBytes) throw new Error('a master key has 32 bytes');
  const identity = createHash('sha256').update(deriveKey(bytes, 'identity').export());
  const id = identity.digest('hex').slice(0, 2 * masterKeyIdBytes);
  return { id, wrapping: deriveKey(bytes, 'key wrapping') };
}

function deriveKey(from: Buffer, purpose: string): KeyObject {
  const derived = hkdfSync('sha256', from, Buffer.alloc(0), `outlay ${purpose}`, 32);
  return createSecretKey(Buffer.from(derived));
}

/** The id of the master key (8), then the sealed key. */
export function wrapKey(keys: MasterKeys, key: Buffer, context: string): Buffer {
  const [newest] = keys.list();
  if (newest === undefined) throw new MissingMasterKey('there is no master key');
  const sealed = sealBytes(newest.wrapping, key, rowContext(newest.id, context));
  return Buffer.concat([Buffer.from(newest.id, 'hex'), sealed]);
}

/** @throws MissingMasterKey. */
export function unwrapKey(keys: MasterKeys, wrapped: Buffer, context: string): Buffer {
  const id = readWrappingId(wrapped);
  const find = (): MasterKey | undefined => keys.list().find((key) => key.id === id);
  let master = find();
  if (master === undefined) {
    keys.refresh?.();
    master = find();
  }
  if (master === undefined) throw new MissingMasterKey(`the master key ${id} is missing`);
  return openBytes(master.wrapping, wrapped.subarray(masterKeyIdBytes), rowContext(id, context));
}

/** The id of the master key that wraps a key. */
export function readWrappingId(wrapped: Buffer): string {
  return wrapped.toString('hex', 0, masterKeyIdBytes);
}

export const rootContext = rowContext('environment.root_key');

/** With one master key and no root key of its own, as tests use it, the root is that key. */
export function createKeyRing(master: Buffer | MasterKeys, root?: Buffer): KeyRing {
  const only = Buffer.isBuffer(master) ? [readMasterKey(master)] : [];
  const masters = Buffer.isBuffer(master) ? { list: () => only } : master;
  const rootKey = root ?? master;
  if (!Buffer.isBuffer(rootKey)) throw new Error('a root key is needed');
  const derive = (purpose: string): KeyObject => deriveKey(rootKey, purpose);
  const indexKey = derive('blind index');
  const recordKey = derive('records');
  const macKey = derive('row authentication');
  return {
    get masterKeyId() {
      return masters.list()[0]?.id ?? '';
    },
    wrap: (key, owner) => wrapKey(masters, key, keyContext(owner)),
    unwrap: (wrapped, owner) => {
      if (wrapped.length === 0) {
        throw new AppError('user_erased', 'The data of this user was erased');
      }
      return unwrapKey(masters, wrapped, keyContext(owner));
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
