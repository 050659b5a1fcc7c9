import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findNewBouncer, startBouncer } from '../../server/testing/setups/bouncer.ts';
import { createTestDatabase } from '../../server/testing/setups/database.ts';
import { openTestNetwork } from '../../server/testing/setups/network.ts';
import { startLoad } from './load.ts';
import { say } from './machine.ts';
import { assertPaidOnce } from './paid-once.ts';
import { openClient, prepareService } from './service.ts';

/**
 * The pooler between the service and its database dies while clients pay, by a kill and by an orderly
 * stop. Nothing that was acknowledged is lost, nothing is paid twice, and no process of the service is restarted.
 */

const clientsCount = 4;
/** Of acknowledgements, before each end of the pooler. */
const steadyCount = 20;
/** SIGINT lets transactions end and then closes all; SIGTERM would wait for clients to leave. */
const endings = ['SIGKILL', 'SIGINT', 'SIGKILL', 'SIGINT'] as const;

test('a pooler that dies under load loses no acknowledged payout', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-pooler-'));
  const database = await createTestDatabase();
  const network = await openTestNetwork(database.url);
  const pooler = await startBouncer(findNewBouncer(), {
    network,
    url: database.url,
    mode: 'transaction',
    settings: 'default_pool_size = 10\n',
  });
  const service = await prepareService(folder, pooler.url);
  const { serve, work } = service;
  await serve.start();
  await work.start();
  const client = await openClient(service);
  const load = startLoad({ ...client, folder, slots: () => [serve], clientsCount });
  for (const signal of endings) {
    await load.waitForMore(steadyCount);
    const startMs = performance.now();
    await pooler.restart(signal);
    // Answers that were under way still arrive, at most one for each client.
    await load.waitForMore(clientsCount + 1);
    const pauseMs = Math.round(performance.now() - startMs);
    say(`${signal} of the pooler; acknowledged again after ${pauseMs} ms`);
  }
  await load.waitForMore(steadyCount);
  await load.stop();
  const { acknowledged, broken, failed, failure } = load.counts;
  const { api, credentials } = client.account;
  const accountId = credentials.account;
  await assertPaidOnce({ service, accountId, api, load, url: database.url });
  for (const slot of [serve, work]) {
    assert.ok(slot.isUp() && slot.startsMs.length === 1, `${slot.name} was restarted`);
  }
  await service.close();
  await pooler[Symbol.asyncDispose]();
  await network.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  // Errors other than 503, which clients repeat.
  assert.deepEqual({ broken, failed }, { broken: 0, failed: 0 }, failure);
  say(`${acknowledged} acknowledged, 0 lost, 0 paid twice`);
});
