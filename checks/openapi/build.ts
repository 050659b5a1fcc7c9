import { versions } from '../../server/src/core/access.ts';
import type { BaseServices, Route } from '../../server/src/http/route.ts';
import {
  describeComponents,
  describeProblemSchemas,
  describeRefusals,
  describeTags,
  infoText,
  isKeyed,
} from './common.ts';
import { type ExampleRecord, listExamples } from './examples.ts';
import { describeFixedPaths } from './fixed-paths.ts';
import { type JsonObject, SchemaBook } from './schemas.ts';
import { describeWebhooks } from './webhooks.ts';

/** The OpenAPI 3.1 description, built from the routes and the schemas that they use. */

export type OpenapiOptions = {
  /** Where clients reach the service: scheme and host, without a path. */
  serverUrl: string;
  /** Recorded requests and answers. */
  examples: readonly ExampleRecord[];
};

/** An OpenAPI 3.1 document as a plain JSON value. */
export function buildOpenapi<S extends BaseServices>(
  routes: readonly Route<S>[],
  { serverUrl, examples }: OpenapiOptions,
): JsonObject {
  const book = new SchemaBook();
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const { path } = route;
    const own = examples.filter((example) => example.operationId === route.operationId);
    const method = route.method.toLowerCase();
    const item = { ...paths[path], [method]: describeOperation(route as never, book, own) };
    paths[path] = route.isVersioned ? item : { servers: [{ url: serverUrl }], ...item };
  }
  describeProblemSchemas(book);
  for (const [path, item] of Object.entries(describeFixedPaths(book, examples))) {
    paths[path] = { servers: [{ url: serverUrl }], ...item };
  }
  const webhooks = describeWebhooks(book, examples);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Outlay',
      version: '0.1.4',
      summary: 'Payouts to people in many countries and currencies',
      description: infoText,
      contact: { name: 'The operator of this service' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: `${serverUrl}/{version}`, variables: { version: versionVariable } }],
    tags: describeTags(),
    paths,
    webhooks,
    components: { ...describeComponents(serverUrl, examples), schemas: book.list() },
  };
}

const versionVariable: JsonObject = {
  enum: versions,
  default: versions.at(-1),
  description: 'The version of the API; all behave alike.',
};

function describeOperation(
  route: Route<BaseServices>,
  book: SchemaBook,
  examples: readonly ExampleRecord[],
): JsonObject {
  const parameters = describeParameters(route, book, examples);
  const notes = [
    route.description,
    route.isSandbox === true ? 'Staging only; 404 in live.' : undefined,
  ].filter((note) => note !== undefined);
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(notes.length === 0 ? {} : { description: notes.join('\n\n') }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.streams === undefined ? {} : { requestBody: describeStreams(route.streams) }),
    ...(route.body === undefined
      ? {}
      : { requestBody: describeBody(book.describe(route.body, 'input'), examples) }),
    responses: { 200: describeSuccess(route, book, examples), ...describeRefusals(route) },
    security: describeSecurity(route.access),
  };
}

function describeSecurity(access: Route<BaseServices>['access']): JsonObject[] {
  if (access === 'public') return [];
  if (access === 'operator') return [{ operatorKey: [] }, { operatorSession: [] }];
  return [{ oauth2: access === 'bearer' ? [] : [access] }, { apiKey: [] }];
}

function describeParameters(
  route: Route<BaseServices>,
  book: SchemaBook,
  examples: readonly ExampleRecord[],
): JsonObject[] {
  const shown = examples.find((example) => example.answer.status === 200)?.request;
  const inPath = route.params === undefined ? {} : book.describe(route.params, 'input');
  const inQuery = route.query === undefined ? {} : book.describe(route.query, 'input');
  const parameters = [
    ...listParameters(inPath, 'path').map((parameter) => ({
      ...parameter,
      ...exampleOf(shown?.params?.[String(parameter['name'])]),
    })),
    ...listParameters(inQuery, 'query').map((parameter) => ({
      ...parameter,
      ...exampleOf(readQueryExample(parameter, shown?.query)),
    })),
  ];
  if (route.searchesMetadata === true) parameters.push(metadataParameter);
  if (isKeyed(route)) parameters.push({ $ref: '#/components/parameters/IdempotencyKey' });
  if (route.hasDryRun === true) parameters.push({ $ref: '#/components/parameters/Prefer' });
  return parameters;
}

