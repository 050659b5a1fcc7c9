import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from './free-port.ts';
import type { TestNetwork } from './network.ts';

/** A real PgBouncer in front of a test's database. */

/** Debian 12's, which loses prepared statements between transactions. */
export const findBouncer = (): string | undefined =>
  findWorking(['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer']);

/** One that keeps them, 1.21 or newer; `.ci/pgbouncer.sh` builds it. */
export const findNewBouncer = (): string | undefined => findWorking(['/usr/local/sbin/pgbouncer']);

function findWorking(paths: readonly string[]): string | undefined {
  for (const path of paths) {
    try {
      execFileSync(path, ['--version'], { stdio: 'ignore' });
      return path;
    } catch {
      continue;
    }
  }
  return undefined;
}

export type Bouncer = AsyncDisposable & {
  /** Of the same database, through the pooler. */
  readonly url: string;
  /** Ends it, so that all of its connections break, and starts it again at the same address. */
  restart(signal: NodeJS.Signals): Promise<void>;
};

export type BouncerOptions = {
  readonly network: TestNetwork;
  readonly url: string;
  readonly mode: string;
  /** Further lines of its section. */
  readonly settings?: string;
};

export async function startBouncer(
  program: string | undefined,
  options: BouncerOptions,
): Promise<Bouncer> {
  assert.ok(program !== undefined, 'PgBouncer is not installed');
  const folder = await mkdtemp(join(tmpdir(), 'outlay-bouncer-'));
  await chmod(folder, 0o777);
  const [host, port] = options.network.address.split(':');
  const url = new URL(options.url);
  const listenPort = await findFreePort();
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(join(folder, 'users.txt'), `"${url.username}" "${url.password}"\n`);
  await writeFile(
    file,
    `[databases]\n* = host=${host} port=${port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n` +
      `listen_port = ${listenPort}\nunix_socket_dir =\nauth_type = trust\n` +
      `auth_file = ${join(folder, 'users.txt')}\npool_mode = ${options.mode}\n` +
      `default_pool_size = 40\n${options.settings ?? ''}`,
  );
  // It does not run as root.
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const start = async (): Promise<ChildProcess> => {
    const started = spawn(program, ['-q', ...asUser, file], { stdio: 'ignore' });
    await waitForPort(listenPort, started);
    return started;
  };
  let child = await start();
  return {
    url: `postgresql://${url.username}@127.0.0.1:${listenPort}${url.pathname}`,
    restart: async (signal) => {
      await end(child, signal);
      child = await start();
    },
    [Symbol.asyncDispose]: async () => {
      await end(child, 'SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
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
