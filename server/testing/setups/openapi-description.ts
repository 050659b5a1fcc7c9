import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import {
  type Document,
  findOperation,
  methods,
  type Operation,
  type Path,
  readDocument,
} from './openapi-document.ts';
import { type Form, findByPath, isTree, readPointer, type Tree } from './openapi-schemas.ts';

/**
 * HTTP exchanges and webhooks against OpenAPI descriptions, 3.0 or 3.1. A member or a query parameter
 * that is not described is a fault, also where the description leaves the object open by default.
 */

export type DescribedExchange = {
  readonly method: string;
  /** With the path of the server and the query. */
  readonly path: string;
  /** Of the request; names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** "": none. */
  readonly body: string;
  readonly status: number;
  /** The body of the answer; "": none. */
  readonly answer: string;
};

export type Description = {
  /** Every fault, after the operation that has it; an operation that is not described is one. */
  listFaults(exchange: DescribedExchange): readonly string[];
  /** As `GET /transfers/{id}`; undefined: not described. */
  findOperation(exchange: Pick<DescribedExchange, 'method' | 'path'>): string | undefined;
  /** Of the body of a webhook, by its name in `webhooks`. */
  listWebhookFaults(name: string, body: string): readonly string[];
  /** Of a value that must have a schema of `components`. */
  listSchemaFaults(name: string, value: unknown): readonly string[];
  /** The examples of bodies, and those that break their own description. */
  checkExamples(): { readonly count: number; readonly wrong: readonly string[] };
  /** Operations and webhooks that were validated so far, with how often. */
  readonly seen: ReadonlyMap<string, number>;
};

export type DescriptionOptions = {
  /** Answers may have members that are not described; requests and webhooks may not. */
  readonly hasOpenAnswers?: boolean;
};

/** Files in JSON or YAML that describe one API together. */
export function openDescription(
  files: readonly string[],
  options: DescriptionOptions = {},
): Description {
  const documents = files.map((file): unknown => {
    const text = readFileSync(file, 'utf8');
    return file.endsWith('.json') ? JSON.parse(text) : parse(text);
  });
  return describeApi(documents, options);
}

export function describeApi(
  documents: readonly unknown[],
  { hasOpenAnswers = false }: DescriptionOptions = {},
): Description {
  const answerForm = hasOpenAnswers ? 'open' : 'closed';
  const described = documents.map(readDocument);
  const seen = new Map<string, number>();
  const count = (name: string): void => void seen.set(name, (seen.get(name) ?? 0) + 1);
  const find = ({ method, path }: Pick<DescribedExchange, 'method' | 'path'>) => {
    const url = new URL(path, 'http://description.example');
    for (const document of described) {
      const operation = findOperation(document, method, url.pathname);
      if (operation !== undefined) return { document, operation, url };
    }
    return undefined;
  };
  return {
    seen,
    findOperation: (exchange) => find(exchange)?.operation.name,
    listFaults: (exchange) => {
      const found = find(exchange);
      if (found === undefined) return [`${exchange.method} ${exchange.path} is not described`];
      const { document, operation, url } = found;
      count(operation.name);
      return [
        ...listParameterFaults(document, operation, { url, headers: exchange.headers }),
        ...listRequestFaults(document, operation.at, exchange),
        ...listAnswerFaults(document, operation.at, { exchange, form: answerForm }),
      ].map((fault) => `${operation.name}: ${fault}`);
    },
    listWebhookFaults: (name, body) => {
      const owner = described.find(({ tree }) => findByPath(tree, ['webhooks', name]));
      if (owner === undefined) return [`the webhook ${name} is not described`];
      count(name);
      const at = owner.locate(['webhooks', name, 'post', 'requestBody', 'content', json, 'schema']);
      if (at === undefined) return [`the webhook ${name} has no body of ${json}`];
      return listJsonFaults(owner, at, { text: body, form: 'closed' }).map(
        (fault) => `${name}: ${fault}`,
      );
    },
    listSchemaFaults: (name, value) => {
      const path = ['components', 'schemas', name];
      const owner = described.find(({ tree }) => findByPath(tree, path) !== undefined);
      return owner?.validate(path, value, 'closed') ?? [`the schema ${name} is not described`];
    },
    checkExamples: () => {
      const checks = described.flatMap(listExamples);
      return { count: checks.length, wrong: checks.flat() };
    },
  };
}

const json = 'application/json';

type Parameter = { readonly at: Path; readonly tree: Tree; readonly key: string };

/** Those of the operation replace those of its path that have the same place and name. */
function listParameters(document: Document, { at, pathAt }: Operation): readonly Parameter[] {
  const parameters = new Map<string, Parameter>();
  for (const owner of [pathAt, at]) {
    const listed = document.get([...owner, 'parameters']);
    for (const index of Array.isArray(listed) ? listed.keys() : []) {
      const place = document.locate([...owner, 'parameters', String(index)]);
      const tree = findByPath(document.tree, place ?? ['nowhere']);
      if (place === undefined || !isTree(tree)) throw new Error('a parameter must be an object');
      const key = `${String(tree['in'])} ${String(tree['name'])}`;
      parameters.set(key, { at: place, tree, key });
    }
  }
  return [...parameters.values()];
}

