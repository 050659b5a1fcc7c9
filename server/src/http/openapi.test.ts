import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { buildOpenapi } from '../../../checks/openapi/build.ts';
import { readExamples } from '../../../checks/openapi/examples.ts';
import { fieldTexts } from '../../../checks/openapi/field-texts.ts';
import { createTestDatabase } from '../../testing/setups/database.ts';
import { createApp } from '../app.ts';
import { readConfig } from '../config.ts';
import { scopes, versions } from '../core/access.ts';
import { codes } from '../core/errors.ts';
import { payoutReasonCodes } from '../payouts/payout-reason.ts';
import { listRoutes } from '../routes.ts';

type Operation = {
  operationId: string;
  tags: string[];
  security: Record<string, string[]>[];
  parameters?: { $ref?: string; name?: string; in?: string; schema?: { enum?: string[] } }[];
  requestBody?: { content: Record<string, { examples?: object }> };
  responses: Record<string, { content?: Record<string, { examples?: object }>; headers?: object }>;
};

type Document = {
  paths: Record<string, Record<string, Operation>>;
  servers: { url: string }[];
  components: { schemas: Record<string, unknown> };
};

const serverUrl = 'https://staging-api.pay.test';
const document = buildOpenapi(listRoutes(), {
  serverUrl,
  examples: readExamples(),
}) as unknown as Document;

function listOperations(): Map<string, Operation> {
  const operations = new Map<string, Operation>();
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      if (!['servers', 'parameters'].includes(method))
        operations.set(`${method.toUpperCase()} ${path}`, operation);
    }
  }
  return operations;
}

function findOperation(operationId: string): Operation {
  for (const operation of listOperations().values()) {
    if (operation.operationId === operationId) return operation;
  }
  throw new Error(`${operationId} is not described`);
}

/** Everything that the whole application registers, as the description would write it. */
async function listServed(): Promise<string[]> {
  const served: string[] = [];
  subscribe('fastify.initialization', (message) => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', ({ method, url }) => {
      const path = url.replace(/^\/:version\([^/]*\)/, '').replaceAll(/:([a-z_]+)/g, '{$1}');
      for (const one of [method].flat()) if (one !== 'HEAD') served.push(`${one} ${path}`);
    });
  });
  const database = await createTestDatabase();
  const dataDirectory = mkdtempSync(join(tmpdir(), 'outlay-openapi-'));
  const config = readConfig({
    DATABASE_URL: database.url,
    OUTLAY_DATA: dataDirectory,
    OUTLAY_LOG_LEVEL: 'silent',
  });
  const app = await createApp(config, { role: 'serve', realNowMs: Date.now });
  await app.close();
  await database.drop();
  rmSync(dataDirectory, { recursive: true });
  return served;
}

test('every route that is served is described, and nothing else is', async () => {
  const served = await listServed();
  assert.ok(served.length > 30, String(served.length));
  // What counterparts of rails say has its description with each rail, and is no client's.
  const ofClients = served
    .filter((route) => !route.includes(' /rails/'))
    .map((route) => route.replace('/console/*', '/console/{path}'));
  assert.deepEqual([...listOperations().keys()].toSorted(), ofClients.toSorted());
});

test('every operation has its own id, one tag that is explained, and a security', () => {
  const operations = [...listOperations().values()];
  const ids = new Set(operations.map((operation) => operation.operationId));
  assert.equal(ids.size, operations.length);
  const { tags } = document as unknown as { tags: { name: string }[] };
  const names = tags.map((tag) => tag.name);
  for (const { operationId, tags: own, security } of operations) {
    assert.ok(own.length === 1 && names.includes(own[0] ?? ''), operationId);
    assert.ok(Array.isArray(security), operationId);
  }
});

test('a protected operation asks for exactly the scope of its route', () => {
  for (const route of listRoutes()) {
    const { security } = findOperation(route.operationId);
    if (route.access === 'public') assert.deepEqual(security, [], route.operationId);
    else if (route.access === 'operator') {
      const wanted = [{ operatorKey: [] }, { operatorSession: [] }];
      assert.deepEqual(security, wanted, route.operationId);
    } else {
      const wanted = route.access === 'bearer' ? [] : [route.access];
      assert.deepEqual(security, [{ oauth2: wanted }, { apiKey: [] }], route.operationId);
    }
  }
  const text = JSON.stringify(document);
  for (const scope of scopes) assert.ok(text.includes(`"${scope}":"`), scope);
});

/** They need a state that the steps of the recording do not reach. */
const notRecorded: ReadonlySet<string> = new Set([
  'decidePayout',
  'decideIdentityAsOperator',
  'decideScreening',
  'clearEntries',
  'endClearance',
  'releaseRecovery',
  'linkSettlements',
  'explainSettlements',
  'closePeriod',
  'viewInboundMessage',
]);

test('every operation of the interface that answers JSON shows a recorded answer', () => {
  for (const route of listRoutes()) {
    if (route.response === null || notRecorded.has(route.operationId)) continue;
    const { responses } = findOperation(route.operationId);
    assert.ok(responses['200']?.content?.['application/json']?.examples, route.operationId);
  }
});

