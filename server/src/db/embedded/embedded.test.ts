import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { copyCluster } from '../../../testing/setups/prepared-cluster.ts';
import { type EmbeddedServer, makeDataFolder, startEmbedded } from './embedded.ts';

/** A service in a process of its own: starts the database, prints its pid, then waits for commands. */
const SERVICE = `
import pg from 'pg';
import { startEmbedded } from ${JSON.stringify(join(import.meta.dirname, 'embedded.ts'))};
const server = await startEmbedded({ dataDirectory: process.argv[1] });
const client = new pg.Client({ connectionString: server.connectionUrl('postgres') });
client.on('error', () => undefined);
await client.connect();
await client.query('create table if not exists acknowledged (id int primary key)');
console.log(server.processId + ' ' + server.socketDirectory);
for (let id = 1; ; id++) {
  await client.query('insert into acknowledged values ($1)', [id]);
  console.log(String(id));
}
`;

const folders: string[] = [];
const services: ChildProcess[] = [];

after(async () => {
  for (const service of services) service.kill('SIGKILL');
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'outlay-embedded-'));
  folders.push(folder);
  return folder;
}

/** Tests that are not about how a cluster is made begin with a copy. */
async function makeFolderWithCluster(): Promise<string> {
  const dataDirectory = await makeFolder();
  await copyCluster(dataDirectory);
  return dataDirectory;
}

async function query(server: EmbeddedServer, statement: string): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client({ connectionString: server.connectionUrl('postgres') });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<pg.QueryResultRow>(statement)).rows;
  } finally {
    await client.end();
  }
}

interface StartedService {
  service: ChildProcess;
  databaseProcessId: number;
  socketDirectory: string;
  lines: AsyncIterator<string>;
}