function exampleOf(value: unknown): JsonObject {
  return value === undefined ? {} : { example: value };
}

/** A query parameter's text as a value of its schema. */
function readQueryExample(
  parameter: JsonObject,
  query: ExampleRecord['request']['query'],
): unknown {
  const text = query?.[String(parameter['name'])];
  const type = (parameter['schema'] as JsonObject)['type'];
  // A named schema has no type here: all of those are lists of texts.
  const isText = type === 'string' || type === undefined;
  return text === undefined || isText ? text : JSON.parse(text);
}

const metadataParameter: JsonObject = {
  name: 'metadata',
  in: 'query',
  description: 'Filter by metadata: `metadata[key]=value`. Several filters must all match.',
  style: 'deepObject',
  explode: true,
  schema: { type: 'object', additionalProperties: { type: 'string' } },
};

function listParameters(schema: JsonObject, place: 'path' | 'query'): JsonObject[] {
  const required = (schema['required'] ?? []) as string[];
  return Object.entries((schema['properties'] ?? {}) as Record<string, JsonObject>).map(
    ([name, { description, ...property }]) => ({
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: property,
    }),
  );
}

function describeBody(schema: JsonObject, examples: readonly ExampleRecord[]): JsonObject {
  const shown = examples.filter((example) => example.answer.status === 200);
  return {
    required: true,
    content: {
      'application/json': {
        schema,
        ...listExamples(shown, (example) => example.request.body),
      },
    },
  };
}

function describeStreams(types: readonly string[]): JsonObject {
  const entries = types.map((type) => [
    type,
    {
      schema:
        type === 'application/json'
          ? { type: 'array', items: { type: 'object', additionalProperties: true } }
          : { type: 'string', contentMediaType: type },
    },
  ]);
  return { required: true, content: Object.fromEntries(entries) };
}

function describeSuccess(
  route: Route<BaseServices>,
  book: SchemaBook,
  examples: readonly ExampleRecord[],
): JsonObject {
  const content: Record<string, JsonObject> = {};
  if (route.response !== null) {
    const shown = examples.filter(({ answer }) => answer.status === 200 && answer.body !== null);
    content['application/json'] = {
      schema: book.describe(route.response, 'output'),
      ...listExamples(shown, (example) => example.answer.body),
    };
  }
  for (const type of route.produces ?? []) {
    // Generated clients take one media type per operation; the stream has one of its own.
    if (type === 'text/event-stream' && route.response !== null) continue;
    content[type] = { schema: { type: 'string', contentMediaType: type } };
  }
  const isEmpty = Object.keys(content).length === 0;
  const isPaged =
    route.query !== undefined && 'cursor' in (readProperties(book, route.query) ?? {});
  return {
    description: isEmpty ? 'Success; the body is empty.' : 'Success.',
    headers: {
      'X-Request-Id': { $ref: '#/components/headers/RequestId' },
      ...(isPaged ? { Link: { $ref: '#/components/headers/Link' } } : {}),
      ...(isKeyed(route)
        ? { 'Idempotent-Replayed': { $ref: '#/components/headers/IdempotentReplayed' } }
        : {}),
      ...(route.hasDryRun === true
        ? { 'Preference-Applied': { $ref: '#/components/headers/PreferenceApplied' } }
        : {}),
    },
    ...(isEmpty ? {} : { content }),
  };
}

function readProperties(
  book: SchemaBook,
  schema: NonNullable<Route<BaseServices>['query']>,
): JsonObject | undefined {
  return book.describe(schema, 'input')['properties'] as JsonObject | undefined;
}
