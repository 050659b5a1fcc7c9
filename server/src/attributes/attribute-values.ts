import { z } from 'zod';
import { type KeyOwner, type KeyRing, openVersioned, rowContext } from '../core/sealing.ts';
import { attributeTypes } from './field.ts';
import type { AttributeType, Corridor } from './requirements.ts';

/** The values of an attribute set: sealed under the key of their user, and masked where they are shown. */

const attributeValues = z.partialRecord(z.enum(attributeTypes), z.string());

export type AttributeValues = z.infer<typeof attributeValues>;

/** The values of a stored version (`with_version`), opened with the user's key. */
export function openValues(userKey: Buffer, sealed: Buffer, set: SetKey): AttributeValues {
  const plain = openVersioned(userKey, sealed, (version) => sealContext(set, version));
  return attributeValues.parse(JSON.parse(plain.toString()));
}

const maskedTypes = new Set<AttributeType>([
  'BankAccountNumber',
  'IdentificationNumber',
  'SocialSecurity',
  'CardNumber',
]);

/** The values for an answer: of numbers that identify a person only the last four characters. */
export function maskValues(
  values: AttributeValues,
  deliveryType: Corridor['deliveryType'],
): Record<string, string> {
  const shown: Record<string, string> = {};
  for (const [type, value] of Object.entries(values)) {
    // A wallet address is public on its chain, and the sender must be able to check it.
    const isPublic = deliveryType === 'CRYPTOCURRENCY' && type === 'BankAccountNumber';
    const isMasked = maskedTypes.has(type as AttributeType) && !isPublic;
    shown[type] = isMasked ? maskValue(value) : value;
  }
  return shown;
}

function maskValue(value: string): string {
  return value.length <= 4 ? '*'.repeat(value.length) : `****${value.slice(-4)}`;
}

export type SetKey = KeyOwner & { readonly setId: string };

export function sealContext({ accountId, userId, setId }: SetKey, version: number): string {
  return rowContext('attribute_set_versions', accountId, userId, setId, version);
}

/** Equal for equal values of one user; reveals nothing about them. */
export function fingerprintValues(
  keys: Pick<KeyRing, 'blindIndex'>,
  { userId }: Pick<KeyOwner, 'userId'>,
  values: AttributeValues,
): Buffer {
  const pairs = Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return keys.blindIndex(`attributes ${userId}`, JSON.stringify(pairs));
}
