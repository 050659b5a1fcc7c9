import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  type KeyObject,
  sign,
  timingSafeEqual,
} from 'node:crypto';
import { AppError } from './errors.ts';

/**
 * The keys of an environment: one that seals, one that authenticates rows and one that signs, each of
 * them random. A rotation adds a generation of all three. Ciphertexts and codes begin with the number of
 * their generation; the newest active one writes, and all that are not destroyed open and verify.
 *
 * A generation is announced before any process writes with it, for longer than a process trusts what it
 * has read (`isCurrent`). So whoever trusts its reading knows every generation that it can meet.
 */

/** An Ed25519 key (RFC 8032) with which the environment signs what others verify. */
export type SigningKey = {
  /** The first 16 hexadecimal digits of the SHA-256 of the public key (SPKI, DER). */
  readonly id: string;
  /** SPKI, PEM: what verifiers are given. */
  readonly publicPem: string;
  /** 64 bytes. */
  sign(data: Uint8Array): Buffer;
};

/** A public key, and when the environment signed with it. */
export type VerifyingKey = Pick<SigningKey, 'id' | 'publicPem'> & {
  readonly generation: number;
  readonly since: Date;
  /** Undefined for the present one. */
  readonly until: Date | undefined;
  readonly isDestroyed: boolean;
};

/** 32 bytes each. */
export type GenerationSecrets = {
  readonly sealing: Buffer;
  readonly authentication: Buffer;
  readonly signing: Buffer;
};

export type Generation = {
  readonly number: number;
  readonly sealing: KeyObject;
  readonly authentication: KeyObject;
  readonly signing: SigningKey;
};

export type EnvironmentKeys = {
  readonly index: KeyObject;
  /** What writes. @throws AppError unavailable, unless the keys were read lately. */
  newest(): Generation;
  find(number: number): Generation | undefined;
  /** Whether no process can write with a generation that is missing here. */
  isCurrent(): boolean;
  /** Begins to read them again. */
  refresh(): void;
  signingKeys(): readonly VerifyingKey[];
};

/** The generation of these data was destroyed, or was never there. */
export class DestroyedKey extends Error {}

export function openGeneration(number: number, secrets: GenerationSecrets): Generation {
  return {
    number,
    sealing: createSecretKey(secrets.sealing),
    authentication: createSecretKey(secrets.authentication),
    signing: createSigningKey(secrets.signing),
  };
}

/** A single generation, which nothing replaces. */
export function fixEnvironmentKeys(index: Buffer, secrets: GenerationSecrets): EnvironmentKeys {
  const only = openGeneration(1, secrets);
  const { id, publicPem } = only.signing;
  const since = new Date(0);
  const published = { generation: 1, id, publicPem, since, until: undefined, isDestroyed: false };
  return {
    index: createSecretKey(index),
    newest: () => only,
    find: (number) => (number === 1 ? only : undefined),
    isCurrent: () => true,
    refresh: () => undefined,
    signingKeys: () => [published],
  };
}

const numberBytes = 4;

export function markGeneration({ number }: Pick<Generation, 'number'>, bytes: Buffer): Buffer {
  const marked = Buffer.alloc(numberBytes + bytes.length);
  marked.writeUInt32BE(number);
  bytes.copy(marked, numberBytes);
  return marked;
}

/** The generation of marked bytes, as the database compares it. */
export function encodeGeneration(number: number): Buffer {
  const encoded = Buffer.alloc(numberBytes);
  encoded.writeUInt32BE(number);
  return encoded;
}

export function readGeneration(marked: Buffer): number {
  return marked.length < numberBytes ? 0 : marked.readUInt32BE(0);
}

/**
 * The generation of marked bytes, and what follows its number; undefined where it was destroyed or never
 * was.
 *
 * @throws AppError unavailable, where the reading of the keys is too old to tell.
 */
export function findGeneration(
  keys: EnvironmentKeys,
  marked: Buffer,
): { generation: Generation; rest: Buffer } | undefined {
  const generation = keys.find(readGeneration(marked));
  if (generation !== undefined) return { generation, rest: marked.subarray(numberBytes) };
  if (keys.isCurrent()) return undefined;
  keys.refresh();
  throw refuseStaleKeys();
}

export function refuseStaleKeys(): AppError {
  return new AppError(
    'unavailable',
    'The service has not read its keys lately. Retry in a second',
    {
      retryAfterSeconds: 1,
    },
  );
}

/** `KeyRing.mac` and `KeyRing.isMac`. */
export function authenticateByGeneration(keys: EnvironmentKeys) {
  const compute = ({ authentication }: Generation, row: string): Buffer =>
    createHmac('sha256', authentication).update(row).digest();
  return {
    mac: (row: string): Buffer => {
      const newest = keys.newest();
      return markGeneration(newest, compute(newest, row));
    },
    isMac: (row: string, mac: Buffer): boolean => {
      // Of a row that has ended.
      if (mac.length === 0) return false;
      const found = findGeneration(keys, mac);
      if (found === undefined) return false;
      const expected = compute(found.generation, row);
      return found.rest.length === expected.length && timingSafeEqual(found.rest, expected);
    },
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
