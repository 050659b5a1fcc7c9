import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTypescript, {
  astToString,
  type OpenAPI3,
  type OpenAPITSOptions,
} from 'openapi-typescript';
import ts from 'typescript';
import { generateDescription } from './openapi/generate.ts';

/**
 * The generated parts of the SDK (types and operations) and of the console (types of the operators'
 * answers), from the OpenAPI description.
 */

type Schema = {
  type?: string | string[];
  properties?: Record<string, Schema>;
  [key: string]: unknown;
};

type Operation = {
  operationId: string;
  tags: string[];
  parameters?: { name?: string; in?: string }[];
  responses: Record<string, { content?: object } | undefined>;
};

type PathItem = { servers?: unknown } & Partial<Record<Method, Operation>>;

type Document = {
  servers: { url: string }[];
  paths: Record<string, PathItem>;
  webhooks?: unknown;
  components: { schemas: Record<string, Schema> };
};

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;
type Method = (typeof methods)[number];

/** Operations of people. */
const tagsOfPages = [
  'Operators',
  'Console',
  'Verification page',
  'Recipient page',
  'Confirmation page',
];

/** Operations without a client's credential, or that the SDK performs by itself. */
const tagsLeftOut = new Set([...tagsOfPages, 'Authentication', 'Operations']);

const folder = 'sdk/src/generated';
const consoleFolder = 'web/console/src/api';
/** They name the schemas of operators' answers that the console reads. */
const namingFiles = [`${consoleFolder}/operator-types.ts`, `${consoleFolder}/session.ts`];
const root = join(import.meta.dirname, '..');
const heading = '/** Written by `npm run generate` from docs/openapi.json. */\n';

/** @throws Error if a name is an amount in one answer and a count in another. */
export async function generateSdk(): Promise<Map<string, string>> {
  const document = readDocument();
  const operations = listOperations(document);
  const table = operations.map(describeOperation).join('\n');
  const whole = findWholeNumbers(document.components.schemas);
  const names = whole.map((name) => `  '${name}',`).join('\n');
  return new Map([
    [
      `${folder}/api.ts`,
      `${heading}import type { Decimal } from '../decimal.ts';\n\n${await writeTypes(document as unknown as OpenAPI3, decimals)}`,
    ],
    [
      `${consoleFolder}/generated/operators.ts`,
      `${heading}${await writeTypes(readConsoleDocument())}`,
    ],
    [
      `${folder}/operations.ts`,
      `${heading}export const operationTable = {\n${table}\n} as const;\n\n` +
        `/** Properties that hold whole numbers; \`name.*\` stands for the values of a map. */\n` +
        `export const wholeNumbers: ReadonlySet<string> = new Set([\n${names}\n]);\n`,
    ],
  ]);
}

function readDescription(): Document {
  return JSON.parse(generateDescription().get('docs/openapi.json') ?? '') as Document;
}

/** Only the schemas that the console names, and those to which they refer. */
function readConsoleDocument(): OpenAPI3 {
  const document = readDescription();
  const { schemas } = document.components;
  const named = namingFiles.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\bSchemas\['(\w+)'\]/g)].map(
      ([, name]) => `#/components/schemas/${name}`,
    ),
  );
  const used = new Set(listUsedSchemas(document, named));
  const kept = Object.entries(schemas).filter(([name]) => used.has(name));
  const info = { title: 'Operators', version: '' };
  return { openapi: '3.1.0', info, components: { schemas: Object.fromEntries(kept) } } as OpenAPI3;
}

/** Only the operations of the SDK, and of their answers only the successful ones. */
function readDocument(): Document {
  const document = readDescription();
  dropSchemasOfPages(document);
  delete document.webhooks;
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of methods) {
      const operation = item[method];
      if (operation === undefined) continue;
      if (operation.tags.some((tag) => tagsLeftOut.has(tag))) delete item[method];
      else operation.responses = { 200: operation.responses[200] };
    }
    if (methods.every((method) => item[method] === undefined)) delete document.paths[path];
  }
  return document;
}

const listAllOperations = ({ paths }: Document): Operation[] =>
  Object.values(paths).flatMap((item) => methods.flatMap((method) => item[method] ?? []));

/** Schemas that only operations of people have. */
function dropSchemasOfPages(document: Document): void {
  const [ofPages, others] = [true, false].map((isOfPage) =>
    listAllOperations(document).filter(({ tags }) => isOfPage === tags.some(isTagOfPage)),
  );
  const kept = new Set(listUsedSchemas(document, others));
  for (const name of listUsedSchemas(document, ofPages)) {
    if (!kept.has(name)) delete document.components.schemas[name];
  }
}

const isTagOfPage = (tag: string): boolean => tagsOfPages.includes(tag);

