import { hash } from 'node:crypto';
import { canonicalizeJson, type ExactObject, JsonNumber } from './exact-json.ts';
import type { KeyRing } from './sealing.ts';

/** Hashes of the metadata of payouts, by which lists find them. */

/** One hash per key and scalar value; stored and searched as `keyHashes` makes of it. */
export function hashMetadata(metadata: ExactObject): Buffer[] {
  const hashes: Buffer[] = [];
  for (const [key, value] of Object.entries(metadata)) {
    const text = typeof value === 'string' ? value : canonicalizeJson(value);
    if (typeof value !== 'object' || value === null || value instanceof JsonNumber) {
      hashes.push(hashMetadataEntry(key, text));
    }
  }
  return hashes;
}

/** Hashes as they are stored: without the key of the environment, values cannot be tried out. */
export function keyHashes(
  keys: Pick<KeyRing, 'blindIndex'>,
  accountId: string,
  hashes: readonly Buffer[],
): Buffer[] {
  return hashes.map((one) =>
    keys.blindIndex('metadata', `${accountId} ${one.toString('hex')}`).subarray(0, 16),
  );
}

export function hashMetadataEntry(key: string, value: string): Buffer {
  // The one-shot function: a hash object holds memory of its own until it is collected.
  const text = `${key.length} ${key}\0${value}`;
  return hash('sha256', text, 'buffer').subarray(0, 16);
}
