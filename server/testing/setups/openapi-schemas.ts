/**
 * The schemas of an OpenAPI document, in JSON Schema 2020-12 and in three forms:
 *
 * - `open`: as the document says.
 * - `closed`: an object whose members are described has no others, so that a misspelled optional member
 *   is a fault. An object that describes no members, or declares `additionalProperties` or
 *   `unevaluatedProperties`, keeps its rule.
 * - `branch`: closed below, but open at the top of each component. A component that is one of several
 *   parts of an object (`allOf`, `anyOf`, or `oneOf` beside `properties`) does not know the members of
 *   the others.
 */

export type Tree = { readonly [name: string]: unknown };
export type Form = 'open' | 'closed' | 'branch';

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A JSON Pointer (RFC 6901) as the fragment of a URI. */
export function writePointer(path: readonly string[]): string {
  return path
    .map((name) => `/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
    .join('');
}

export function readPointer(reference: string): readonly string[] {
  return reference
    .slice(reference.indexOf('#') + 1)
    .split('/')
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'));
}

export function findByPath(document: Tree, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) => (Array.isArray(at) ? at[Number(name)] : isTree(at) ? at[name] : undefined),
    document,
  );
}

/** The document with every schema rewritten; references point to the form `$id` of the same base. */
export function rewriteSchemas(document: Tree, base: string, form: Form): Tree {
  const isOld = String(document['openapi']).startsWith('3.0');
  const writer = createWriter({ document, base, isOld });
  const write = (schema: unknown): unknown => writer(schema, form);
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (!isTree(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => {
        if (name === 'schema') return [name, write(one)];
        if (name === 'schemas' && isTree(one)) return [name, mapValues(one, write)];
        return [name, notSchemas.has(name) ? one : visit(one)];
      }),
    );
  };
  return { ...(visit(document) as Tree), $id: `${base}/${form}` };
}

/** Whose values may look like schemas. */
const notSchemas: ReadonlySet<string> = new Set(['example', 'examples']);

type Source = { readonly document: Tree; readonly base: string; readonly isOld: boolean };

function createWriter({ document, base, isOld }: Source) {
  const refer = (reference: unknown, form: Form): unknown =>
    typeof reference === 'string' && reference.startsWith('#')
      ? `${base}/${form}${reference}`
      : reference;
  const write = (given: unknown, form: Form): unknown => {
    if (!isTree(given)) return given;
    const schema = isOld ? modernize(given) : given;
    const { rest, level } = closeLevel(schema, { document, form });
    const isComposed = rest === 'branch';
    const inner: Form = form === 'open' ? 'open' : 'closed';
    return {
      ...Object.fromEntries(
        Object.entries(schema).map(([name, value]) => {
          if (name === '$ref') return [name, refer(value, isComposed ? 'branch' : form)];
          if (maps.has(name) && isTree(value)) {
            return [name, mapValues(value, (one) => write(one, inner))];
          }
          if (parts.has(name)) return [name, writeEach(value, (one) => write(one, rest))];
          if (conditions.has(name)) return [name, write(value, 'open')];
          if (elements.has(name)) return [name, writeEach(value, (one) => write(one, inner))];
          return [name, value];
        }),
      ),
      ...level,
    };
  };
  return write;
}

const maps: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs']);
const parts: ReadonlySet<string> = new Set(['allOf', 'oneOf', 'anyOf', 'then', 'else']);
/** Of which not every match counts: a closed one would match less. */
const conditions: ReadonlySet<string> = new Set(['not', 'if', 'contains']);
const elements: ReadonlySet<string> = new Set([
  'items',
  'prefixItems',
  'additionalProperties',
  'unevaluatedProperties',
]);

function writeEach(value: unknown, write: (one: unknown) => unknown): unknown {
  return Array.isArray(value) ? value.map(write) : write(value);
}

function mapValues(tree: Tree, write: (one: unknown) => unknown): Tree {
  return Object.fromEntries(Object.entries(tree).map(([name, one]) => [name, write(one)]));
}

/** The keyword that closes this level, and the form of the parts that the object is composed of. */
function closeLevel(
  schema: Tree,
  { document, form }: { document: Tree; form: Form },
): { rest: Form; level: Tree } {
  if (form === 'open') return { rest: 'open', level: {} };
  const isDeclared =
    schema['additionalProperties'] !== undefined || schema['unevaluatedProperties'] !== undefined;
  const hasMembers = isTree(schema['properties']) && Object.keys(schema['properties']).length > 0;
  const hasChoices = schema['oneOf'] !== undefined || schema['$ref'] !== undefined;
  const isComposed =
    ['allOf', 'anyOf', 'if'].some((name) => schema[name] !== undefined) ||
    (hasMembers && hasChoices);
  if (form === 'branch') return { rest: 'branch', level: {} };
  if (!isComposed) {
    return { rest: 'closed', level: hasMembers && !isDeclared ? closedMembers : {} };
  }
  const isClosed = !isDeclared && describesMembers(schema, document, new Set());
  return { rest: 'branch', level: isClosed ? { unevaluatedProperties: false } : {} };
}

const closedMembers: Tree = { additionalProperties: false };

function describesMembers(schema: unknown, document: Tree, visited: Set<unknown>): boolean {
  if (!isTree(schema) || visited.has(schema)) return false;
  visited.add(schema);
  const properties = schema['properties'];
  if (isTree(properties) && Object.keys(properties).length > 0) return true;
  const { $ref } = schema;
  const target = typeof $ref === 'string' ? [findByPath(document, readPointer($ref))] : [];
  const nested = [...parts].flatMap((name) => schema[name] ?? []);
  return [...target, ...nested].some((one) => describesMembers(one, document, visited));
}

/**
 * A schema of OpenAPI 3.0 in JSON Schema 2020-12 (OpenAPI 3.0.3, sections 4.7.23 and 4.7.24): members
 * beside a `$ref` do not count, `nullable` adds a type, and the exclusive bounds are flags.
 */
function modernize({ nullable, exclusiveMinimum, exclusiveMaximum, ...schema }: Tree): Tree {
  if (typeof schema['$ref'] === 'string') return { $ref: schema['$ref'] };
  const { type, minimum, maximum, ...others } = schema;
  return {
    ...others,
    ...(type !== undefined && { type: nullable === true ? [type, 'null'] : type }),
    ...(minimum !== undefined && {
      [exclusiveMinimum === true ? 'exclusiveMinimum' : 'minimum']: minimum,
    }),
    ...(maximum !== undefined && {
      [exclusiveMaximum === true ? 'exclusiveMaximum' : 'maximum']: maximum,
    }),
  };
}
