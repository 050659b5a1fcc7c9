import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  randomFillSync,
} from 'node:crypto';
import {
  authenticateByGeneration,
  DestroyedKey,
  type EnvironmentKeys,
  findGeneration,
  fixEnvironmentKeys,
  markGeneration,
  readGeneration,
  type SigningKey,
  type VerifyingKey,
} from './environment-keys.ts';
import { AppError } from './errors.ts';

/**
 * Personal data at rest: AES-256-GCM, every ciphertext bound to its account, table, row and version, so
 * that a row copied elsewhere or put back does not open.
 *
 * What is stored about a user as a person is sealed under a key of that user, which is wrapped by the
 * newest master key. What belongs to no single user is sealed under the environment's keys
 * (`environment-keys.ts`), which are wrapped in the same way and replaced one generation after the other.
 * Master keys never enter the database. An erasure destroys the user's wrapped key
 * (`erasure/erasure.ts`); decision 46 lists every table with personal data.
 */
export type KeyRing = {
  /** Of the newest master key, which wraps; a hash that does not reveal it. */
  readonly masterKeyId: string;
  /** The key of a user as `users.data_key` stores it. */
  wrap(key: Buffer, owner: KeyOwner): Buffer;
  /** @throws AppError user_erased where the key was destroyed; MissingMasterKey. */
  unwrap(wrapped: Buffer, owner: KeyOwner): Buffer;
  /**
   * A keyed hash, to find equal values without storing them (a blind index). Its key is not replaced, so
   * that it must not prove who wrote something: that is what `mac` is for.
   */
  blindIndex(purpose: string, value: string): Buffer;
  /** A keyed hash over a row (`rowContext`), so that one that others wrote is noticed; 36 bytes. */
  mac(row: string): Buffer;
  /** @throws AppError unavailable, where keys of another process were not read yet. */
  isMac(row: string, mac: Buffer): boolean;
  seal(plain: Buffer, context: string): Buffer;
  /** @throws AppError unavailable, as `isMac`; DestroyedKey. */
  open(sealed: Buffer, context: string): Buffer;
  /** The newest one. */
  readonly signing: SigningKey;
  /** The newest first: all that this environment has signed with. */
  readonly signingKeys: readonly VerifyingKey[];
  /** Of the keys with which this process writes now. */
  readonly generation: number;
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

/** Drawn together: a call for one takes about as long as the cipher. */
const nonces = Buffer.alloc(512 * nonceBytes);
let noncesUsed = nonces.length;

/** Random bytes, each used once. */
function drawNonce(): Buffer {
  if (noncesUsed === nonces.length) {
    randomFillSync(nonces);
    noncesUsed = 0;
  }
  const nonce = Buffer.from(nonces.subarray(noncesUsed, noncesUsed + nonceBytes));
  noncesUsed += nonceBytes;
  return nonce;
}

/** version (1) + nonce (12) + ciphertext + tag (16). The context is authenticated, not stored. */
export function sealBytes(key: Buffer | KeyObject, plain: Buffer, context: string): Buffer {
  const nonce = drawNonce();
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

/**
 * Data is sealed under a master key that this process was not given, such as the newest one during a
 * rotation: another process can answer.
 */
export class MissingMasterKey extends AppError {
  /** For the log: what is missing, and where the steps are. */
  readonly advice: string;

  constructor(missing: string) {
    super(
      'unavailable',
      'A master key that other processes use is missing in this one. Retry the request.',
    );
    this.name = 'MissingMasterKey';
    this.advice = `${missing}: start every process with all master keys (docs/guides/keys.md#rotate-the-master-key)`;
  }
}

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

/** With one master key and no keys of an environment, as tests use it, they follow from that key. */
export function createKeyRing(
  master: Buffer | MasterKeys,
  environmentKeys?: EnvironmentKeys,
): KeyRing {
  const only = Buffer.isBuffer(master) ? [readMasterKey(master)] : [];
  const masters = Buffer.isBuffer(master) ? { list: () => only } : master;
  const keys = environmentKeys ?? deriveEnvironmentKeys(master);
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
      createHmac('sha256', keys.index).update(`${purpose}\0${value}`).digest(),
    ...authenticateByGeneration(keys),
    seal: (plain, context) => {
      const newest = keys.newest();
      return markGeneration(newest, sealBytes(newest.sealing, plain, context));
    },
    open: (sealed, context) => {
      const found = findGeneration(keys, sealed);
      if (found === undefined) {
        throw new DestroyedKey(`there is no generation ${readGeneration(sealed)} of the keys`);
      }
      return openBytes(found.generation.sealing, found.rest, context);
    },
    get signing() {
      return keys.newest().signing;
    },
    get signingKeys() {
      return keys.signingKeys();
    },
    get generation() {
      return keys.newest().number;
    },
  };
}

function deriveEnvironmentKeys(master: Buffer | MasterKeys): EnvironmentKeys {
  if (!Buffer.isBuffer(master)) throw new Error('keys of the environment are needed');
  const derive = (purpose: string): Buffer => deriveKey(master, purpose).export();
  return fixEnvironmentKeys(derive('blind index'), {
    sealing: derive('records'),
    authentication: derive('row authentication'),
    signing: derive('signing'),
  });
}
