import type { CollectedAttributes } from '../rails/contract/contract.ts';
import type { AttributeType } from './field.ts';
import { type Corridor, getFields } from './requirements.ts';
import { makeSampleValue } from './sample-values.ts';

/** Sample documents expire after this day. */
const sampleDay = '2026-01-01';

/** The attributes of a corridor, with sample values that pass every check. */
export function collectAttributes(corridor: Corridor): CollectedAttributes {
  const { countryCode, currency } = corridor;
  const values = new Map<AttributeType, string>();
  const attributes = getFields(corridor).map((field) => {
    const { type, isOptional } = field.requirement;
    const value = makeSampleValue(field, { seed: '', countryCode, values, today: sampleDay });
    values.set(type, value);
    return { type, isOptional };
  });
  return { currency, attributes, sample: Object.fromEntries(values) };
}
