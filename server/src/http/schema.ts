import fastJson from 'fast-json-stringify';
import { z } from 'zod';
import { isRealDate } from '../core/calendar-date.ts';
import { type ExactJson, JsonNumber } from '../core/exact-json.ts';
import { findCharacterFault } from '../core/plain-text.ts';

/**
 * Building blocks of request and response schemas. One zod schema gives the static type, the check
 * of the request, the serializer of the answer and the OpenAPI description.
 */

/** A text of at most `lengthMax` characters, none of them a control or hidden character. */
export function textField(lengthMax: number): z.ZodString {
  return z
    .string()
    .max(lengthMax)
    .refine((value) => findCharacterFault(value) === undefined, {
      error: ({ input }) => findCharacterFault(String(input)),
    });
}

const isNumber = { error: 'must be a number', params: { code: 'invalid_type' } };

/** An exact decimal in a request. */
export const decimalField = z
  .custom<JsonNumber>((value) => value instanceof JsonNumber, isNumber)
  .meta({ jsonSchema: { type: 'number' } });

/** A whole number in a request. */
export function integerField(bounds: { min: number; max: number }) {
  return z
    .custom<JsonNumber>((value) => value instanceof JsonNumber, isNumber)
    .transform((value) => Number(value.text))
    .refine((value) => Number.isSafeInteger(value) && value >= bounds.min && value <= bounds.max, {
      error: `must be a whole number from ${bounds.min} to ${bounds.max}`,
    })
    .meta({ jsonSchema: { type: 'integer', minimum: bounds.min, maximum: bounds.max } });
}

/** An object inside a body. Zod would take a `JsonNumber` for an object. */
export function nestedObject<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (value instanceof JsonNumber ? value.text : value), schema);
}

/** An exact decimal in an answer: a JSON number of any length. */
export const amountAnswer = z
  .custom<JsonNumber>(() => true)
  .meta({ jsonSchema: { type: 'number' }, isRaw: true });

/** A whole number in an answer that is no amount: a count or a sequence, of any length. */
export const wholeAnswer = z
  .custom<JsonNumber>(() => true)
  .meta({ jsonSchema: { type: 'integer' }, isRaw: true });

/** A JSON object in an answer, as the client sent it. */
export const objectAnswer = z
  .custom<{ [key: string]: ExactJson }>(() => true)
  .meta({ jsonSchema: { type: 'object', additionalProperties: true }, isRaw: true });

type JsonSchema = { [key: string]: unknown };

/** The JSON Schema of a zod schema for the OpenAPI description. */
export function describeSchema(schema: z.ZodType, side: 'input' | 'output'): JsonSchema {
  return toJsonSchema(schema, side, (meta) => meta.jsonSchema);
}

/**
 * The serializer of an answer, which writes only what the schema names. It is compiled when it is first
 * used: compiling those of all routes would be an eighth of the service's start.
 */
export function createWriter<T>(schema: z.ZodType<T>): (value: T) => string {
  let write: ((value: T) => string) | undefined;
  return (value) => {
    write ??= compileWriter(schema);
    return write(value);
  };
}

function compileWriter<T>(schema: z.ZodType<T>): (value: T) => string {
  const jsonSchema = toJsonSchema(schema, 'output', (meta) =>
    // Without a schema fast-json-stringify uses JSON.stringify, which writes raw JSON.
    meta.isRaw === true ? {} : meta.jsonSchema,
  );
  return fastJson(jsonSchema as fastJson.AnySchema) as (value: T) => string;
}

type FieldMeta = { jsonSchema?: JsonSchema; isRaw?: boolean };

function toJsonSchema(
  schema: z.ZodType,
  side: 'input' | 'output',
  choose: (meta: FieldMeta) => JsonSchema | undefined,
): JsonSchema {
  const result = z.toJSONSchema(schema, {
    io: side,
    unrepresentable: 'any',
    target: 'draft-2020-12',
    override: ({ zodSchema, jsonSchema }) => {
      const node = jsonSchema as JsonSchema;
      const meta = z.globalRegistry.get(zodSchema as unknown as z.ZodType) as FieldMeta | undefined;
      const chosen = meta === undefined ? undefined : choose(meta);
      if (chosen !== undefined) {
        const { description, examples } = node;
        for (const key of Object.keys(node)) delete node[key];
        Object.assign(node, chosen);
        if (description !== undefined) node['description'] = description;
        if (examples !== undefined && Object.keys(chosen).length > 0) node['examples'] = examples;
      }
      delete node['jsonSchema'];
      delete node['isRaw'];
      // Answers may gain fields, so that the description must not exclude them.
      if (side === 'output' && node['additionalProperties'] === false) {
        delete node['additionalProperties'];
      }
    },
  }) as JsonSchema;
  delete result['$schema'];
  return result;
}

/**
 * The schema of an object with one required field, for `oneOf`. It has the field too: generators of
 * clients take a mere `required` for no type.
 */
export function requireField(name: string, type: 'number' | 'integer' | 'string') {
  return { type: 'object', properties: { [name]: { type } }, required: [name] };
}

/** A boolean query parameter. */
export const flag = z
  .enum(['true', 'false'])
  .optional()
  .meta({ jsonSchema: { type: 'boolean', default: false } });

const datePattern = /^\d{4}-\d{2}-\d{2}$/;

/** A date in the query, UTC. */
export const dateQuery = z
  .string()
  .refine(isRealDate, { error: 'must be a calendar date, YYYY-MM-DD' })
  .optional()
  .meta({ jsonSchema: { type: 'string', format: 'date' } });

/** Hour 24, which `Date.parse` takes for the next day's midnight, is none. */
const momentPattern = /^(\d{4}-\d{2}-\d{2})(?:T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ?)?$/;

/** A date or a time to the second in the query, UTC. */
export const momentQuery = z
  .string()
  .refine((text) => isRealDate(momentPattern.exec(text)?.[1] ?? ''), {
    error: 'must be a date YYYY-MM-DD or a time YYYY-MM-DDThh:mm:ss in UTC',
  })
  .optional()
  .meta({ jsonSchema: { type: 'string', pattern: momentPattern.source } });

/** The start of a date or time, in milliseconds. */
export function readMoment(text: string): number {
  if (datePattern.test(text)) return Date.parse(`${text}T00:00:00Z`);
  return Date.parse(text.endsWith('Z') ? text : `${text}Z`);
}

/** The end of a date or time: of the day, or of the second. */
export function readMomentEnd(text: string): number {
  return readMoment(text) + (datePattern.test(text) ? 86_400_000 : 1000);
}
