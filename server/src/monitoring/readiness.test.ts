import assert from 'node:assert/strict';
import { after, before, describe, it, test } from 'node:test';
import pg from 'pg';
import { startTestServer, type TestDatabase } from '../../testing/setups/database.ts';
import {
  createCompany,
  createPayer,
  createRail,
  createRates,
} from '../../testing/setups/destinations.ts';
import { createLiveSetup, type LiveSetup, yesterday } from '../../testing/setups/live.ts';
import { ConfigError } from '../config.ts';
import { getRate } from '../core/rate.ts';
import type { EmbeddedServer } from '../db/embedded/embedded.ts';
import { migrate } from '../db/migrate.ts';
import type { Database } from '../db/postgres/pool.ts';
import { compileCatalog } from '../destinations/catalog.ts';
import { checkReadiness } from './readiness.ts';

const fields = [
  { name: 'now', dataTypeID: pg.types.builtins.TIMESTAMPTZ },
  { name: 'is_known', dataTypeID: pg.types.builtins.BOOL },
];
const answers = {
  checkReady: async () => undefined,
  isDiskFull: () => false,
  tenant: () => ({
    query: async () => ({ fields, rows: [{ now: new Date(), is_known: false }], rowCount: 1 }),
  }),
} as unknown as Database;
const clock = { observe: () => undefined } as never;

function check(currencies: readonly string[], rates: Readonly<Record<string, string>>) {
  const payer = createPayer('one', { currencies });
  const rail = createRail('live_rail', [createCompany('first')], [payer]);
  const book = createRates(
    Object.fromEntries(Object.entries(rates).map(([pair, rate]) => [pair, getRate(rate)])),
  );
  const catalog = compileCatalog([rail]);
  return checkReadiness({ name: 'live', db: answers, clock, catalog, rates: () => book });
}

describe('rates in readiness', () => {
  it('is not ready if no national currency has a usable rate', async () => {
    const { faults } = await check(['MXN', 'COP', 'BTC'], { 'USD/BTC': '0.00001' });
    assert.match(faults.join(), /no exchange rate is usable .*USD\/COP, USD\/MXN/);
  });

  it('is ready with a warning for a stale crypto price or one missing currency', async () => {
    const { faults, warnings } = await check(['MXN', 'COP', 'BTC'], { 'USD/MXN': '18' });
    assert.deepEqual(faults, []);
    assert.deepEqual(warnings, ['live: no usable exchange rate for USD/BTC, USD/COP']);
  });

  it('needs no rate if only USD is delivered', async () => {
    assert.deepEqual(await check(['USD'], {}), { faults: [], warnings: [] });
  });
});

let server: EmbeddedServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.close());

async function run(database: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: server.connectionUrl(database) });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

const given = (url: string): TestDatabase => ({ url, drop: async () => undefined });

async function open(url: string): Promise<LiveSetup> {
  const setup = await createLiveSetup(given(url));
  setup.writeRates(yesterday(), { USD: '1', MXN: '18' });
  return setup;
}

test('without the tenant role or its grants a service is not ready, and a restart restores them', async () => {
  await run('postgres', 'create database healed');
  const setup = await open(server.connectionUrl('healed'));
  try {
    const first = await setup.start('serve');
    await first.app.environments.live?.importRates();
    assert.equal((await first.get('/health/ready')).status, 200);
    await run('healed', 'drop owned by outlay_tenant');
    const refused = await first.get('/health/ready');
    assert.equal(refused.status, 503);
    assert.match(refused.text, /outlay_tenant is missing or lacks grants; run outlay admin doctor/);
    await run(
      'healed',
      'drop role outlay_tenant',
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = 'healed' and pid <> pg_backend_pid()`,
    );
    assert.equal((await first.get('/health/ready')).status, 503);
    await first.close();
    // Several at once, as in a rolling restart.
    const others = await Promise.all([1, 2, 3].map(() => setup.start('serve')));
    for (const other of others) {
      assert.equal((await other.get('/health/ready')).status, 200);
    }
  } finally {
    await setup.close();
  }
});

test('a start that may not create a role prints the statements to run', async () => {
  await run(
    'postgres',
    `create role plain login password 'plain'`,
    'grant outlay_tenant, outlay_service to plain',
    'create database plain owner plain',
  );
  const url = server.connectionUrl('plain').replace(/\/\/[^@]*@/, '//plain:plain@');
  await migrate({ url });
  for (const database of ['plain', 'healed']) await run(database, 'drop owned by outlay_tenant');
  await run('postgres', 'drop role outlay_tenant');
  const setup = await open(url);
  try {
    await assert.rejects(setup.start('serve'), (error: Error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, /^live: roles of the service are missing/);
      assert.match(
        error.message,
        /create role outlay_tenant nologin; grant outlay_tenant to plain;/,
      );
      return true;
    });
    await run('postgres', 'create role outlay_tenant nologin', 'grant outlay_tenant to plain');
    const app = await setup.start('serve');
    await app.app.environments.live?.importRates();
    assert.equal((await app.get('/health/ready')).status, 200);
  } finally {
    await setup.close();
  }
});
