import assert from 'node:assert/strict';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freezeSchema } from '../../server/src/db/migrate.ts';
import { createTestDatabase } from '../../server/testing/setups/database.ts';
import { findFreePort, startProcess } from '../rails-trial/processes.ts';
import { createSlot, type Slot, type SlotOptions } from '../rails-trial/service-slots.ts';
import { openBooks } from '../reliability-kit.ts';
import { Api, testSettings } from '../service.ts';
import { startLoad } from './load.ts';
import { say } from './machine.ts';
import { assertPaidOnce } from './paid-once.ts';
import { openClient, prepareService } from './service.ts';

/**
 * The next release migrates under the load of this one, and replaces it process by process; no request
 * fails. The next release is this program with one more migration.
 */

const root = join(import.meta.dirname, '../..');
const acknowledgedAtOnce = 40;
const clientsCount = 4;

/** Columns for tables that every payout reads and writes, an index, and a replaced function. */
const migration = `-- works beside schema 0001
alter table accounts add column drill_note text;
alter table payout_quotes add column drill_note text;
alter table payout_states add column drill_note text;
alter table payout_dispatches add column drill_note text;
alter table attempts add column drill_note text;
create index drill_accounts on accounts (drill_note);
create or replace function is_recovering() returns boolean
language sql stable as $$
  select exists (select from recoveries where closed_at is null and true);
$$;
`;

/** Resolves with its entry point. */
async function makeNextRelease(folder: string): Promise<string> {
  const next = join(folder, 'next');
  mkdirSync(next);
  cpSync(join(root, 'server/src'), join(next, 'server/src'), { recursive: true });
  cpSync(join(root, 'server/package.json'), join(next, 'server/package.json'));
  cpSync(join(root, 'package.json'), join(next, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(next, 'node_modules'));
  const migrations = join(next, 'server/src/db/migrations');
  await freezeSchema(migrations);
  writeFileSync(join(migrations, '0002_drill.sql'), migration);
  return join(next, 'server/src/main.ts');
}

/** As a load balancer does: the processes whose readiness is 200, looked at ten times a second. */
function balance(slots: readonly Slot[], signal: AbortSignal): () => readonly Slot[] {
  const ready = new Set<Slot>();
  const look = async (slot: Slot): Promise<void> => {
    while (!signal.aborted) {
      const status = await fetch(`${slot.baseUrl}/health/ready`).then(
        (reply) => reply.status,
        () => 0,
      );
      if (status === 200) ready.add(slot);
      else ready.delete(slot);
      await sleep(100);
    }
  };
  for (const slot of slots) void look(slot);
  return () => [...ready];
}

test('a release replaces the one before it under load, and no request fails', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-upgrade-'));
  const database = await createTestDatabase();
  const service = await prepareService(folder, database.url, {
    OUTLAY_SHUTDOWN_DELAY_SECONDS: '2',
  });
  const { serve, work, settings } = service;
  const create = async (options: Pick<SlotOptions, 'name' | 'role'> & { program?: string }) =>
    createSlot({ folder, settings, port: await findFreePort(), ...options });
  const program = await makeNextRelease(folder);
  const again = await create({ name: 'again', role: 'serve' });
  const nextServe = await create({ name: 'next-serve', role: 'serve', program });
  const nextWork = await create({ name: 'next-work', role: 'work', program });
  await serve.start();
  await work.start();
  const client = await openClient(service);
  const over = new AbortController();
  const slots = balance([serve, again, nextServe], over.signal);
  const load = startLoad({ ...client, folder, slots, clientsCount });
  await load.waitForMore(acknowledgedAtOnce);

  const migrating = startProcess({
    args: [program, 'migrate'],
    logFile: join(folder, 'migrate.log'),
    isReady: () => false,
    env: { ...testSettings(join(folder, 'migrate')), ...settings },
  });
  await migrating.ended;
  assert.equal(migrating.child.exitCode, 0, 'migrate failed');
  const books = openBooks(database.url);
  const rows = await books.rows<{ count: number }>(
    'select count(*)::integer as count from migrations',
  );
  await books.close();
  assert.equal(rows[0]?.count, 2);
  assert.deepEqual(await readLoggedVersions(database.url), [[2]]);
  say('migrated; the older processes continue');
  await load.waitForMore(acknowledgedAtOnce);
  // A process of the older release that is restarted meanwhile works as well.
  await again.start();
  await nextServe.start();
  await nextWork.start();
  await load.waitForMore(acknowledgedAtOnce);
  say('both releases side by side; the older one stops');
  await Promise.all([serve.stop(), work.stop()]);
  await load.waitForMore(acknowledgedAtOnce);
  await again.stop();
  await load.waitForMore(acknowledgedAtOnce);
  await load.stop();
  over.abort();

  const { acknowledged, broken, failed, failure, unavailable } = load.counts;
  const { api, credentials } = client.account;
  const ours = new Api(nextServe.baseUrl, api.token);
  const accountId = credentials.account;
  await assertPaidOnce({ service, accountId, api: ours, load, url: database.url });
  for (const slot of [nextServe, nextWork]) await slot.stop();
  await service.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  assert.deepEqual(
    { broken, failed, unavailable },
    { broken: 0, failed: 0, unavailable: 0 },
    failure,
  );
  say(`${acknowledged} acknowledged, 0 requests failed`);
});

test('a command that only reads may be the first one of a release', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-upgrade-'));
  const database = await createTestDatabase();
  const run = async (program: string): Promise<void> => {
    const { ended, child } = startProcess({
      args: [program, 'status'],
      logFile: join(folder, 'status.log'),
      isReady: () => false,
      env: { ...testSettings(join(folder, 'data')), DATABASE_URL: database.url },
    });
    await ended;
    assert.equal(child.exitCode, 0, readFileSync(join(folder, 'status.log'), 'utf8'));
  };
  try {
    await run(join(root, 'server/src/main.ts'));
    await run(await makeNextRelease(folder));
    assert.deepEqual(await readLoggedVersions(database.url), [[2]]);
  } finally {
    await database.drop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

/** The versions of each entry about a migration in the audit log. */
async function readLoggedVersions(url: string): Promise<unknown[]> {
  const books = openBooks(url);
  const rows = await books.rows<{ state_after: string }>(
    `select state_after from audit_entries where action = 'migrate'`,
  );
  await books.close();
  return rows.map(({ state_after: after }) => JSON.parse(after).versions);
}
