import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/**
 * Requests and answers against an OpenAPI 3.1 description, whose schemas are JSON Schema 2020-12. The
 * discriminators of the description only choose among `oneOf`, which the validator tries in turn.
 */

export type HttpExchange = {
  readonly method: string;
  readonly url: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly requestBody: string;
  readonly status: number;
  readonly answerBody: string;
};

export type OpenApiDescription = {
  /** What of the exchange breaks the description; undefined where it has no such path. */
  findExchangeFaults(exchange: HttpExchange): readonly string[] | undefined;
  /** Of a webhook's body, by its name in `webhooks`. */
  findWebhookFaults(name: string, body: string): readonly string[];
  /** The description's own examples; `wrong` are those that break it: `operation example: fault`. */
  checkExamples(): { readonly count: number; readonly wrong: readonly string[] };
  /** The operations, as `POST /transfers`. */
  readonly operations: readonly string[];
};

type Json = Readonly<Record<string, unknown>>;

export function openDescription(file: string, id: string): OpenApiDescription {
  const document = JSON.parse(readFileSync(file, 'utf8')) as Json;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  // The library is CommonJS with its function as `default`.
  (addFormats as unknown as { default: (target: Ajv2020) => void }).default(ajv);
  ajv.addSchema({ $id: id, ...document });
  const get = (...path: readonly string[]): unknown => resolve(document, path);
  const compiled = new Map<string, ValidateFunction>();
  const findFaults = (pointer: string, value: unknown): string[] => {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `${id}#${pointer}` });
    compiled.set(pointer, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message = '', params }) =>
        `${instancePath || 'the body'} ${message} ${JSON.stringify(params)}`,
    );
  };
  const paths = Object.keys(document['paths'] ?? {});
  return {
    operations: paths.flatMap((path) =>
      Object.keys(get('paths', path) as Json).map((method) => `${method.toUpperCase()} ${path}`),
    ),
    findExchangeFaults: (exchange) => {
      const path = findPath(paths, new URL(exchange.url).pathname);
      const method = exchange.method.toLowerCase();
      if (path === undefined || get('paths', path, method) === undefined) return undefined;
      const at = ['paths', path, method];
      return [
        ...findParameterFaults(listParameters(document, at), exchange, findFaults),
        ...findBodyFaults(at, exchange, { get, findFaults }),
      ];
    },
    findWebhookFaults: (name, body) =>
      findFaults(pointTo(['webhooks', name, 'post', 'requestBody', ...jsonSchema]), parse(body)),
    checkExamples: () => checkExamples(document, findFaults),
  };
}

const jsonSchema = ['content', 'application/json', 'schema'] as const;

function parse(text: string): unknown {
  return text === '' ? undefined : JSON.parse(text);
}

/** A JSON Pointer as a fragment of a URI. */
function pointTo(path: readonly string[]): string {
  return path
    .map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
    .join('');
}

function resolve(document: Json, path: readonly string[]): unknown {
  let value: unknown = document;
  for (const part of path) {
    value = (value as Json | undefined)?.[part];
    const reference = (value as Json | undefined)?.['$ref'];
    if (typeof reference === 'string') {
      value = resolve(
        document,
        reference
          .slice(2)
          .split('/')
          .map((one) => one.replaceAll('~1', '/')),
      );
    }
  }
  return value;
}

/** The template whose end the path matches, fixed segments before parameters. */
function findPath(templates: readonly string[], path: string): string | undefined {
  const matches = templates.filter((template) =>
    new RegExp(`${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(path),
  );
  return matches.toSorted(
    (a, b) => countParameters(a) - countParameters(b) || b.length - a.length,
  )[0];
}

const countParameters = (template: string): number => template.split('{').length;

type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: { readonly type?: string };
  /** The path of the schema in the document. */
  readonly at: readonly string[];
};

function listParameters(document: Json, at: readonly string[]): Parameter[] {
  const listed = (resolve(document, [...at, 'parameters']) ?? []) as Json[];
  return listed.map((entry, index) => {
    const reference = entry['$ref'];
    const place =
      typeof reference === 'string'
        ? reference.slice(2).split('/')
        : [...at, 'parameters', String(index)];
    return { ...(resolve(document, place) as Parameter), at: place };
  });
}

type FindFaults = (pointer: string, value: unknown) => string[];

function findParameterFaults(
  parameters: readonly Parameter[],
  { url, requestHeaders }: HttpExchange,
  findFaults: FindFaults,
): string[] {
  const query = new URL(url).searchParams;
  const known = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
  const unknown = [...query.keys()].filter((name) => !known.includes(name));
  return [
    ...unknown.map((name) => `the query parameter ${name} is not described`),
    ...parameters.flatMap((parameter) => {
      const text =
        parameter.in === 'query'
          ? query.get(parameter.name)
          : (requestHeaders[parameter.name.toLowerCase()] ?? null);
      if (parameter.in === 'path') return [];
      if (text === null) {
        return parameter.required === true ? [`the parameter ${parameter.name} is missing`] : [];
      }
      const value = parameter.schema?.type === 'integer' ? Number(text) : text;
      return findFaults(pointTo([...parameter.at, 'schema']), value).map(
        (fault) => `${parameter.name}: ${fault}`,
      );
    }),
  ];
}

function findBodyFaults(
  at: readonly string[],
  { requestBody, answerBody, status }: HttpExchange,
  { get, findFaults }: { get: (...path: readonly string[]) => unknown; findFaults: FindFaults },
): string[] {
  const faults: string[] = [];
  const check = (place: readonly string[], what: string, text: string): void => {
    if (get(...place, ...jsonSchema) === undefined) return;
    faults.push(
      ...findFaults(pointTo([...place, ...jsonSchema]), parse(text)).map(
        (one) => `${what}: ${one}`,
      ),
    );
  };
  if (requestBody !== '' && get(...at, 'requestBody') === undefined) {
    faults.push('the operation has no request body');
  }
  check([...at, 'requestBody'], 'request', requestBody);
  const answer = [...at, 'responses', String(status)];
  if (get(...answer) === undefined) faults.push(`the status ${status} is not described`);
  check(answer, `answer ${status}`, answerBody);
  return faults;
}

function checkExamples(document: Json, findFaults: FindFaults) {
  const wrong: string[] = [];
  let count = 0;
  for (const section of ['paths', 'webhooks']) {
    for (const [path, methods] of Object.entries((document[section] ?? {}) as Json)) {
      for (const [method, operation] of Object.entries(methods as Json)) {
        const at = [section, path, method];
        const statuses = Object.keys((operation as Json)['responses'] ?? {});
        const places = [['requestBody'], ...statuses.map((status) => ['responses', status])];
        for (const place of places) {
          const content = [...at, ...place, 'content', 'application/json'];
          const examples = (resolve(document, [...content, 'examples']) ?? {}) as Json;
          if (resolve(document, [...content, 'schema']) === undefined) continue;
          for (const name of Object.keys(examples)) {
            const value = resolve(document, [...content, 'examples', name, 'value']);
            count += 1;
            const faults = findFaults(pointTo([...content, 'schema']), value);
            wrong.push(...faults.map((fault) => `${method} ${path} ${name}: ${fault}`));
          }
        }
      }
    }
  }
  return { count, wrong };
}
