import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../testing/setups/database.ts';
import { createKey, createLiveSetup, yesterday } from '../../testing/setups/live.ts';
import { createDatabaseIfAbsent } from '../db/postgres/create-database.ts';

/**
 * Repeated lines are counted for ten seconds, so the short form needs no time: what its requests log
 * is all that these ten seconds may hold. The long form continues beyond them.
 */
const isLong = process.env['OUTLAY_TEST_LONG'] === '1';
const requestsMin = 500;
const outageMs = isLong ? 12_000 : 10_000;
const bytesPerMinuteMax = 1_000_000;

test('during a database outage, a busy service logs less than 1 MB a minute', async (context) => {
  const server = await startTestServer();
  const url = await createDatabaseIfAbsent(server, 'outage');
  const setup = await createLiveSetup({ url, drop: async () => undefined });
  try {
    setup.writeRates(yesterday(), { USD: '1', MXN: '18' });
    const service = await setup.start('all', { OUTLAY_DRAIN_SECONDS: '0' });
    const token = await createKey(service);
    assert.equal((await service.get('/v0.1.4/account/balance', token)).status, 200);
    await server.close();
    service.logged.length = 0;
    const endMs = performance.now() + (isLong ? outageMs : 0);
    const statuses = new Set<number>();
    let requests = 0;
    const drive = async (): Promise<void> => {
      while (requests < requestsMin || performance.now() < endMs) {
        const { status } = await service.get('/v0.1.4/account/balance', token);
        statuses.add(status);
        requests += 1;
      }
    };
    await Promise.all(Array.from({ length: 16 }, drive));
    const bytes = service.logged.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
    assert.deepEqual([...statuses], [503]);
    const perMinute = (bytes * 60_000) / outageMs;
    context.diagnostic(`${requests} requests, ${Math.round(perMinute)} bytes a minute`);
    assert.ok(perMinute < bytesPerMinuteMax, `${perMinute} bytes for ${requests} requests`);
    const metrics = await service.get('/metrics');
    assert.equal(metrics.status, 200);
    assert.match(metrics.text, /outlay_rates_age_seconds/);
    const ready = await service.get('/health/ready');
    assert.deepEqual(
      [ready.status, /live: the database does not answer/.test(ready.text)],
      [503, true],
    );
    await service.close();
    assert.match(service.logged.join(''), /"status":503.*"count":\d{2,}/);
  } finally {
    await setup.close();
  }
});
