import {
  createHmac,
  createPrivateKey,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';

/** Signatures of Standard Webhooks 1.0 ("Signature scheme"). */

export const algorithms = ['hmac-sha256', 'ed25519'] as const;
export type Algorithm = (typeof algorithms)[number];

/** `secret` is `whsec_…` or `whsk_…`; `publicKey` is `whpk_…`, and empty for HMAC. */
export type WebhookSecret = {
  readonly algorithm: Algorithm;
  readonly secret: string;
  readonly publicKey: string;
};

/** The specification requires 24 to 64 bytes. */
const secretBytes = 32;
const prefixes = { symmetric: 'whsec_', private: 'whsk_', public: 'whpk_' };
/** What precedes the 32 bytes of the key in PKCS #8 (RFC 8410, section 7). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

export function createSecret(algorithm: Algorithm): WebhookSecret {
  if (algorithm === 'hmac-sha256') {
    const secret = prefixes.symmetric + randomBytes(secretBytes).toString('base64');
    return { algorithm, secret, publicKey: '' };
  }
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [seed, point] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')];
  return {
    algorithm,
    // The seed and the public key, as libraries of Ed25519 expect a secret key.
    secret: prefixes.private + Buffer.concat([seed, point]).toString('base64'),
    publicKey: prefixes.public + point.toString('base64'),
  };
}

export type Signer = (content: string) => string;

/** Signs with one secret. The result is one element of `webhook-signature`. */
export function createSigner({ algorithm, secret }: Omit<WebhookSecret, 'publicKey'>): Signer {
  if (algorithm === 'hmac-sha256') {
    // Node takes bytes for a key too, but looks at them for longer than the hash takes.
    const key = createSecretKey(decodeKey(secret, prefixes.symmetric));
    return (content) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
  }
  const key = readPrivateKey(decodeKey(secret, prefixes.private));
  return (content) => `v1a,${sign(null, Buffer.from(content), key).toString('base64')}`;
}

function decodeKey(text: string, prefix: string): Buffer {
  return Buffer.from(text.slice(prefix.length), 'base64');
}

function readPrivateKey(key: Buffer): KeyObject {
  const der = Buffer.concat([pkcs8Prefix, key.subarray(0, 32)]);
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

export type SignedMessage = {
  /** Without a full stop. */
  readonly id: string;
  readonly body: string;
  readonly timestampSeconds: number;
};

/** The headers of a message, with a signature for each secret. */
export function signMessage(
  message: SignedMessage,
  signers: readonly Signer[],
): Record<string, string> {
  const { id, timestampSeconds, body } = message;
  const content = `${id}.${timestampSeconds}.${body}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signers.map((signer) => signer(content)).join(' '),
  };
}
