import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { describeSchema } from '../../server/src/http/schema.ts';

export type JsonObject = { [key: string]: unknown };

const localPrefix = '#/$defs/';

/**
 * The shared schemas of an OpenAPI document. A zod schema with `.meta({ id })` is written once
 * under `components.schemas` and referred to.
 */
export class SchemaBook {
  readonly #schemas = new Map<string, JsonObject>();

  /** @throws Error if two different schemas have the same id. */
  describe(schema: z.ZodType, side: 'input' | 'output'): JsonObject {
    const { $defs, ...root } = describeSchema(schema, side);
    for (const [id, found] of Object.entries(($defs ?? {}) as Record<string, JsonObject>)) {
      const shared = relink(found) as JsonObject;
      const known = this.#schemas.get(id);
      if (known !== undefined && !isDeepStrictEqual(known, shared)) {
        throw new Error(`two different schemas have the id ${id}`);
      }
      this.#schemas.set(id, shared);
    }
    return relink(root) as JsonObject;
  }

  list(): Record<string, JsonObject> {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}

function relink(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(relink);
  if (typeof node !== 'object' || node === null) return node;
  const entries = Object.entries(node).map(([key, value]) =>
    key === '$ref' && typeof value === 'string' && value.startsWith(localPrefix)
      ? [key, `#/components/schemas/${value.slice(localPrefix.length)}`]
      : [key, relink(value)],
  );
  return Object.fromEntries(entries);
}
