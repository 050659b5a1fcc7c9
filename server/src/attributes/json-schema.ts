import type { ReadAttribute } from './attributes.ts';
import { listOtherOptions, valueLengthMax } from './checks.ts';
import type { Alternative } from './field.ts';

/**
 * The attributes of a destination as JSON Schema 2020-12, for form libraries: an object with one
 * property per attribute, named by its token, as `POST /attribute` takes them. It uses standard
 * keywords only, so that a strict validator accepts it. The checks that no pattern can express, and
 * the spellings that are tidied, are known to the service alone.
 */

type JsonSchema = { readonly [key: string]: unknown };

/** The verification is not among the properties: no client stores it. */
export function describeJsonSchema(
  attributes: readonly ReadAttribute[],
  title: string,
): JsonSchema {
  const listed = attributes.filter(({ isReadOnly }) => !isReadOnly);
  const required = listed.filter(({ isOptional, alternatives }) => {
    return !isOptional && alternatives.length === 0;
  });
  const groups = new Set(listed.flatMap((one) => one.alternatives.map(({ group }) => group)));
  const choices = [...groups].map((group) => ({ anyOf: describeGroup(listed, group) }));
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title,
    type: 'object',
    properties: Object.fromEntries(listed.map((one) => [one.token, describeProperty(one, listed)])),
    required: required.map(({ token }) => token),
    // One group stands by itself, because form libraries show it as a choice there.
    ...(choices.length > 1 ? { allOf: choices } : choices[0]),
    additionalProperties: false,
  };
}

function describeProperty(attribute: ReadAttribute, listed: readonly ReadAttribute[]): JsonSchema {
  const { type, label, expectedValue, inputType, validation, value } = attribute;
  const isOptional = attribute.isOptional || listOtherOptions(attribute, listed).length > 0;
  return {
    $comment: type,
    type: 'string',
    title: label,
    description: expectedValue,
    ...(inputType === 'options'
      ? { enum: [...validation.split('|'), ...(isOptional ? [''] : [])] }
      : { pattern: isOptional ? allowEmpty(validation) : validation, maxLength: valueLengthMax }),
    ...(inputType === 'date' && !isOptional && { format: 'date' }),
    ...(value !== '' && { default: value }),
  };
}

/** The service takes an empty text for none where the attribute can be left out, as forms send it. */
function allowEmpty(validation: string): string {
  return `^$|${validation}`;
}

/** `anyOf` and not `oneOf`: a Pix key and an account together are valid too. */
function describeGroup(attributes: readonly ReadAttribute[], group: string): JsonSchema[] {
  const options = new Map<string, { label: string; parts: [token: string, Alternative][] }>();
  for (const { token, alternatives } of attributes) {
    for (const part of alternatives.filter((one) => one.group === group)) {
      const option = options.get(part.name) ?? { label: part.label, parts: [] };
      option.parts.push([token, part]);
      options.set(part.name, option);
    }
  }
  return [...options.values()].map(({ label, parts }) => ({
    title: label,
    type: 'object',
    properties: Object.fromEntries(
      parts.map(([token, { validation }]) => [token, { type: 'string', pattern: validation }]),
    ),
    required: parts.map(([token]) => token),
  }));
}
