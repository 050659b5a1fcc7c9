import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';

/**
 * Exchanges against an OpenAPI 3.1 description. Descriptions leave objects open, so that a misspelled
 * member would pass; here an object has the members that it describes and no others, unless it says
 * `additionalProperties` or describes none.
 */

export type DescribedExchange = {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
  readonly status: number;
  readonly answer: string;
};

export type Description = {
  /** Every fault, with the operation that has it. */
  listFaults(exchange: DescribedExchange): readonly string[];
  listWebhookFaults(name: string, body: string): readonly string[];
  /** `METHOD /path/{template}` of what was validated so far, with how often. */
  readonly seen: ReadonlyMap<string, number>;
};

type Tree = { [key: string]: unknown };
type Parameter = { name: string; in: string; required?: boolean; schema?: Tree };
type Content = Record<string, { schema?: Tree } | undefined>;
type Operation = {
  parameters?: Tree[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, Tree | undefined>;
};

const documentId = 'https://description.example/openapi';

export function openDescription(file: string): Description {
  const document = close(parse(readFileSync(file, 'utf8'))) as Tree;
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
  addFormats.default(ajv);
  for (const format of ['int32', 'int64'])
    ajv.addFormat(format, { type: 'number', validate: Number.isInteger });
  ajv.addSchema(document, documentId);
  const compiled = new Map<string, ValidateFunction>();
  const validate = (pointer: readonly string[], value: unknown): readonly string[] => {
    const path = pointer.map((part) =>
      encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')),
    );
    const $ref = `${documentId}#/${path.join('/')}`;
    const check = compiled.get($ref) ?? ajv.compile({ $ref });
    compiled.set($ref, check);
    if (check(value)) return [];
    return (check.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  };
  const resolve = (tree: Tree): { tree: Tree; pointer: readonly string[] | undefined } => {
    if (typeof tree['$ref'] !== 'string') return { tree, pointer: undefined };
    const pointer = tree['$ref'].replace('#/', '').split('/');
    const found = pointer.reduce<unknown>((at, part) => (at as Tree)[part], document) as Tree;
    return { tree: found, pointer };
  };
  const paths = Object.keys(document['paths'] as Tree).map((template) => ({
    template,
    pattern: new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '([^/]+)')}$`),
    names: [...template.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name ?? ''),
  }));
  const seen = new Map<string, number>();

  const listParameterFaults = (
    operation: Operation,
    given: { url: URL; headers: DescribedExchange['headers']; values: ReadonlyMap<string, string> },
  ): readonly string[] => {
    const parameters = (operation.parameters ?? []).map((tree) => resolve(tree).tree as Parameter);
    const query = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
    const faults = [...given.url.searchParams.keys()]
      .filter((name) => !query.includes(name))
      .map((name) => `the query has ${name}, which is not described`);
    for (const { name, in: place, required = false, schema = {} } of parameters) {
      const header = given.headers[name.toLowerCase()];
      const sources: Readonly<Record<string, string | undefined>> = {
        query: given.url.searchParams.get(name) ?? undefined,
        path: given.values.get(name),
        header: typeof header === 'string' ? header : header?.join(','),
      };
      const text = sources[place];
      if (text === undefined && required) faults.push(`${place} must have ${name}`);
      if (text === undefined) continue;
      const isNumber = schema['type'] === 'integer' || schema['type'] === 'number';
      const value = isNumber ? Number(text) : text;
      if (!ajv.validate(schema, value)) faults.push(`${place} ${name}: ${ajv.errorsText()}`);
    }
    return faults;
  };

  const listFaults: Description['listFaults'] = (exchange) => {
    const { method, headers, status } = exchange;
    const url = new URL(exchange.path, 'https://description.example');
    const path = paths.find(
      ({ template, pattern }) =>
        pattern.test(url.pathname) &&
        (document['paths'] as Record<string, Tree>)[template]?.[method.toLowerCase()] !== undefined,
    );
    if (path === undefined) return [`${method} ${url.pathname} is not described`];
    const name = `${method} ${path.template}`;
    seen.set(name, (seen.get(name) ?? 0) + 1);
    const pointer = ['paths', path.template, method.toLowerCase()];
    const operation = (document['paths'] as Record<string, Record<string, Operation>>)[
      path.template
    ]?.[method.toLowerCase()] as Operation;
    const parts = path.pattern.exec(url.pathname)?.slice(1) ?? [];
    const values = new Map(path.names.map((key, index) => [key, parts[index] ?? '']));
    const faults = [...listParameterFaults(operation, { url, headers, values })];
    faults.push(...listBodyFaults(operation, { exchange, pointer }, validate));
    const response = operation.responses[String(status)];
    if (response === undefined) faults.push(`status ${status} is not described`);
    else {
      const { tree, pointer: at = [...pointer, 'responses', String(status)] } = resolve(response);
      const schema = (tree['content'] as Content | undefined)?.['application/json']?.schema;
      if (schema !== undefined) {
        const answer = JSON.parse(exchange.answer) as unknown;
        const found = validate([...at, 'content', 'application/json', 'schema'], answer);
        faults.push(...found.map((fault) => `answer ${status}: ${fault}`));
      }
    }
    return faults.map((fault) => `${name}: ${fault}`);
  };

  return {
    seen,
    listFaults,
    listWebhookFaults: (name, body) => {
      seen.set(name, (seen.get(name) ?? 0) + 1);
      const at = ['webhooks', name, 'post', 'requestBody', 'content', 'application/json', 'schema'];
      return validate(at, JSON.parse(body)).map((fault) => `${name}: ${fault}`);
    },
  };
}

function listBodyFaults(
  { requestBody }: Operation,
  { exchange, pointer }: { exchange: DescribedExchange; pointer: readonly string[] },
  validate: (pointer: readonly string[], value: unknown) => readonly string[],
): readonly string[] {
  const { body, headers } = exchange;
  if (body === '') return requestBody?.required === true ? ['a body is required'] : [];
  const type = String(headers['content-type'] ?? '');
  if (requestBody?.content[type]?.schema === undefined)
    return [`a body of ${type} is not described`];
  const isForm = type === 'application/x-www-form-urlencoded';
  const value: unknown = isForm ? Object.fromEntries(new URLSearchParams(body)) : JSON.parse(body);
  const found = validate([...pointer, 'requestBody', 'content', type, 'schema'], value);
  return found.map((fault) => `request: ${fault}`);
}

/** Forbids members that an object does not describe. */
function close(tree: unknown): unknown {
  if (Array.isArray(tree)) return tree.map(close);
  if (typeof tree !== 'object' || tree === null) return tree;
  const closed: Tree = Object.fromEntries(
    Object.entries(tree).map(([key, value]) => [key, key === 'example' ? value : close(value)]),
  );
  const isObject = closed['type'] === 'object' || Array.isArray(closed['type']);
  const isOpen = closed['additionalProperties'] !== undefined || closed['allOf'] !== undefined;
  if (isObject && !isOpen && isMap(closed['properties'])) closed['additionalProperties'] = false;
  return closed;
}

function isMap(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}
