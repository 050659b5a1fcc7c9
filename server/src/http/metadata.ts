import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { type ExactJson, type ExactObject, JsonNumber } from '../core/exact-json.ts';
import { hashMetadataEntry } from '../core/metadata-hashes.ts';
import { hasControlCharacters } from '../core/plain-text.ts';
import { metadataName } from './unknown-parameters.ts';

/** The client's own key-value object on users and payouts: stored exactly, searchable by entry. */

const keysMax = 50;
const bytesMax = 16 * 1024;
const keyLengthMax = 200;

function hasForbiddenText(value: ExactJson): boolean {
  if (typeof value === 'string') return hasControlCharacters(value);
  if (typeof value !== 'object' || value === null || value instanceof JsonNumber) return false;
  return Object.entries(value).some(
    ([key, member]) => hasControlCharacters(key) || hasForbiddenText(member),
  );
}

export const metadataField = z
  .custom<ExactObject>(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      !(value instanceof JsonNumber),
    { error: 'must be an object', params: { code: 'invalid_type' } },
  )
  .refine((value) => Object.keys(value).length <= keysMax, {
    error: `must have at most ${keysMax} keys`,
    params: { code: 'too_many_keys' },
  })
  .refine((value) => Object.keys(value).every((key) => key.length <= keyLengthMax), {
    error: `must have keys of at most ${keyLengthMax} characters`,
    params: { code: 'too_long' },
  })
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= bytesMax, {
    error: `must have at most ${bytesMax} bytes of JSON`,
    params: { code: 'too_long' },
  })
  .refine((value) => !hasForbiddenText(value), {
    error: 'must not contain control characters',
    params: { code: 'control_characters' },
  })
  .meta({ jsonSchema: { type: 'object', additionalProperties: true, maxProperties: keysMax } });

/** The entries of the query `metadata[key]=value`, all of which must match; see `keyHashes`. */
export function readMetadataQuery(
  query: Readonly<Record<string, string | string[] | undefined>>,
): Buffer[] {
  const hashes: Buffer[] = [];
  for (const [name, given] of Object.entries(query)) {
    if (!name.startsWith('metadata') || given === undefined) continue;
    const key = metadataName.exec(name)?.[1];
    if (key === undefined) {
      const detail = `${name} must have the form metadata[key]=value`;
      throw new AppError('invalid_request', detail, {
        faults: [{ parameter: name, code: 'invalid_value', detail }],
      });
    }
    for (const value of Array.isArray(given) ? given : [given]) {
      hashes.push(hashMetadataEntry(key, value));
    }
  }
  return hashes;
}