async function startService(dataDirectory: string): Promise<StartedService> {
  const service = spawn(
    process.execPath,
    ['--input-type=module-typescript', '-e', SERVICE, dataDirectory],
    { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  services.push(service);
  const lines = createInterface({ input: service.stdout })[Symbol.asyncIterator]();
  const [pid = '', socketDirectory = ''] = String((await lines.next()).value).split(' ');
  return { service, databaseProcessId: Number(pid), socketDirectory, lines };
}

/** Kills the service without warning, and returns the last insert that it saw acknowledged. */
async function killService({ service, lines }: StartedService): Promise<number> {
  let last = 0;
  while (last < 50) last = Number((await lines.next()).value);
  service.kill('SIGKILL');
  for (;;) {
    const next = await lines.next();
    if (next.done === true) return last;
    last = Number(next.value);
  }
}

/** The number of a process that has ended stays taken until its parent asks; its files go at once. */
async function waitUntilGone(path: string): Promise<void> {
  while (existsSync(path)) await sleep(10);
}

/** More than 150 bytes, so that neither initdb nor a socket may depend on it. */
const longPath = join('long '.repeat(20), 'påth'.repeat(20));

test('a first start makes a durable database in a folder with a long path, and a second one finds it', async () => {
  const dataDirectory = join(await makeFolder(), longPath);
  const reports: string[] = [];
  const first = await startEmbedded({ dataDirectory, report: (line) => reports.push(line) });
  const settings = await query(
    first,
    `select name, setting from pg_settings where name in
      ('data_checksums', 'fsync', 'synchronous_commit', 'full_page_writes', 'listen_addresses',
       'server_encoding', 'jit')`,
  );
  assert.deepEqual(Object.fromEntries(settings.map(({ name, setting }) => [name, setting])), {
    data_checksums: 'on',
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    listen_addresses: '',
    server_encoding: 'UTF8',
    jit: 'off',
  });
  assert.equal(statSync(first.socketDirectory).mode & 0o077, 0);
  await query(first, 'create table kept (id int); insert into kept values (7)');
  await first.close();
  await first.close();
  assert.ok(!existsSync(first.socketDirectory));
  assert.ok(reports.some((line) => line.includes('Creating')));

  reports.length = 0;
  const second = await startEmbedded({ dataDirectory, report: (line) => reports.push(line) });
  assert.deepEqual(await query(second, 'select id from kept'), [{ id: 7 }]);
  await second.close();
  assert.deepEqual(reports, []);
});

type Ended = { dataDirectory: string; pidFile: string; pidText: string; acknowledged: number };

let killedOnce: Promise<Omit<Ended, 'pidFile'>> | undefined;

/** A service is killed once, and its server stops by itself; each test continues on a copy. */
async function copyAfterKill(): Promise<Ended> {
  const kill = async (): Promise<Omit<Ended, 'pidFile'>> => {
    const dataDirectory = await makeFolderWithCluster();
    const killed = await startService(dataDirectory);
    const pidFile = join(dataDirectory, 'postgres', 'postmaster.pid');
    const pidText = readFileSync(pidFile, 'utf8');
    const acknowledged = await killService(killed);
    await waitUntilGone(pidFile);
    await waitUntilGone(killed.socketDirectory);
    return { dataDirectory, pidText, acknowledged };
  };
  const [{ dataDirectory: former, pidText, acknowledged }, dataDirectory] = [
    await (killedOnce ??= kill()),
    await makeFolder(),
  ];
  execFileSync('cp', ['-a', `${former}/.`, dataDirectory]);
  return {
    dataDirectory,
    acknowledged,
    pidFile: join(dataDirectory, 'postgres', 'postmaster.pid'),
    pidText: pidText.replace(former, dataDirectory),
  };
}

test('after kill -9 the database stops by itself, and the next start has every acknowledged row', async () => {
  const { dataDirectory, acknowledged } = await copyAfterKill();
  const server = await startEmbedded({ dataDirectory });
  const [row] = await query(server, 'select count(*)::int as count from acknowledged');
  assert.ok(row?.['count'] >= acknowledged, `${row?.['count']} of ${acknowledged} rows`);
  await server.close();
});

test('a start right after kill -9 takes over from the server that is still there', async () => {
  const dataDirectory = await makeFolderWithCluster();
  const killed = await startService(dataDirectory);
  const acknowledged = await killService(killed);
  const server = await startEmbedded({ dataDirectory });
  assert.notEqual(server.processId, killed.databaseProcessId);
  const [row] = await query(server, 'select count(*)::int as count from acknowledged');
  assert.ok(row?.['count'] >= acknowledged);
  await server.close();
  await waitUntilGone(killed.socketDirectory);
});

test('a pid file whose number another process got does not stop a start', async () => {
  const { dataDirectory, pidFile, pidText } = await copyAfterKill();
  // PostgreSQL looks only at processes of its own user.
  const { uid, gid } = statSync(join(dataDirectory, 'postgres'));
  const identity = process.getuid?.() === 0 ? { uid, gid } : {};
  const stranger = spawn('/bin/sleep', ['60'], { ...identity, cwd: '/', stdio: 'ignore' });
  services.push(stranger);
  writeFileSync(pidFile, pidText.replace(/^\d+/, String(stranger.pid)));

  const server = await startEmbedded({ dataDirectory });
  await server.close();
  assert.equal(stranger.exitCode ?? stranger.signalCode, null);
});

test('a pid file of a server that ended without being waited for does not stop a start', async () => {
  const { dataDirectory, pidFile, pidText } = await copyAfterKill();
  // As in a container whose first process waits for no child: exec leaves the child to such a parent.
  const { uid, gid } = statSync(join(dataDirectory, 'postgres'));
  const identity = process.getuid?.() === 0 ? { uid, gid } : {};
  const parent = spawn('/bin/sh', ['-c', 'sleep 0 & echo $!; exec sleep 60'], {
    ...identity,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  services.push(parent);
  const [ended] = (await once(parent.stdout, 'data')) as [Buffer];
  writeFileSync(pidFile, pidText.replace(/^\d+/, ended.toString().trim()));

  const server = await startEmbedded({ dataDirectory });
  await server.close();
});

test('a second service on the same folder is refused by name, and the first one continues', async () => {
  const dataDirectory = await makeFolderWithCluster();
  const first = await startEmbedded({ dataDirectory });
  await assert.rejects(startEmbedded({ dataDirectory }), {
    name: 'EmbeddedDatabaseError',
    message: new RegExp(`Another Outlay service \\(process ${process.pid}, .* OUTLAY_DATA`),
  });
  assert.deepEqual(await query(first, 'select 1 as one'), [{ one: 1 }]);
  await first.close();
});

test('a folder of another major version, and one that cannot be made, are explained', async () => {
  const dataDirectory = await makeFolderWithCluster();
  const server = await startEmbedded({ dataDirectory });
  await server.close();
  writeFileSync(join(dataDirectory, 'postgres', 'PG_VERSION'), '12\n');
  await assert.rejects(startEmbedded({ dataDirectory }), {
    name: 'EmbeddedDatabaseError',
    message: /PostgreSQL 12.*PostgreSQL 18/,
  });
  const file = join(dataDirectory, 'postgres', 'PG_VERSION');
  await assert.rejects(startEmbedded({ dataDirectory: join(file, 'below') }), {
    name: 'EmbeddedDatabaseError',
    message: /cannot be used.*OUTLAY_DATA/,
  });
  // The service makes its folder before it starts the server.
  const unusable = process.platform === 'linux' ? ['/proc/x/y', '/proc'] : [];
  for (const folder of [file, join(file, 'below'), ...unusable]) {
    assert.throws(() => makeDataFolder(folder, { isGuest: false }), {
      name: 'EmbeddedDatabaseError',
      message: /cannot be used.*OUTLAY_DATA/,
    });
  }
});

/** Asks until the server answers again. */
async function queryUntilBack(server: EmbeddedServer, statement: string) {
  for (const endMs = performance.now() + 60_000; ; ) {
    try {
      return await query(server, statement);
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await sleep(50);
    }
  }
}

describe('a server that ends', { concurrency: true }, () => {
  test('a server that stops by itself is started again at the same address', async () => {
    const dataDirectory = await makeFolderWithCluster();
    const reports: string[] = [];
    const server = await startEmbedded({ dataDirectory, report: (line) => reports.push(line) });
    await query(server, 'create table kept (id int); insert into kept values (7)');
    const url = server.connectionUrl('postgres');
    for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
      const former = server.processId;
      process.kill(former, signal);
      while (server.processId === former) await sleep(10);
      assert.deepEqual(await queryUntilBack(server, 'select id from kept'), [{ id: 7 }]);
    }
    assert.equal(server.connectionUrl('postgres'), url);
    assert.ok(reports.some((line) => /The database stopped: .* Starting it again/.test(line)));
    await server.close();
    assert.ok(!existsSync(server.socketDirectory));
  });

  test('a server that cannot be started again is reported', async () => {
    const dataDirectory = await makeFolderWithCluster();
    const server = await startEmbedded({ dataDirectory });
    process.kill(server.processId, 'SIGQUIT');
    await rm(join(dataDirectory, 'postgres', 'global', 'pg_control'));
    assert.match((await server.failed).message, /The database stopped/);
    assert.ok(!existsSync(server.socketDirectory));
    await server.close();
  });

  test('a server that stopped on a full disk runs again when there is room', async (context) => {
    const dataDirectory = await makeFolder();
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=100m', 'outlay-test', dataDirectory], {
        stdio: 'ignore',
      });
    } catch {
      context.skip('a file system of its own cannot be mounted here');
      return;
    }
    try {
      await copyCluster(dataDirectory);
      const reports: string[] = [];
      const server = await startEmbedded({ dataDirectory, report: (line) => reports.push(line) });
      await query(server, 'create table kept (id int); insert into kept values (7)');
      await query(server, 'create table large (text text)');
      const former = server.processId;
      const fill = join(dataDirectory, 'fill');
      const { bavail, bsize } = statfsSync(dataDirectory);
      writeFileSync(fill, Buffer.alloc(bavail * bsize - 8 * 1024 * 1024));
      // Not compressible, so that most of the work is what fills the disk.
      const grow = 'insert into large select md5(random()::text) from generate_series(1, 100000)';
      // Rows alone meet an error; the write-ahead log, which has no room either, stops the server.
      while (server.processId === former && !reports.some((line) => line.includes('is full'))) {
        await query(server, grow).catch(() => undefined);
        await query(server, 'truncate large').catch(() => undefined);
      }
      while (!reports.some((line) => line.includes('when its disk has room'))) await sleep(10);
      await rm(fill);
      assert.deepEqual(await queryUntilBack(server, 'select id from kept'), [{ id: 7 }]);
      await query(server, 'insert into kept values (8)');
      await server.close();
    } finally {
      execFileSync('umount', [dataDirectory]);
    }
  });
});

test('a temporary server leaves nothing behind', async () => {
  const dataDirectory = join(await makeFolder(), 'temporary');
  await copyCluster(dataDirectory);
  const server = await startEmbedded({ dataDirectory, temporary: true });
  await server.close();
  assert.ok(!existsSync(dataDirectory));
});