/** The names of the schemas to which a part of the document refers, directly or through others. */
function listUsedSchemas({ components }: Document, part: unknown): string[] {
  const found = new Set<string>();
  const visit = (node: unknown): void => {
    const named = JSON.stringify(node ?? null).matchAll(/#\/components\/schemas\/([A-Za-z0-9_]+)/g);
    for (const [, name = ''] of named) {
      if (found.has(name)) continue;
      found.add(name);
      visit(components.schemas[name]);
    }
  };
  visit(part);
  return [...found];
}

type Listed = { path: string; method: Method; operation: Operation; isVersioned: boolean };

function listOperations({ servers, paths }: Document): Listed[] {
  const isServerVersioned = servers[0]?.url.includes('{version}') === true;
  return Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method];
      if (operation === undefined) return [];
      const isVersioned =
        path.startsWith('/{version}') || (isServerVersioned && item.servers === undefined);
      return [{ path: path.replace('/{version}', ''), method, operation, isVersioned }];
    }),
  );
}

function describeOperation({ path, method, operation, isVersioned }: Listed): string {
  const query = (operation.parameters ?? []).flatMap((parameter) =>
    parameter.in === 'query' && parameter.name !== undefined ? [parameter.name] : [],
  );
  const members = [
    `method: '${method.toUpperCase()}'`,
    `path: '${path}'`,
    ...(isVersioned ? [] : ['isVersioned: false']),
    ...(query.includes('cursor') ? ['isPaged: true'] : []),
    `mediaTypes: [${listMediaTypes(operation)}]`,
  ];
  return `  ${operation.operationId}: { ${members.join(', ')} },`;
}

/** Of a successful answer; none where its body is empty. */
function listMediaTypes({ responses }: Operation): string {
  return Object.keys(responses[200]?.content ?? {})
    .map((type) => `'${type}'`)
    .join(', ');
}

/** The SDK reads numbers that are not whole as decimals; the console reads plain JSON. */
const decimals: OpenAPITSOptions['transform'] = ({ type }) =>
  type === 'number' ? ts.factory.createTypeReferenceNode('Decimal') : undefined;

async function writeTypes(
  document: OpenAPI3,
  transform?: OpenAPITSOptions['transform'],
): Promise<string> {
  const nodes = await openapiTypescript(document, {
    alphabetize: false,
    // A request may leave a member out that has a default; answers name what they always have.
    defaultNonNullable: false,
    ...(transform !== undefined && { transform }),
  });
  const interfaces = nodes.filter(ts.isInterfaceDeclaration);
  return astToString(
    interfaces.flatMap((node) => {
      if (node.name.text === 'components') return keepSchemas(node);
      return node.name.text === 'operations'
        ? ts.transform(node, [leaveOutUnused]).transformed
        : [];
    }),
  );
}

/** Only the schemas: no type that is kept refers to shared responses, parameters or headers. */
function keepSchemas(node: ts.InterfaceDeclaration): ts.InterfaceDeclaration {
  const { modifiers, name } = node;
  const members = node.members.filter((member) => isNamed(member, ['schemas']));
  return ts.factory.updateInterfaceDeclaration(node, modifiers, name, [], [], members);
}

/** Headers, and what an operation does not have: nothing refers to them. */
const leaveOutUnused: ts.TransformerFactory<ts.Node> = (context) => (tree) => {
  const visit = (node: ts.Node): ts.Node | undefined =>
    isNamed(node, ['header', 'headers']) || isNever(node)
      ? undefined
      : ts.visitEachChild(node, visit, context);
  return ts.visitNode(tree, visit) ?? tree;
};

const isNamed = (node: ts.Node, names: readonly string[]): boolean =>
  ts.isPropertySignature(node) && ts.isIdentifier(node.name) && names.includes(node.name.text);

const isNever = (node: ts.Node): boolean =>
  ts.isPropertySignature(node) && node.type?.kind === ts.SyntaxKind.NeverKeyword;

/** The names of properties that hold whole numbers in answers, sorted. */
function findWholeNumbers(schemas: Record<string, Schema>): string[] {
  const whole = new Set<string>();
  const exact = new Set<string>();
  for (const schema of Object.values(schemas)) {
    visitSchema(schema, '', ({ type = [] }, name) => {
      if (type.includes('integer')) whole.add(name);
      if (type.includes('number')) exact.add(name);
    });
  }
  const both = [...whole].filter((name) => exact.has(name));
  if (both.length > 0) throw new Error(`amounts as well as counts: ${both.join(', ')}`);
  return [...whole].toSorted();
}

/** Visits a schema and those inside it; `name.*` stands for the values of a map. */
function visitSchema(
  value: unknown,
  name: string,
  visit: (schema: Schema, name: string) => void,
): void {
  if (Array.isArray(value)) for (const item of value) visitSchema(item, name, visit);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  const schema = value as Schema;
  visit(schema, name);
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    visitSchema(property, key, visit);
  }
  visitSchema(schema['additionalProperties'], `${name}.*`, visit);
  for (const key of ['items', 'oneOf', 'anyOf', 'allOf']) visitSchema(schema[key], name, visit);
}