test('every operation with a body shows a recorded request', () => {
  for (const route of listRoutes()) {
    if (route.body === undefined || notRecorded.has(route.operationId)) continue;
    const { requestBody } = findOperation(route.operationId);
    assert.ok(requestBody?.content['application/json']?.examples, route.operationId);
  }
});

test('writes take an Idempotency-Key, lists have a Link, the upload answers nothing', () => {
  const keyed = findOperation('commitPayout').parameters ?? [];
  assert.ok(keyed.some(({ $ref }) => $ref === '#/components/parameters/IdempotencyKey'));
  const list = findOperation('listUserPayouts');
  assert.ok('Link' in (list.responses['200']?.headers ?? {}));
  assert.ok(list.parameters?.some(({ name }) => name === 'metadata'));
  assert.ok(!list.parameters?.some(({ $ref }) => $ref?.endsWith('IdempotencyKey')));
  assert.equal(findOperation('uploadIdImages').responses['200']?.content, undefined);
  const receipt = findOperation('getPayout').responses['200']?.content ?? {};
  assert.deepEqual(Object.keys(receipt), ['application/json', 'application/pdf']);
});

/** Names of fields and parameters without a description, each with the place where it stands. */
function listUndescribed(node: unknown, place: string): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const entries = Object.entries(node as Record<string, Record<string, unknown>>);
  return entries.flatMap(([name, child]) => {
    if (name === 'example' || name === 'examples') return [];
    const below = listUndescribed(child, `${place}/${name}`);
    const isField = place.endsWith('/properties');
    const isParameter = place.endsWith('/parameters') && !('$ref' in child);
    const isBare = (isField || isParameter) && child['description'] === undefined;
    return isBare ? [`${place}/${name}`, ...below] : below;
  });
}

test('every field and every parameter has a description', () => {
  assert.deepEqual(listUndescribed(document, ''), []);
});

test('every shared description is used', () => {
  const text = JSON.stringify(document);
  const unused = Object.entries(fieldTexts).filter(
    ([, described]) => !text.includes(JSON.stringify(described)),
  );
  assert.deepEqual(unused, []);
});

test('the version is a variable of the server, and other operations name their own', () => {
  const { servers, paths } = document as unknown as {
    servers: { url: string; variables: Record<string, { enum: string[] }> }[];
    paths: Record<string, { servers?: { url: string }[] }>;
  };
  assert.deepEqual(
    servers.map(({ url }) => url),
    [`${serverUrl}/{version}`],
  );
  assert.deepEqual(servers[0]?.variables['version']?.enum, versions);
  assert.equal(paths['/account/balance']?.servers, undefined);
  assert.deepEqual(paths['/oauth2/token']?.servers, [{ url: serverUrl }]);
});

test('codes, types and reasons are enums with a name, and the data of an event has a type', () => {
  const { schemas } = document.components as unknown as {
    schemas: Record<string, { enum?: string[]; oneOf?: { $ref: string }[] }>;
  };
  assert.deepEqual(schemas['ProblemCode']?.enum, codes);
  assert.deepEqual(schemas['ReasonCode']?.enum, payoutReasonCodes);
  assert.ok(schemas['DeliveryType']?.enum?.includes('CASH_PICKUP'));
  const kinds = (schemas['Event']?.oneOf ?? []).map(({ $ref }) => $ref.split('/').at(-1));
  assert.ok(kinds.includes('PayoutEvent') && kinds.includes('UserEvent'), String(kinds));
});

test('no parameter with choices of its own has a name that generators derive from its operation', () => {
  // Orval names the choices of `result` and the answer of the operation `ListWebhookDeliveriesResult`.
  const derived = new Set(['result', 'response', 'params', 'body', 'headers', 'data', 'error']);
  const clashes = [...listOperations()].flatMap(([operation, { parameters = [] }]) =>
    parameters
      .filter(({ name = '', schema }) => derived.has(name) && schema?.enum !== undefined)
      .map(({ name }) => `${operation}: ${name}`),
  );
  assert.deepEqual(clashes, []);
});

test('every reference leads somewhere', () => {
  const text = JSON.stringify(document);
  for (const [, pointer = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    let at: unknown = document;
    for (const part of pointer.split('/')) at = (at as Record<string, unknown> | undefined)?.[part];
    assert.ok(at !== undefined, pointer);
  }
  assert.ok(!text.includes('$defs'));
});

test('the address of the server is the one that was asked for', () => {
  assert.ok(JSON.stringify(document).includes(`"tokenUrl":"${serverUrl}/oauth2/token"`));
});

test('no example holds a secret', () => {
  const text = JSON.stringify(readExamples());
  const secrets = text.matchAll(/"(?:access_token|client_secret|api_key)":"(?:test_)?([^"]+)"/g);
  for (const [, secret = ''] of secrets) assert.match(secret, /^x+$/);
});
