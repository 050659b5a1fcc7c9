import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { findBouncer, startBouncer } from '../../../testing/setups/bouncer.ts';
import { createTestDatabase, type TestDatabase } from '../../../testing/setups/database.ts';
import { createMoneyTest } from '../../../testing/setups/money.ts';
import { openTestNetwork, type TestNetwork } from '../../../testing/setups/network.ts';
import { copyCluster } from '../../../testing/setups/prepared-cluster.ts';
import { readRows } from '../../../testing/setups/read-rows.ts';
import { untilAdmitted } from '../../../testing/setups/until-admitted.ts';
import { createApp } from '../../app.ts';
import { ConfigError, readConfig } from '../../config.ts';
import { readPassword } from '../embedded/access.ts';
import { ENVIRONMENT, placeIn, prepareCluster } from '../embedded/cluster.ts';
import { startEmbedded } from '../embedded/embedded.ts';
import { createSocketDirectory } from '../embedded/files.ts';
import { readPostmasterFile } from '../embedded/process.ts';
import { connectDatabase } from './pool.ts';
import { inspectServer, type ServerFault } from './server-check.ts';

/** What the start refuses, with a real PgBouncer where one is installed. */

let database: TestDatabase;
let network: TestNetwork;
before(async () => {
  database = await createTestDatabase();
  network = await openTestNetwork(database.url);
});
after(async () => {
  await network.close();
  await database.drop();
});

const findFaults = async (url: string): Promise<readonly ServerFault[]> =>
  (await inspectServer(url)).faults;

test('a server that keeps what it acknowledges has no faults', async () => {
  assert.deepEqual(await findFaults(database.url), []);
});

/** The embedded server's cluster, with a setting that the service itself never lets through. */
async function startUnsafeServer(setting: string): Promise<AsyncDisposable & { url: string }> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'outlay-unsafe-'));
  await copyCluster(dataDirectory);
  const safe = await startEmbedded({ dataDirectory });
  await safe.close();
  const cluster = await prepareCluster(dataDirectory, () => undefined);
  const { path, cwd } = placeIn(cluster.owner, cluster.directory);
  const socketDirectory = createSocketDirectory(cluster.owner);
  const settings = [setting, 'listen_addresses=', `unix_socket_directories=${socketDirectory}`];
  const child = spawn(
    cluster.binaries.postgres,
    ['-D', path, ...settings.flatMap((one) => ['-c', one])],
    { ...cluster.owner, cwd, env: ENVIRONMENT, stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => child.once('exit', resolve));
  while (readPostmasterFile(cluster.directory)?.status !== 'ready') await sleep(20);
  return {
    url: `postgresql://outlay:${readPassword(dataDirectory)}@localhost/postgres?host=${encodeURIComponent(socketDirectory)}`,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGQUIT');
      await ended;
      await rm(dataDirectory, { recursive: true, force: true });
      await rm(socketDirectory, { recursive: true, force: true });
    },
  };
}

test('live refuses a server that loses what it acknowledged, unless its storage is trusted', async () => {
  await using server = await startUnsafeServer('fsync=off');
  const faults = await findFaults(server.url);
  assert.deepEqual(
    faults.map(({ kind }) => kind),
    ['durability'],
  );
  assert.match(faults[0]?.text ?? '', /fsync is off.*set fsync = on/);
  const dataDirectory = await mkdtemp(join(tmpdir(), 'outlay-unsafe-data-'));
  const settings = {
    OUTLAY_DATA: dataDirectory,
    OUTLAY_LOG_LEVEL: 'silent',
    OUTLAY_ENVIRONMENTS: 'live',
    OUTLAY_DEFAULT_ENVIRONMENT: 'live',
    OUTLAY_LIVE_DATABASE_URL: server.url,
  };
  const start = (changes: Record<string, string>) =>
    createApp(readConfig({ ...settings, ...changes }), { role: 'serve', realNowMs: Date.now });
  await assert.rejects(start({}), (error) => {
    assert.ok(error instanceof ConfigError);
    return error.message.startsWith('live: fsync is off');
  });
  const app = await start({ OUTLAY_DATABASE_DURABILITY: 'trusted' });
  await app.close();
  await rm(dataDirectory, { recursive: true, force: true });
});

const bouncer = findBouncer();

const skip = bouncer === undefined ? 'PgBouncer is not installed' : false;

for (const [mode, settings] of [
  ['transaction', ''],
  ['transaction', 'server_round_robin = 1\n'],
  ['statement', ''],
] as const) {
  test(`pooling by ${mode} is refused ${settings}`.trim(), { skip }, async () => {
    await using pooler = await startBouncer(bouncer, {
      network,
      url: database.url,
      mode,
      settings,
    });
    const faults = await findFaults(pooler.url);
    assert.deepEqual(
      faults.map(({ kind }) => kind),
      ['pooling'],
    );
    assert.match(faults[0]?.text ?? '', /pool_mode = session/);
  });
}

test('pooling by session works without settings of its own, tenants included', {
  skip,
}, async () => {
  await using pooler = await startBouncer(bouncer, { network, url: database.url, mode: 'session' });
  assert.deepEqual(await findFaults(pooler.url), []);
  await using money = await createMoneyTest();
  const owners = await Promise.all([money.createOwner(), money.createOwner()]);
  const url = new URL(pooler.url);
  url.pathname = new URL(money.url).pathname;
  const db = connectDatabase({ url: url.href, connectionsMax: 3 });
  await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      const { accountId } = owners[index % 2] ?? { accountId: '' };
      const text = 'select id from accounts';
      const statement = { name: 'see_accounts', text };
      const seen = await untilAdmitted(() => readRows(db.tenant(accountId), statement));
      assert.deepEqual(seen, [{ id: accountId }]);
    }),
  );
  await db.close();
});
