import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify';

/** A common generator makes a server stub of the description that starts, routes and validates. */

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../../..');
const command = join(root, 'node_modules/fastify-openapi-glue/bin/openapi-glue-cli.js');

let folder: string;
let server: FastifyInstance;
const called: string[] = [];
const health = { status: 'ok', protocol: '1' };

type Stub = { readonly default: FastifyPluginAsync; readonly options: object };
/** What the generator leaves to write, beside the authentication. */
type Generated = { prototype: Record<string, () => Promise<unknown>> };

before(async () => {
  // Inside of the repository, because the stub imports packages.
  const parent = join(root, 'node_modules/.cache');
  await mkdir(parent, { recursive: true });
  folder = await mkdtemp(join(parent, 'partner-stub-'));
  const description = join(root, 'docs/partner-openapi.yaml');
  const args = [command, description, '-p', 'stub', '-b', folder];
  await run(process.execPath, args);
  const load = (name: string): Promise<unknown> =>
    import(pathToFileURL(join(folder, 'stub', name)).href);
  const { Service } = (await load('service.js')) as { Service: Generated };
  const { Security } = (await load('security.js')) as { Security: Generated };
  for (const name of ['initialize', 'signature', 'hmac', 'certificate']) {
    Security.prototype[name] = async () => undefined;
  }
  for (const name of Object.getOwnPropertyNames(Service.prototype)) {
    if (name === 'constructor') continue;
    Service.prototype[name] = async () => {
      called.push(name);
      return name === 'getHealth' ? health : {};
    };
  }
  const stub = (await load('index.js')) as Stub;
  server = Fastify(stub.options);
  await server.register(stub.default);
});
after(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const order = {
  reference: 'ref-1',
  payer: 'cash',
  country: 'MEX',
  delivery_type: 'CASH_PICKUP',
  amount: '150.00',
  currency: 'MXN',
  destination: {},
  beneficiary: { first_name: 'María', last_name: 'García' },
  originator: { id: 'account', name: 'Example Ltd' },
  available_at: '2030-01-15T18:00:00.000Z',
  callback_url: 'https://outlay.example/rails/cash',
};

test('every operation of the description has a route in the stub', async () => {
  await server.inject({ method: 'PUT', url: '/payments/ref-1', body: order });
  await server.inject({ method: 'GET', url: '/payments/ref-1' });
  const cancel = { reference: 'ref-1', amount: '150.00', currency: 'MXN' };
  await server.inject({ method: 'POST', url: '/payments/ref-1/cancel', body: cancel });
  await server.inject({ method: 'GET', url: '/events/0' });
  const batch = { batch: 'batch-1', orders: [order, { ...order, reference: 'ref-2' }] };
  await server.inject({ method: 'PUT', url: '/batches/batch-1', body: batch });
  await server.inject({ method: 'GET', url: '/batches/batch-1' });
  const answer = await server.inject({ method: 'GET', url: '/health' });
  assert.deepEqual([answer.statusCode, answer.json()], [200, health]);
  assert.deepEqual(called.toSorted(), [
    'cancelPayment',
    'getBatch',
    'getHealth',
    'getPayment',
    'listEvents',
    'orderBatch',
    'orderPayment',
  ]);
});

test('the stub refuses a batch that the description does not permit', async () => {
  for (const body of [
    { batch: 'batch-1', orders: [] },
    { batch: 'batch-1', orders: [{ ...order, amount: 'much' }] },
    { orders: [order] },
  ]) {
    const answer = await server.inject({ method: 'PUT', url: '/batches/batch-1', body });
    assert.equal(answer.statusCode, 400, answer.body);
  }
});

test('the stub refuses an order that the description does not permit', async () => {
  for (const body of [
    { ...order, payer: undefined },
    { ...order, amount: 'much' },
  ]) {
    const answer = await server.inject({ method: 'PUT', url: '/payments/ref-1', body });
    assert.equal(answer.statusCode, 400, answer.body);
  }
});
