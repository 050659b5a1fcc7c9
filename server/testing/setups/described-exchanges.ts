import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';

/** Validates HTTP exchanges against descriptions in OpenAPI 3.0. */

export type Exchange = {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** "": none. */
  readonly requestBody: string;
  readonly status: number;
  /** "": none. */
  readonly responseBody: string;
};

export type Descriptions = {
  /** What of the exchange is not as described; also that its operation is not described at all. */
  findFaults(exchange: Exchange): readonly string[];
  /** The faults of a value that should be of a schema under `components`. */
  findSchemaFaults(name: string, value: unknown): readonly string[];
};

type Tree = { readonly [name: string]: unknown };

/**
 * Requests are validated more strictly than the descriptions demand: a member or a query parameter that
 * is not described is a fault.
 */
export function openDescriptions(documents: readonly unknown[]): Descriptions {
  // Patterns of OpenAPI are ECMA 262 without the flag u; formats of a provider's own are not known.
  const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false, logger: false });
  addFormats.default(ajv);
  const described = documents.map((document, index) => {
    const tree = asTree(document);
    ajv.addSchema({ ...tree, $id: `open${index}` });
    ajv.addSchema({ ...asTree(closeObjects(tree)), $id: `closed${index}` });
    return { tree, index };
  });
  const compiled = new Map<string, ValidateFunction>();
  const validate = (reference: string, value: unknown): string[] => {
    let check = compiled.get(reference);
    if (check === undefined) {
      check = ajv.compile({ $ref: reference });
      compiled.set(reference, check);
    }
    if (check(value)) return [];
    return (check.errors ?? []).map(
      ({ instancePath, message = '', params }) =>
        `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  };
  return {
    findFaults: (exchange) => {
      const url = new URL(exchange.path, 'http://described.example');
      for (const { tree, index } of described) {
        const found = findOperation(tree, exchange.method.toLowerCase(), url.pathname);
        if (found === undefined) continue;
        const context = { tree, index, validate, ajv, ...found };
        return [
          ...findParameterFaults(context, url),
          ...findRequestFaults(context, exchange),
          ...findResponseFaults(context, exchange),
        ];
      }
      return [`${exchange.method} ${url.pathname} is not described`];
    },
    findSchemaFaults: (name, value) => {
      const owner = described.find(({ tree }) => find(tree, ['components', 'schemas', name]));
      if (owner === undefined) return [`no schema is called ${name}`];
      return validate(`open${owner.index}#/components/schemas/${name}`, value);
    },
  };
}

type Operation = {
  readonly operation: Tree;
  readonly pointer: string;
  readonly pathValues: Readonly<Record<string, string>>;
};

type Described = Operation & {
  readonly tree: Tree;
  readonly index: number;
  readonly ajv: Ajv;
  validate(reference: string, value: unknown): string[];
};

function findOperation(tree: Tree, method: string, pathname: string): Operation | undefined {
  for (const [template, item] of Object.entries(asTree(tree['paths']))) {
    const operation = asTree(item)[method];
    if (operation === undefined) continue;
    const names = [...template.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => name);
    const pattern = template.replaceAll(/\{[^}]+\}/g, '([^/]+)');
    const match = new RegExp(`^${pattern}$`).exec(pathname);
    if (match === null) continue;
    const values = names.map((name, place) => [name, decodeURIComponent(match[place + 1] ?? '')]);
    const pointer = `paths/${escapePointer(template)}/${method}`;
    return { operation: asTree(operation), pointer, pathValues: Object.fromEntries(values) };
  }
  return undefined;
}

function findParameterFaults(context: Described, { searchParams }: URL): string[] {
  const { operation, tree, pathValues, ajv, index } = context;
  const listed = (operation['parameters'] ?? []) as readonly Tree[];
  const parameters = listed.map((one) => resolve(tree, one));
  const known = new Set(
    parameters.filter((one) => one['in'] === 'query').map((one) => String(one['name'])),
  );
  const faults = [...searchParams.keys()]
    .filter((name) => !known.has(name))
    .map((name) => `the query parameter ${name} is not described`);
  for (const parameter of parameters) {
    const name = String(parameter['name']);
    const isQuery = parameter['in'] === 'query';
    const text = isQuery ? (searchParams.get(name) ?? undefined) : pathValues[name];
    if (parameter['in'] === 'header') continue;
    if (text === undefined) {
      if (parameter['required'] === true) faults.push(`${name} is required`);
      continue;
    }
    const schema = resolve(tree, asTree(parameter['schema']));
    const value = readParameter(text, String(schema['type']));
    const check = ajv.compile({ ...schema, $id: `parameter${index}-${count()}` });
    if (!check(value)) faults.push(`${name}: ${ajv.errorsText(check.errors)}`);
  }
  return faults;
}

let counted = 0;
function count(): number {
  counted += 1;
  return counted;
}

function readParameter(text: string, type: string): unknown {
  if (type === 'integer' || type === 'number') return Number(text);
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}

const jsonContent = 'content/application~1json/schema';

function findRequestFaults(context: Described, { requestBody }: Exchange): string[] {
  const { operation, pointer, index, validate } = context;
  if (operation['requestBody'] === undefined) {
    return requestBody === '' ? [] : ['a body is not described'];
  }
  const json: unknown = JSON.parse(requestBody);
  return validate(`closed${index}#/${pointer}/requestBody/${jsonContent}`, json).map(
    (fault) => `request: ${fault}`,
  );
}

function findResponseFaults(context: Described, { status, responseBody }: Exchange): string[] {
  const { operation, pointer, index, tree, validate } = context;
  const responses = asTree(operation['responses']);
  const name = responses[status] === undefined ? 'default' : String(status);
  const entry = responses[name];
  if (entry === undefined) return [`the status ${status} is not described`];
  const reference = asTree(entry)['$ref'];
  const place = typeof reference === 'string' ? reference.slice(2) : `${pointer}/responses/${name}`;
  if (find(resolve(tree, asTree(entry)), ['content']) === undefined) {
    return responseBody === '' ? [] : ['a body is not described'];
  }
  const json: unknown = JSON.parse(responseBody);
  return validate(`open${index}#/${place}/${jsonContent}`, json).map(
    (fault) => `answer ${status}: ${fault}`,
  );
}

function asTree(value: unknown): Tree {
  if (typeof value !== 'object' || value === null) throw new Error('not an object');
  return value as Tree;
}

function find(tree: Tree, names: readonly string[]): unknown {
  let value: unknown = tree;
  for (const name of names) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Tree)[name];
  }
  return value;
}

function resolve(tree: Tree, value: Tree): Tree {
  const reference = value['$ref'];
  if (typeof reference !== 'string') return value;
  return asTree(find(tree, reference.slice(2).split('/')));
}

function escapePointer(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** Objects whose members are described have no others. */
function closeObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closeObjects);
  if (typeof value !== 'object' || value === null) return value;
  const closed = Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, closeObjects(one)]),
  );
  const isObject = closed['type'] === 'object' && typeof closed['properties'] === 'object';
  return isObject && closed['additionalProperties'] === undefined
    ? { ...closed, additionalProperties: false }
    : closed;
}
