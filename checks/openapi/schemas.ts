import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { describeSchema } from '../../server/src/http/schema.ts';
import { fieldTexts } from './field-texts.ts';
import { namedEnums } from './named-enums.ts';

export type JsonObject = { [key: string]: unknown };

const localPrefix = '#/$defs/';

/**
 * The shared schemas of an OpenAPI document. A zod schema with `.meta({ id })` is written once
 * under `components.schemas` and referred to, and so is an enum that has a name.
 */
export class SchemaBook {
  readonly #schemas = new Map<string, JsonObject>();

  /** @throws Error if two different schemas have the same id. */
  describe(schema: z.ZodType, side: 'input' | 'output'): JsonObject {
    const { $defs, ...root } = describeSchema(schema, side);
    for (const [id, found] of Object.entries(($defs ?? {}) as Record<string, JsonObject>)) {
      const shared = this.#complete(found, id) as JsonObject;
      const known = this.#schemas.get(id);
      if (known !== undefined && !isDeepStrictEqual(known, shared)) {
        throw new Error(`two different schemas have the id ${id}`);
      }
      this.#schemas.set(id, shared);
    }
    return this.#complete(root, '') as JsonObject;
  }

  list(): Record<string, JsonObject> {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Leads references to the components, names enums and describes fields. */
  #complete(node: unknown, id: string): unknown {
    if (Array.isArray(node)) return node.map((item) => this.#complete(item, id));
    if (typeof node !== 'object' || node === null) return node;
    const { enum: values, type, ...rest } = node as JsonObject;
    const name = values === undefined ? undefined : namedEnums.get(JSON.stringify(values));
    if (name !== undefined) {
      this.#schemas.set(name, { type, enum: values });
      return { $ref: `#/components/schemas/${name}`, ...rest };
    }
    const entries = Object.entries(node).map(([key, value]) => {
      if (key === '$ref') return [key, relink(String(value))];
      if (key === 'properties') return [key, this.#completeFields(value as JsonObject, id)];
      return [key, this.#complete(value, id)];
    });
    return Object.fromEntries(entries);
  }

  #completeFields(fields: JsonObject, id: string): JsonObject {
    const entries = Object.entries(fields).map(([name, field]): [string, JsonObject] => {
      const completed = this.#complete(field, id) as JsonObject;
      const text = completed['description'] ?? fieldTexts[`${id}.${name}`] ?? fieldTexts[name];
      return [name, text === undefined ? completed : { ...completed, description: text }];
    });
    return Object.fromEntries(entries);
  }
}

function relink(reference: string): string {
  return reference.startsWith(localPrefix)
    ? `#/components/schemas/${reference.slice(localPrefix.length)}`
    : reference;
}
