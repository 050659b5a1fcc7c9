import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { z } from 'zod';
import { nameSigningKey, type VerifyingKey } from './environment-keys.ts';

/**
 * The public keys of an environment: as a JSON Web Key Set (RFC 7517, RFC 8037) with the times between
 * which each one signed, or as PEM. What was signed under a former key verifies with the set.
 */

export type PublicKey = {
  readonly id: string;
  readonly key: KeyObject;
  /** When the environment went over to another key. */
  readonly untilMs: number | undefined;
};

const keySetSchema = z.object({
  keys: z
    .array(
      z.object({
        kty: z.literal('OKP'),
        crv: z.literal('Ed25519'),
        x: z.base64url(),
        kid: z.string().optional(),
        since: z.iso.datetime().optional(),
        until: z.iso.datetime().nullish(),
      }),
    )
    .min(1)
    .max(1000),
});

const keyType = { kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA' } as const;

/** A JSON Web Key Set (RFC 7517), the newest key first. */
export function formatKeySet(keys: readonly VerifyingKey[]) {
  return {
    keys: keys.map(({ id, publicPem, since, until }) => {
      const { x = '' } = createPublicKey(publicPem).export({ format: 'jwk' });
      const dates = { since: since.toISOString(), until: until?.toISOString() ?? null };
      return { ...keyType, kid: id, x, ...dates };
    }),
  };
}

export function openVerifyingKeys(keys: readonly VerifyingKey[]): PublicKey[] {
  return keys.map(({ id, publicPem, until }) => {
    return { id, key: createPublicKey(publicPem), untilMs: until?.getTime() };
  });
}

/** The text is no public key. */
export class PublicKeyFault extends Error {}

const pemPattern = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g;

/** @throws PublicKeyFault unless it is a key set, or PEM of one or several Ed25519 public keys. */
export function readPublicKeys(text: string): PublicKey[] {
  const keys = text.trimStart().startsWith('{') ? readKeySet(text) : readPems(text);
  if (keys.some(({ key }) => key.asymmetricKeyType !== 'ed25519')) {
    throw new PublicKeyFault('the key must be an Ed25519 public key');
  }
  return keys;
}

function readKeySet(text: string): PublicKey[] {
  try {
    return keySetSchema.parse(JSON.parse(text)).keys.map(({ kty, crv, x, until }) => {
      const key = createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
      return { id: nameSigningKey(key), key, untilMs: until ? Date.parse(until) : undefined };
    });
  } catch (cause) {
    throw new PublicKeyFault('the key set must be as the environment publishes it', { cause });
  }
}

function readPems(text: string): PublicKey[] {
  const blocks = text.match(pemPattern) ?? [text];
  try {
    return blocks.map((pem) => {
      const key = createPublicKey(pem);
      return { id: nameSigningKey(key), key, untilMs: undefined };
    });
  } catch (cause) {
    throw new PublicKeyFault('the key must be a public key in PEM, or a key set', { cause });
  }
}

/** The first of the keys whose signature it is. */
export function findSigner(
  keys: readonly PublicKey[],
  data: Uint8Array,
  signature: Uint8Array,
): PublicKey | undefined {
  return keys.find(({ key }) => verify(null, data, key, signature));
}
