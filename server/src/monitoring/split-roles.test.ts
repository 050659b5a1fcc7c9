import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  createKey,
  createLiveSetup,
  type LiveApp,
  type LiveSetup,
  waitUntil,
  yesterday,
} from '../../testing/setups/live.ts';

/** A `serve` process and a `work` process on one database. */

/** docs/rates.md promises this many milliseconds. */
const promisedMs = 10_000;

let setup: LiveSetup;
let serve: LiveApp;
let work: LiveApp;
let token: string;
let limitsFile: string;
before(async () => {
  setup = await createLiveSetup();
  limitsFile = join(setup.folder, 'velocity.json');
  writeFileSync(limitsFile, '{"limits":[]}');
  // Before the first import: the table of rates is empty, and no source is configured.
  const limits = { OUTLAY_VELOCITY_LIMITS: limitsFile };
  serve = await setup.start('serve', { ...limits, OUTLAY_RATES_ECB: undefined });
  work = await setup.start('work', limits);
  token = await createKey(serve);
});
after(() => setup.close());

async function quoteRate(): Promise<string | undefined> {
  const { status, text } = await serve.get('/v0.1.4/country/MEX?amount=1000', token);
  assert.equal(status, 200, text);
  return /"exchange_rate":"?([\d.]+)/.exec(text)?.[1];
}

test('a serve process without any usable rate is not ready and gives the reason', async () => {
  const { status, text } = await serve.get('/health/ready');
  assert.equal(status, 503);
  assert.match(text, /live: no exchange rate is usable \(missing or stale: USD\/MXN\)/);
});

describe('changes while the processes run', { concurrency: true }, () => {
  describe('rates', { concurrency: 1 }, () => {
    test('a serve process becomes ready when another process imports rates', async () => {
      setup.writeRates(yesterday(), { USD: '1', MXN: '18.40' });
      assert.equal((await work.app.environments.live?.importRates())?.ok, true);
      await waitUntil(async () => (await serve.get('/health/ready')).status === 200, promisedMs);
      assert.equal(Number(await quoteRate()), 18.4);
    });

    test('a serve process quotes rates that another process imported within ten seconds', async () => {
      setup.writeRates(yesterday(), { USD: '1', MXN: '22.50' });
      assert.equal((await work.app.environments.live?.importRates())?.ok, true);
      await waitUntil(async () => Number(await quoteRate()) === 22.5, promisedMs);
    });
  });

  test('every role applies changed velocity limits, and keeps the old ones if the file is invalid', async () => {
    const limit = { name: 'five a day', per: 'account', windowHours: 24, countMax: 5 };
    writeFileSync(limitsFile, JSON.stringify({ limits: [limit] }));
    const logs = (app: LiveApp, message: string) =>
      app.logged.some((line) => line.includes(message));
    for (const app of [serve, work]) {
      await waitUntil(async () => logs(app, 'velocity limits changed'), promisedMs);
    }
    writeFileSync(limitsFile, '{"limits":[{"name":""}]}');
    for (const app of [serve, work]) {
      await waitUntil(async () => logs(app, 'velocity limits not read'), promisedMs);
    }
  });
});

test('a work process serves health and metrics', async () => {
  assert.equal((await work.get('/health/live')).status, 200);
  assert.equal((await work.get('/health/ready')).status, 200);
  assert.equal((await work.get('/v0.1.4/account/balance', token)).status, 404);
  const { text } = await work.get('/metrics');
  assert.match(text, /outlay_rates_age_seconds\{environment="live",source="ecb"\} \d/);
  assert.match(text, /outlay_payouts_due\{environment="live",rail="cash_mx"\} 0/);
  assert.match(
    text,
    /outlay_database_connections\{environment="live",pool="tenant",state="idle"\}/,
  );
});

test('only a process that sends says whether a rail answers, so that one that never calls it hides no outage', async () => {
  const health = 'outlay_rail_health{environment="live",rail="cash_mx"}';
  assert.ok((await work.get('/metrics')).text.includes(`${health} 1\n`));
  assert.ok(!(await serve.get('/metrics')).text.includes(health));
});
