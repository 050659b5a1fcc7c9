import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A real OpenSSH server on loopback with its own keys and configuration. OUTLAY_SSHD names the program
 * (default: `sshd` on the PATH or in /usr/sbin); `ssh-keygen` must be on the PATH.
 */
export type SshServer = {
  readonly port: number;
  readonly user: string;
  readonly privateKey: string;
  /** A key that the server does not know. */
  readonly strangeKey: string;
  readonly fingerprint: string;
  /** The fingerprint of another server. */
  readonly strangeFingerprint: string;
  /** The log so far. */
  log(): string;
  stop(): Promise<void>;
};

const waitMsMax = 60_000;

export async function startSshServer(): Promise<SshServer> {
  const folder = await mkdtemp(join(tmpdir(), 'outlay-sshd-'));
  const program = await findProgram();
  const hostKey = await makeKey(folder, 'host');
  const userKey = await makeKey(folder, 'user');
  const strange = await makeKey(folder, 'strange');
  await writeFile(join(folder, 'authorized'), userKey.publicKey, { mode: 0o600 });
  // The daemon needs this folder to drop its privileges and does not create it.
  if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true, mode: 0o755 });
  const port = await findPort();
  const config = join(folder, 'sshd_config');
  await writeFile(
    config,
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${hostKey.path}`,
      `AuthorizedKeysFile ${join(folder, 'authorized')}`,
      `PidFile ${join(folder, 'sshd.pid')}`,
      'StrictModes no',
      'UsePAM no',
      'PermitRootLogin prohibit-password',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'MaxStartups 200',
      'LogLevel VERBOSE',
      'Subsystem sftp internal-sftp',
      'ForceCommand internal-sftp',
      '',
    ].join('\n'),
  );
  const daemon = spawn(program, ['-D', '-e', '-f', config], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  daemon.stderr.on('data', (part: Buffer) => {
    text += part.toString();
  });
  const endMs = performance.now() + waitMsMax;
  while (!text.includes('Server listening')) {
    if (daemon.exitCode !== null || performance.now() > endMs) {
      throw new Error(`sshd does not listen: ${text}`);
    }
    await sleep(20);
  }
  return {
    port,
    user: userInfo().username,
    privateKey: userKey.privateKey,
    strangeKey: strange.privateKey,
    fingerprint: hostKey.fingerprint,
    strangeFingerprint: strange.fingerprint,
    log: () => text,
    stop: async () => {
      const ended = once(daemon, 'exit');
      daemon.kill('SIGTERM');
      if (daemon.exitCode === null) await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function findProgram(): Promise<string> {
  const named = process.env['OUTLAY_SSHD'];
  if (named !== undefined) return named;
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  for (const folder of folders) {
    const path = join(folder, 'sshd');
    // It runs by an absolute path only.
    if (path.startsWith('/') && (await isThere(path))) return path;
  }
  throw new Error('sshd is not installed (Debian: openssh-server)');
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}

async function makeKey(
  folder: string,
  name: string,
): Promise<{ path: string; privateKey: string; publicKey: string; fingerprint: string }> {
  const path = join(folder, name);
  run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path]);
  const [, fingerprint = ''] = run('ssh-keygen', ['-lf', `${path}.pub`]).split(' ');
  const publicKey = await readFile(`${path}.pub`, 'utf8');
  return { path, privateKey: await readFile(path, 'utf8'), publicKey, fingerprint };
}

function run(program: string, parameters: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, parameters, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
  return stdout;
}

async function findPort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}
