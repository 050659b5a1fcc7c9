import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fastify, { type FastifyInstance } from 'fastify';
import { openTestHost, type TestHost } from '../../../testing/setups/rail.ts';
import { readRows } from '../../../testing/setups/read-rows.ts';
import { createRateLimiters } from '../../http/limits.ts';
import type { CallbackMessage, CallbackReading, Rail } from '../contract/contract.ts';
import { addRailCallbacks } from './callbacks.routes.ts';
import { countRefusedCallback } from './rail-memory.sql.ts';

const perSecond = 5;
let host: TestHost;
let app: FastifyInstance;
let heard: CallbackMessage | undefined;
before(async () => {
  host = await openTestHost({ name: 'called' });
  app = fastify();
  app.decorateRequest('environmentName', 'staging');
  const rail = {
    name: 'called',
    readCallback: async (message): Promise<CallbackReading> => {
      heard = message;
      return { kind: 'refused', detail: 'unsigned' };
    },
  } as Partial<Rail> as Rail;
  const countRefused = () => countRefusedCallback(host.db.system, 'called');
  const callbackTargets = new Map([['called', { rail, host, countRefused }]]);
  const limits = {
    credentialPerSecond: perSecond,
    addressPerSecond: perSecond,
    expensivePerSecond: perSecond,
  };
  const limiters = createRateLimiters(app, limits, () => 0);
  addRailCallbacks(app, { environments: { staging: { callbackTargets } }, limiters });
});
after(async () => {
  await app.close();
  await host.close();
});

test('refused callbacks are counted, and a flood of them is not written', async () => {
  const call = () => app.inject({ method: 'POST', url: '/rails/called', payload: {} });
  const count = async (): Promise<number> => {
    const text = `select sum(count)::integer as count from rail_refusals where rail = 'called'`;
    const [row] = await readRows<{ count: number | null }>(host.db.system, { name: '', text });
    return row?.count ?? 0;
  };
  for (let calls = 0; calls < 3; calls += 1) await call();
  assert.equal(await count(), 3);
  for (let calls = 0; calls < 100; calls += 1) await call();
  const counted = await count();
  assert.ok(counted >= 3 && counted < 50, `${counted}`);
});

test('a rail reads a callback as it came, with its signature', async () => {
  await app.inject({
    method: 'POST',
    url: '/rails/called/paid?try=2',
    headers: { 'x-signature': 'abc' },
    payload: {},
  });
  const { method, path, query, headers } = heard ?? {};
  assert.deepEqual(
    [method, path, query, headers?.['x-signature']],
    ['POST', '/paid', { try: '2' }, 'abc'],
  );
});