function listParameterFaults(
  document: Document,
  operation: Operation,
  { url, headers }: { url: URL; headers: DescribedExchange['headers'] },
): readonly string[] {
  const parameters = listParameters(document, operation);
  const known = new Set(parameters.map(({ key }) => key));
  const faults = [...new Set(url.searchParams.keys())]
    .filter((name) => !known.has(`query ${name}`))
    .map((name) => `the query parameter ${name} is not described`);
  for (const { at, tree, key } of parameters) {
    const given = readTexts(tree, { url, headers, values: operation.values });
    if (given.length === 0) {
      if (tree['required'] === true) faults.push(`the ${key} is required`);
      continue;
    }
    const schemaAt = [...at, 'schema'];
    const schema = resolveSchema(document, findByPath(document.tree, schemaAt));
    if (schema === undefined) continue;
    const isList = isOfType(schema, 'array');
    if (given.length > 1 && !isList) faults.push(`the ${key} is given more than once`);
    const items = tree['explode'] === false ? given.flatMap((text) => text.split(',')) : given;
    const element = resolveSchema(document, schema['items']) ?? {};
    const value = isList
      ? items.map((text) => readScalar(text, element))
      : readScalar(given[0] ?? '', schema);
    const found = document.validate(schemaAt, value, 'open');
    faults.push(...found.map((fault) => `the ${key}: ${fault}`));
  }
  return faults;
}

function readTexts(
  { in: place, name }: Tree,
  given: {
    url: URL;
    headers: DescribedExchange['headers'];
    values: Operation['values'];
  },
): readonly string[] {
  const key = String(name);
  if (place === 'query') return given.url.searchParams.getAll(key);
  const header = place === 'header' ? given.headers[key.toLowerCase()] : undefined;
  const text = place === 'path' ? given.values.get(key) : header;
  if (text === undefined) return [];
  return [typeof text === 'string' ? text : text.join(',')];
}

function resolveSchema(document: Document, schema: unknown): Tree | undefined {
  if (!isTree(schema)) return undefined;
  const { $ref } = schema;
  if (typeof $ref !== 'string') return schema;
  return resolveSchema(document, findByPath(document.tree, readPointer($ref)));
}

function isOfType({ type }: Tree, name: string): boolean {
  return Array.isArray(type) ? type.includes(name) : type === name;
}

function readScalar(text: string, schema: Tree): unknown {
  const isNumber = isOfType(schema, 'integer') || isOfType(schema, 'number');
  if (isNumber && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text);
  if (isOfType(schema, 'boolean') && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

function listRequestFaults(
  document: Document,
  at: Path,
  { body, headers }: DescribedExchange,
): readonly string[] {
  const bodyAt = document.locate([...at, 'requestBody']);
  const isRequired = document.get([...at, 'requestBody', 'required']) === true;
  if (body === '') return isRequired ? ['a body is required'] : [];
  if (bodyAt === undefined) return ['a body is not described'];
  const [type = ''] = String(headers['content-type'] ?? '').split(';');
  const schemaAt = document.locate([...bodyAt, 'content', type.trim().toLowerCase(), 'schema']);
  if (schemaAt === undefined) return [`a body of type "${type}" is not described`];
  const isForm = type === 'application/x-www-form-urlencoded';
  const found = isForm
    ? document.validate(schemaAt, Object.fromEntries(new URLSearchParams(body)), 'closed')
    : listJsonFaults(document, schemaAt, { text: body, form: 'closed' });
  return found.map((fault) => `request: ${fault}`);
}

function listAnswerFaults(
  document: Document,
  at: Path,
  { exchange: { status, answer }, form }: { exchange: DescribedExchange; form: Form },
): readonly string[] {
  const name = [String(status), `${Math.floor(status / 100)}XX`, 'default'].find(
    (one) => document.get([...at, 'responses', one]) !== undefined,
  );
  if (name === undefined) return [`status ${status} is not described`];
  const content = document.locate([...at, 'responses', name, 'content']);
  if (content === undefined) {
    return answer === '' ? [] : [`answer ${status}: a body is not described`];
  }
  const schemaAt = document.locate([...content, json, 'schema']);
  if (schemaAt === undefined) return [];
  const found = listJsonFaults(document, schemaAt, { text: answer, form });
  return found.map((fault) => `answer ${status}: ${fault}`);
}

function listJsonFaults(
  document: Document,
  at: Path,
  { text, form }: { text: string; form: Form },
): readonly string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return ['the body is not JSON'];
  }
  return document.validate(at, value, form);
}

/** The faults of every example, in the form that the description itself demands. */
function listExamples(document: Document): readonly (readonly string[])[] {
  const operations = ['paths', 'webhooks'].flatMap((section) =>
    Object.keys((document.tree[section] ?? {}) as Tree).flatMap((name) =>
      methods.map((method): Path => [section, name, method]),
    ),
  );
  return operations.flatMap((at) => {
    const responses = document.get([...at, 'responses']);
    const statuses = isTree(responses) ? Object.keys(responses) : [];
    const places = [['requestBody'], ...statuses.map((status) => ['responses', status])];
    return places.flatMap((place) => listBodyExamples(document, [...at, ...place]));
  });
}

function listBodyExamples(document: Document, at: Path): readonly (readonly string[])[] {
  const media = document.locate([...at, 'content', json]);
  const schemaAt = media && document.locate([...media, 'schema']);
  if (media === undefined || schemaAt === undefined) return [];
  const named = document.get([...media, 'examples']);
  const values = isTree(named)
    ? Object.keys(named).map((name): [string, unknown] => [
        name,
        document.get([...media, 'examples', name, 'value']),
      ])
    : [];
  const single = document.get([...media, 'example']);
  if (single !== undefined) values.push(['example', single]);
  return values.map(([name, value]) =>
    document
      .validate(schemaAt, value, 'open')
      .map((fault) => `${at.slice(1).join(' ')} ${name}: ${fault}`),
  );
}
