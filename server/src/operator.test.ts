import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

const main = join(import.meta.dirname, 'main.ts');

function runAsRoot(words: readonly string[], settings: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-root-'));
  try {
    return spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...words], {
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        OUTLAY_DATA: folder,
        PORT: '0',
        ...settings,
      },
      encoding: 'utf8',
      timeout: 60_000,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const unreachable = 'postgresql://outlay@127.0.0.1:2/outlay';

test('live refuses to start as root, before it opens anything', (context) => {
  if (process.getuid?.() !== 0) return context.skip('these tests do not run as root');
  for (const [environments = '', role = ''] of [
    ['live', 'all'],
    ['live', 'serve'],
    ['live', 'work'],
    ['staging,live', 'all'],
  ]) {
    const { status, stderr } = runAsRoot([role], {
      OUTLAY_ENVIRONMENTS: environments,
      OUTLAY_DEFAULT_ENVIRONMENT: 'live',
      DATABASE_URL: unreachable,
      OUTLAY_LIVE_DATABASE_URL: unreachable,
    });
    assert.equal(status, 1);
    assert.match(stderr, /^outlay: live must not run as root/m);
    assert.equal(stderr.trim().split('\n').length, 1);
  }
});

test('staging starts as root', (context) => {
  if (process.getuid?.() !== 0) return context.skip('these tests do not run as root');
  const { stderr } = runAsRoot(['serve'], { DATABASE_URL: unreachable });
  // It gets as far as the database.
  assert.match(stderr, /127\.0\.0\.1:2/);
});

/** PostgreSQL's refusal of a connection. */
function formRefusal(state: string, message: string): Buffer {
  const fields = `SFATAL\0VFATAL\0C${state}\0M${message}\0\0`;
  const packet = Buffer.alloc(5 + Buffer.byteLength(fields));
  packet.write('E');
  packet.writeInt32BE(packet.length - 1, 1);
  packet.write(fields, 5);
  return packet;
}

/** What `migrate` prints where PostgreSQL answers a connection like that. */
async function migrateAt(answer: (socket: Socket) => void): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-refused-'));
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => answer(socket));
  }).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const words = ['--disable-warning=ExperimentalWarning', main, 'migrate'];
    const child = spawn(process.execPath, words, {
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        OUTLAY_DATA: folder,
        DATABASE_URL: `postgresql://outlay@127.0.0.1:${port}/outlay`,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return await text(child.stderr);
  } finally {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

test('a database that refuses the connection is a line for the operator, without a stack', async () => {
  const message = 'the database system is starting up';
  const printed = await migrateAt((socket) => socket.end(formRefusal('57P03', message)));
  assert.equal(printed, `outlay: ${message}\n`);
});

test('so is one that ends the connection without an answer', async () => {
  const printed = await migrateAt((socket) => socket.end());
  assert.match(
    printed,
    /^outlay: the database does not answer at the address of DATABASE_URL.*\n$/,
  );
});

test('a command whose output is no longer read ends without a complaint', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-pipe-'));
  try {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', main, 'env-example'],
      { env: { ...process.env, OUTLAY_DATA: folder }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    child.stdout.destroy();
    assert.equal(await text(child.stderr), '');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
