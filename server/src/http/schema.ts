import fastJson from 'fast-json-stringify';
import { z } from 'zod';
import { type ExactJson, JsonNumber } from '../core/exact-json.ts';

/**
 * The building blocks of request and answer schemas. One zod schema is the static type, the check
 * of the request, the writer of the answer and the text of the OpenAPI description.
 */

/** Unicode's control characters and the ones that only confuse: none belongs in a name or address. */
export const controlCharacters = /[\p{Cc}\u2028\u2029\ufeff]/u;

/** A text without control characters, at most `lengthMax` characters long. */
export function textField(lengthMax: number): z.ZodString {
  return z
    .string()
    .max(lengthMax)
    .refine((value) => !controlCharacters.test(value), {
      error: 'must not have control characters',
    });
}

/** An exact decimal of a request, as its text. */
export const decimalField = z
  .custom<JsonNumber>((value) => value instanceof JsonNumber, { error: 'must be a number' })
  .meta({ jsonSchema: { type: 'number' } });

/** A whole number of a request within bounds. */
export function integerField(bounds: { min: number; max: number }) {
  return z
    .custom<JsonNumber>((value) => value instanceof JsonNumber, { error: 'must be a number' })
    .transform((value) => Number(value.text))
    .refine((value) => Number.isSafeInteger(value) && value >= bounds.min && value <= bounds.max, {
      error: `must be a whole number from ${bounds.min} to ${bounds.max}`,
    })
    .meta({ jsonSchema: { type: 'integer', minimum: bounds.min, maximum: bounds.max } });
}

/** An object inside a body: a number of ours is an object to zod, and none to a client. */
export function nestedObject<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (value instanceof JsonNumber ? value.text : value), schema);
}

/** An exact decimal of an answer: a JSON number of any length, written raw. */
export const amountAnswer = z
  .custom<JsonNumber>(() => true)
  .meta({ jsonSchema: { type: 'number' }, isRaw: true });

/** A JSON object of an answer, as the client once sent it. */
export const objectAnswer = z
  .custom<{ [key: string]: ExactJson }>(() => true)
  .meta({ jsonSchema: { type: 'object', additionalProperties: true }, isRaw: true });

type JsonSchema = { [key: string]: unknown };

/** The JSON Schema of a zod schema, as the description shows it. */
export function describeSchema(schema: z.ZodType, side: 'input' | 'output'): JsonSchema {
  return toJsonSchema(schema, side, (meta) => meta.jsonSchema);
}

/** Compiles the writer of an answer: only what the schema names is written. */
export function compileWriter<T>(schema: z.ZodType<T>): (value: T) => string {
  const jsonSchema = toJsonSchema(schema, 'output', (meta) =>
    // Without a schema fast-json-stringify leaves the value to JSON.stringify, which writes raw JSON.
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
      // Answers may gain fields; a client must not be told otherwise.
      if (side === 'output' && node['additionalProperties'] === false) {
        delete node['additionalProperties'];
      }
    },
  }) as JsonSchema;
  delete result['$schema'];
  return result;
}

/** A query parameter that is on or off. */
export const flag = z
  .enum(['true', 'false'])
  .optional()
  .meta({ jsonSchema: { type: 'boolean', default: false } });

const datePattern = /^\d{4}-\d{2}-\d{2}$/;

export function isRealDate(text: string): boolean {
  const time = datePattern.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** A date of the query, in UTC. */
export const dateQuery = z
  .string()
  .refine(isRealDate, { error: 'must be a real date, YYYY-MM-DD' })
  .optional()
  .meta({ jsonSchema: { type: 'string', format: 'date' } });

const momentPattern = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}:\d{2}Z?)?$/;

/** A date, or a time to the second in UTC, of the query. */
export const momentQuery = z
  .string()
  .refine(
    (text) => isRealDate(momentPattern.exec(text)?.[1] ?? '') && !Number.isNaN(readMoment(text)),
    { error: 'must be a real date YYYY-MM-DD, or a time YYYY-MM-DDThh:mm:ss in UTC' },
  )
  .optional()
  .meta({ jsonSchema: { type: 'string', pattern: momentPattern.source } });

/** Where a date or time of the query begins, in milliseconds. */
export function readMoment(text: string): number {
  if (datePattern.test(text)) return Date.parse(`${text}T00:00:00Z`);
  return Date.parse(text.endsWith('Z') ? text : `${text}Z`);
}

/** Where a date or time of the query ends: the day, or the second, is part of it. */
export function readMomentEnd(text: string): number {
  return readMoment(text) + (datePattern.test(text) ? 86_400_000 : 1000);
}
