import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import {
  type Form,
  findByPath,
  isTree,
  readPointer,
  rewriteSchemas,
  type Tree,
  writePointer,
} from './openapi-schemas.ts';

/** An OpenAPI document as read: where its parts are, which operation a request has, its schemas. */

export const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

export type Path = readonly string[];

export type Document = {
  readonly tree: Tree;
  readonly templates: readonly Template[];
  /** Where the place really is, after every reference on the way; undefined: nowhere. */
  locate(path: Path): Path | undefined;
  get(path: Path): unknown;
  /** Against the schema at a path. */
  validate(at: Path, value: unknown, form: Form): readonly string[];
};

type Template = {
  readonly name: string;
  readonly pattern: RegExp;
  readonly parameterNames: readonly string[];
};

export function readDocument(value: unknown, index: number): Document {
  if (!isTree(value)) throw new Error('an OpenAPI description must be an object');
  const version = String(value['openapi']);
  if (!/^3\.[01]\./.test(version)) throw new Error(`OpenAPI ${version} is not supported`);
  const base = `https://description.example/${index}`;
  // Patterns of OpenAPI 3.0 are ECMA 262 without the flag u. Formats of a provider's own are ignored.
  const unicodeRegExp = !version.startsWith('3.0');
  const ajv = new Ajv2020({ strict: false, allErrors: true, unicodeRegExp, logger: false });
  addFormats.default(ajv);
  for (const form of ['open', 'closed', 'branch'] as const) {
    ajv.addSchema(rewriteSchemas(value, base, form));
  }
  const compiled = new Map<string, ValidateFunction>();
  const locate = (path: Path): Path | undefined => locateIn(value, path);
  return {
    tree: value,
    templates: listTemplates(value),
    locate,
    get: (path) => findByPath(value, locate(path) ?? ['nowhere']),
    validate: (at, given, form) => {
      const $ref = `${base}/${form}#${writePointer(at)}`;
      const check = compiled.get($ref) ?? ajv.compile({ $ref });
      compiled.set($ref, check);
      if (check(given)) return [];
      return (check.errors ?? []).map(
        ({ instancePath, message, params }) =>
          `${instancePath || 'the value'} ${message} ${JSON.stringify(params)}`,
      );
    },
  };
}

function locateIn(document: Tree, path: Path, depth = 0): Path | undefined {
  if (depth > 50) throw new Error(`the references at ${writePointer(path)} are circular`);
  for (let length = 1; length <= path.length; length += 1) {
    const value = findByPath(document, path.slice(0, length));
    if (value === undefined) return undefined;
    // A schema keeps its own references: the validator follows them.
    if (path[length - 1] === 'schema' || !isTree(value)) continue;
    const reference = value['$ref'];
    if (typeof reference !== 'string') continue;
    return locateIn(document, [...readPointer(reference), ...path.slice(length)], depth + 1);
  }
  return path;
}

function listTemplates(document: Tree): readonly Template[] {
  const servers = (Array.isArray(document['servers']) ? document['servers'] : []) as Tree[];
  const prefixes = servers.map(({ url }) =>
    new URL(String(url), 'http://description.example').pathname.replace(/\/$/, ''),
  );
  const names = isTree(document['paths']) ? Object.keys(document['paths']) : [];
  const templates = names.map((name): Template => {
    // Some descriptions repeat the path of their server.
    const open = prefixes.filter((prefix) => !name.startsWith(`${prefix}/`));
    const starts = open.length === prefixes.length && open.length > 0 ? open : ['', ...open];
    const fixed = (text: string): string => text.replaceAll(/[.*+?^$()|[\]\\{}]/g, '\\$&');
    const pattern = name
      .split(/(\{[^}]+\})/)
      .map((part) => (part.startsWith('{') ? '([^/]+)' : fixed(part)))
      .join('');
    const parameterNames = [...name.matchAll(/\{([^}]+)\}/g)].map(([, one = '']) => one);
    return {
      name,
      pattern: new RegExp(`^(?:${[...new Set(starts)].map(fixed).join('|')})${pattern}$`),
      parameterNames,
    };
  });
  // OpenAPI 3.1.0, section 4.8.8: a concrete path before one with parameters.
  return templates.toSorted((a, b) => a.parameterNames.length - b.parameterNames.length);
}

export type Operation = {
  /** As `GET /transfers/{id}`. */
  readonly name: string;
  readonly at: Path;
  readonly pathAt: Path;
  readonly values: ReadonlyMap<string, string>;
};

export function findOperation(
  document: Document,
  method: string,
  pathname: string,
): Operation | undefined {
  if (!methods.includes(method.toLowerCase())) return undefined;
  for (const { name, pattern, parameterNames } of document.templates) {
    const match = pattern.exec(pathname);
    const pathAt = document.locate(['paths', name]);
    if (match === null || pathAt === undefined) continue;
    const at = [...pathAt, method.toLowerCase()];
    if (document.get(at) === undefined) continue;
    const values = parameterNames.map((one, place): [string, string] => [
      one,
      decodeURIComponent(match[place + 1] ?? ''),
    ]);
    return { name: `${method} ${name}`, at, pathAt, values: new Map(values) };
  }
  return undefined;
}
