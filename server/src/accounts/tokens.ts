import { hashSecret, isUuid, newSecret } from '../core/ids.ts';

/**
 * Credentials and tokens as text. Each begins with its account, so that a look-up needs no index
 * across accounts, and contains 256 random bits.
 */

const uuidBytes = 16;
const secretBytes = 32;

export type ApiKeyParts = { accountId: string; credentialId: string };

/** `test_` or `live_`, then account, credential and secret. */
export function formatApiKey(prefix: 'test' | 'live', parts: ApiKeyParts): string {
  const secret = Buffer.from(newSecret(), 'base64url');
  const bytes = [uuidToBytes(parts.accountId), uuidToBytes(parts.credentialId), secret];
  return `${prefix}_${Buffer.concat(bytes).toString('base64url')}`;
}

export function formatClientId(parts: ApiKeyParts): string {
  const bytes = [uuidToBytes(parts.accountId), uuidToBytes(parts.credentialId)];
  return `client_${Buffer.concat(bytes).toString('base64url')}`;
}

export function formatAccessToken(accountId: string): string {
  const secret = Buffer.from(newSecret(), 'base64url');
  return Buffer.concat([uuidToBytes(accountId), secret]).toString('base64url');
}

export type BearerToken =
  | { kind: 'api_key'; accountId: string; credentialId: string; hash: Buffer }
  | { kind: 'access_token'; accountId: string; hash: Buffer };

/** The parts of a bearer token, not verified; undefined if it is malformed. */
export function readBearerToken(text: string): BearerToken | undefined {
  const key = /^(?:test|live)_([A-Za-z0-9_-]+)$/.exec(text);
  if (key !== null) {
    const bytes = Buffer.from(key[1] ?? '', 'base64url');
    if (bytes.length !== 2 * uuidBytes + secretBytes) return undefined;
    return {
      kind: 'api_key',
      accountId: bytesToUuid(bytes.subarray(0, uuidBytes)),
      credentialId: bytesToUuid(bytes.subarray(uuidBytes, 2 * uuidBytes)),
      hash: hashSecret(text),
    };
  }
  if (!/^[A-Za-z0-9_-]{64}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  return {
    kind: 'access_token',
    accountId: bytesToUuid(bytes.subarray(0, uuidBytes)),
    hash: hashSecret(text),
  };
}

/** The account and credential of a client_id; undefined if it is malformed. */
export function readClientId(text: string): ApiKeyParts | undefined {
  const match = /^client_([A-Za-z0-9_-]{43})$/.exec(text);
  const bytes = Buffer.from(match?.[1] ?? '', 'base64url');
  if (bytes.length !== 2 * uuidBytes) return undefined;
  return {
    accountId: bytesToUuid(bytes.subarray(0, uuidBytes)),
    credentialId: bytesToUuid(bytes.subarray(uuidBytes)),
  };
}

function uuidToBytes(uuid: string): Buffer {
  if (!isUuid(uuid)) throw new Error('an account or credential id must be a UUID');
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}

function bytesToUuid(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}
