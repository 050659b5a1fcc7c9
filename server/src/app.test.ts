import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../testing/setups/database.ts';
import { openOwner } from '../testing/setups/owner-session.ts';
import { readRows } from '../testing/setups/read-rows.ts';
import { createApp } from './app.ts';
import { ConfigError, type Role, readConfig } from './config.ts';

/** How a process starts, stops, and gives way to a newer release. */

let database: TestDatabase;
let dataDirectory: string;
before(async () => {
  database = await createTestDatabase();
  dataDirectory = mkdtempSync(join(tmpdir(), 'outlay-app-'));
});
after(async () => {
  await database.drop();
  rmSync(dataDirectory, { recursive: true });
});

async function start(role: Role, settings: Record<string, string> = {}) {
  const config = readConfig({
    DATABASE_URL: database.url,
    OUTLAY_DATA: dataDirectory,
    OUTLAY_LOG_LEVEL: 'silent',
    PORT: '0',
    ...settings,
  });
  const app = await createApp(config, { role, realNowMs: Date.now });
  const { baseUrl, stagingFile = '' } = await app.listen();
  const { api_key } = JSON.parse(readFileSync(stagingFile, 'utf8')) as { api_key: string };
  return { app, ask: (path: string) => get(baseUrl + path, api_key) };
}

async function get(url: string, key: string): Promise<{ status: number; detail: string }> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  const body = (await response.json()) as { detail?: string };
  return { status: response.status, detail: body.detail ?? '' };
}

const country = '/v0.1.4/country/list';

async function run(text: string): Promise<void> {
  const owner = openOwner(database.url);
  await readRows(owner.session, { name: '', text });
  await owner.close();
}

test('a process that stops is not ready at once, and serves until its delay is over', async () => {
  const { app, ask } = await start('serve', { OUTLAY_SHUTDOWN_DELAY_SECONDS: '1' });
  assert.equal((await ask('/health/ready')).status, 200);
  const before = (await ask(country)).status;
  assert.notEqual(before, 503);
  const closing = app.close();
  const ready = await ask('/health/ready');
  assert.deepEqual([ready.status, ready.detail], [503, 'The service is stopping.']);
  assert.equal((await ask('/health/live')).status, 200);
  assert.equal((await ask(country)).status, before);
  await closing;
  await assert.rejects(ask('/health/live'));
});

test('what is stopped is known before the first request', async () => {
  const freeze = `'{"id":"00000000-0000-7000-8000-00000000000f","scope":"sending","reason":"a test","frozen_by":"ada"}'`;
  const config = readConfig({
    DATABASE_URL: database.url,
    OUTLAY_DATA: dataDirectory,
    OUTLAY_LOG_LEVEL: 'silent',
    PORT: '0',
  });
  await run(`select create_freeze(${freeze})`);
  const app = await createApp(config, { role: 'serve', realNowMs: Date.now });
  try {
    const stops = app.environments.staging?.stops.list('00000000-0000-7000-8000-0000000000aa');
    const facts = { country: 'MEX', deliveryType: 'BANK_DEPOSIT', currency: 'MXN', rails: [] };
    assert.equal(stops?.find(facts), 'sending_stopped');
  } finally {
    await app.close();
    await run(`select lift_freeze('00000000-0000-7000-8000-00000000000f', 'bob', 'over')`);
  }
});

test('a process whose database a newer release has migrated takes no more work', async () => {
  const { app, ask } = await start('all');
  assert.equal((await ask('/health/ready')).status, 200);
  await run(`insert into migrations (version, name, hash, works_beside)
    values (999999, 'newer', '', 999999)`);
  try {
    const ready = await ask('/health/ready');
    assert.equal(ready.status, 503);
    assert.match(ready.detail, /newer release has migrated the database/);
    const refused = await ask(country);
    assert.equal(refused.status, 503);
    assert.match(refused.detail, /newer release has migrated the database/);
    assert.equal((await ask('/health/live')).status, 200);
    // Whatever background work was under way ends, and none begins.
    await app.environments.staging?.dispatcher.settle();
  } finally {
    await run('delete from migrations where version = 999999');
    await app.close();
  }
});

test('a failure of old code on a newer database is answered with 503, not 500', async () => {
  const { app, ask } = await start('serve');
  const balance = '/v0.1.4/account/balance';
  assert.equal((await ask(balance)).status, 200);
  // Asked at once, before the next regular look at the version.
  await run(`do $$ begin
    insert into migrations (version, name, hash, works_beside)
    values (999999, 'newer', '', 999999);
    alter table ledger_accounts rename to newer_accounts;
  end $$`);
  try {
    const refused = await ask(balance);
    assert.equal(refused.status, 503);
    assert.match(refused.detail, /newer release has migrated the database/);
  } finally {
    await run(`do $$ begin
      delete from migrations where version = 999999;
      alter table newer_accounts rename to ledger_accounts;
    end $$`);
    await app.close();
  }
});

test('several hosts are taken, and a wrong URL is one line without the password', () => {
  readConfig({ DATABASE_URL: 'postgresql://u@h1:5432,h2:5432/db?target_session_attrs=read-write' });
  assert.throws(
    () => readConfig({ DATABASE_URL: 'postgresql://u:secret@h1:x/db' }),
    (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, /^DATABASE_URL each host must be a name or address/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    },
  );
});
