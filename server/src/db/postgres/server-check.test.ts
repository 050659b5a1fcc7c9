import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase, type TestDatabase } from '../../../testing/setups/database.ts';
import { createMoneyTest } from '../../../testing/setups/money.ts';
import { openTestNetwork, type TestNetwork } from '../../../testing/setups/network.ts';
import { readRows } from '../../../testing/setups/read-rows.ts';
import { createApp } from '../../app.ts';
import { ConfigError, readConfig } from '../../config.ts';
import { readPassword } from '../embedded/access.ts';
import { ENVIRONMENT, placeIn, prepareCluster } from '../embedded/cluster.ts';
import { startEmbedded } from '../embedded/embedded.ts';
import { createSocketDirectory } from '../embedded/files.ts';
import { readPostmasterFile } from '../embedded/process.ts';
import { connectDatabase } from './pool.ts';
import { findServerFaults } from './server-check.ts';

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

test('a server that keeps what it acknowledges has no faults', async () => {
  assert.deepEqual(await findServerFaults(database.url), []);
});

/** The embedded server's cluster, with a setting that the service itself never lets through. */
async function startUnsafeServer(setting: string): Promise<AsyncDisposable & { url: string }> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'outlay-unsafe-'));
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
  const faults = await findServerFaults(server.url);
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

function findBouncer(): string | undefined {
  for (const path of ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer']) {
    try {
      execFileSync(path, ['--version'], { stdio: 'ignore' });
      return path;
    } catch {
      continue;
    }
  }
  return undefined;
}

type Bouncer = AsyncDisposable & { url: string };

async function startBouncer(mode: string, settings = ''): Promise<Bouncer> {
  const folder = await mkdtemp(join(tmpdir(), 'outlay-bouncer-'));
  await chmod(folder, 0o777);
  const [host, port] = network.address.split(':');
  const url = new URL(database.url);
  const listenPort = await findFreePort();
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(join(folder, 'users.txt'), `"${url.username}" "${url.password}"\n`);
  await writeFile(
    file,
    `[databases]\n* = host=${host} port=${port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n` +
      `listen_port = ${listenPort}\nunix_socket_dir =\nauth_type = trust\n` +
      `auth_file = ${join(folder, 'users.txt')}\npool_mode = ${mode}\ndefault_pool_size = 40\n${settings}`,
  );
  // It does not run as root.
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn(bouncer ?? '', ['-q', ...asUser, file], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await waitForPort(listenPort, child);
  return {
    url: `postgresql://${url.username}@127.0.0.1:${listenPort}${url.pathname}`,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function waitForPort(port: number, child: ChildProcess): Promise<void> {
  for (;;) {
    assert.equal(child.exitCode, null, 'PgBouncer has ended');
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      }).on('error', () => resolve(false));
    });
    if (isOpen) return;
    await sleep(20);
  }
}

const skip = bouncer === undefined ? 'PgBouncer is not installed' : false;

for (const [mode, settings] of [
  ['transaction', ''],
  ['transaction', 'server_round_robin = 1\n'],
  ['statement', ''],
] as const) {
  test(`pooling by ${mode} is refused ${settings}`.trim(), { skip }, async () => {
    await using pooler = await startBouncer(mode, settings);
    const faults = await findServerFaults(pooler.url);
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
  await using pooler = await startBouncer('session');
  assert.deepEqual(await findServerFaults(pooler.url), []);
  await using money = await createMoneyTest();
  const owners = await Promise.all([money.createOwner(), money.createOwner()]);
  const url = new URL(pooler.url);
  url.pathname = new URL(money.url).pathname;
  const db = connectDatabase({ url: url.href, connectionsMax: 3 });
  await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      const { accountId } = owners[index % 2] ?? { accountId: '' };
      const text = 'select id from accounts';
      const seen = await readRows(db.tenant(accountId), { name: 'see_accounts', text });
      assert.deepEqual(seen, [{ id: accountId }]);
    }),
  );
  await db.close();
});
