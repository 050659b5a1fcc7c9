import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { posix } from 'node:path';
import { buffer } from 'node:stream/consumers';
import SftpClient, { type FileInfo } from 'ssh2-sftp-client';
import { isFileName } from '../kit/folder.ts';
import type { SftpConfig } from './config.ts';
import type { Exchange, ExchangeFolder } from './exchange.ts';

/**
 * The exchange with a bank's SFTP server. The server is identified by a pinned host key and this side
 * by its private key; there are no passwords.
 */
export async function openSftp(config: SftpConfig, signal: AbortSignal): Promise<Exchange> {
  const remote = await openRemote(config, signal);
  const open = (path: string): ExchangeFolder => openRemoteFolder(remote, path);
  return {
    outbox: open(config.outbox),
    inbox: open(config.inbox),
    archive: open(config.archive),
    quarantine: open(config.quarantine),
    [Symbol.asyncDispose]: remote.close,
  };
}

function openRemoteFolder(remote: Remote, path: string): ExchangeFolder {
  const locate = (name: string): string => posix.join(path, name);
  return {
    path,
    list: async ({ countMax = Number.POSITIVE_INFINITY } = {}) =>
      (await listFiles(remote, path)).slice(0, countMax).map(({ name, size, modifyTime }) => ({
        name,
        sizeBytes: size,
        changedAtMs: modifyTime,
      })),
    read: (name, bytesMax) => readFile(remote, locate(name), bytesMax),
    put: (name, bytes) =>
      putFile(remote, { path: locate(name), temporaryPath: locate(`.${name}.part`), bytes }),
    move: (name, target, targetName) =>
      moveFile(remote, locate(name), posix.join(target.path, targetName)),
  };
}

type Session = Awaited<ReturnType<SftpClient['connect']>>;

type Remote = {
  readonly client: SftpClient;
  readonly session: Session;
  /** Bounds the wait for the server, and ends it when the connection is lost. */
  call<T>(run: () => Promise<T>): Promise<T>;
  readonly close: () => Promise<void>;
};

async function openRemote(config: SftpConfig, signal: AbortSignal): Promise<Remote> {
  signal.throwIfAborted();
  const { host, port, timeoutSeconds } = config;
  const socket = connect({ host, port, noDelay: true, timeout: timeoutSeconds * 1_000 });
  const lost = new Promise<never>((_resolve, reject) => {
    socket.on('close', () => reject(new Error('the SFTP server closed the connection')));
  });
  lost.catch(() => undefined);
  let calls = 0;
  // Between two calls the connection may be idle.
  socket.on('timeout', () => {
    if (calls > 0) socket.destroy(new Error('the SFTP server does not answer'));
  });
  const abort = (): void => void socket.destroy();
  signal.addEventListener('abort', abort, { once: true });
  const call = async <T>(run: () => Promise<T>): Promise<T> => {
    calls += 1;
    try {
      return await Promise.race([run(), lost]);
    } finally {
      calls -= 1;
    }
  };
  // Without callbacks of its own the library prints what happens to the connection.
  const client = new SftpClient('bank', {});
  const close = async (): Promise<void> => {
    signal.removeEventListener('abort', abort);
    // The loss of the connection is no fault here.
    await call(() => client.end()).catch(() => undefined);
    socket.destroy();
  };
  try {
    const session = await call(() => logIn(client, { socket, config }));
    return { client, session, call, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Those without SHA-1 and without DSA. */
const hostKeyTypes = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
] as const;

async function logIn(
  client: SftpClient,
  { socket, config }: { socket: Socket; config: SftpConfig },
): Promise<Session> {
  const { user, privateKey, passphrase, hostKeyFingerprints, timeoutSeconds } = config;
  let refusedKey = '';
  try {
    return await client.connect({
      sock: socket,
      username: user,
      privateKey,
      ...(passphrase === '' ? {} : { passphrase }),
      readyTimeout: timeoutSeconds * 1_000,
      authHandler: ['publickey'],
      algorithms: { serverHostKey: [...hostKeyTypes] },
      hostVerifier: (key: Buffer) => {
        const fingerprint = formatFingerprint(key);
        const isPinned = hostKeyFingerprints.includes(fingerprint);
        if (!isPinned) refusedKey = fingerprint;
        return isPinned;
      },
    });
  } catch (error) {
    if (refusedKey === '') throw error;
    throw new Error(`the SFTP server shows the key ${refusedKey}, which is not configured`, {
      cause: error,
    });
  }
}

/** As `ssh-keygen -lf` prints it. */
function formatFingerprint(key: Uint8Array): string {
  const hash = createHash('sha256').update(key).digest('base64');
  return `SHA256:${hash.replace(/={1,2}$/, '')}`;
}

/** SSH_FX_NO_SUCH_FILE and SSH_FX_OP_UNSUPPORTED of the protocol. */
const missingCode = 2;
const unsupportedCode = 8;

function hasCode(error: unknown, code: number): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

async function putFile(
  remote: Remote,
  { path, temporaryPath, bytes }: { path: string; temporaryPath: string; bytes: Uint8Array },
): Promise<'written' | 'taken'> {
  const present = await readIfPresent(remote, path, bytes.length);
  if (present !== undefined) return present.equals(bytes) ? 'written' : 'taken';
  await writeFile(remote, temporaryPath, Buffer.from(bytes));
  const written = await readFile(remote, temporaryPath, bytes.length);
  if (!written.equals(bytes)) throw new Error(`${path} reads back with other bytes than were sent`);
  // The plain rename of the protocol refuses to replace an existing file.
  await remote.call(() => remote.client.rename(temporaryPath, path));
  return 'written';
}

/** By the session itself, since the library has no fsync. */
async function writeFile({ session, call }: Remote, path: string, bytes: Buffer): Promise<void> {
  const perform = <T>(run: (done: Done<T>) => void): Promise<T> => call(() => promise(run));
  const handle = await perform<Buffer>((done) => session.open(path, 'w', done));
  try {
    await perform((done) => session.write(handle, bytes, 0, bytes.length, 0, done));
    await perform((done) => session.ext_openssh_fsync(handle, done)).catch(ignoreUnsupported);
  } finally {
    await perform((done) => session.close(handle, done));
  }
}

type Done<T> = (error: Error | null | undefined, value?: T) => void;

function promise<T>(run: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    run((error, value) => (error ? reject(error) : resolve(value as T)));
  });
}

/** An extension of OpenSSH; other servers store what they acknowledged as safely as they can. */
function ignoreUnsupported(error: unknown): void {
  const isUnknown = error instanceof Error && /does not support/.test(error.message);
  if (!isUnknown && !hasCode(error, unsupportedCode)) throw error;
}

async function readIfPresent(
  remote: Remote,
  path: string,
  bytesMax: number,
): Promise<Buffer | undefined> {
  try {
    return await readAtMost(remote, path, bytesMax + 1);
  } catch (error) {
    if (hasCode(error, missingCode)) return undefined;
    throw error;
  }
}

async function readFile(remote: Remote, path: string, bytesMax: number): Promise<Buffer> {
  const bytes = await readAtMost(remote, path, bytesMax + 1);
  if (bytes.length > bytesMax) throw new Error(`the file is longer than ${bytesMax} bytes`);
  return bytes;
}

function readAtMost({ session, call }: Remote, path: string, bytesMax: number): Promise<Buffer> {
  const stream = session.createReadStream(path, { end: bytesMax - 1 });
  // On a lost connection it fails again when it closes its handle, after its reader has gone.
  stream.on('error', () => undefined);
  return call(() => buffer(stream));
}

/** Whole files, in the order of their names. */
async function listFiles({ client, call }: Remote, folder: string): Promise<readonly FileInfo[]> {
  const entries = await call(() => client.list(folder));
  return entries
    .filter(({ type, name }) => type !== 'd' && type !== 'l' && isFileName(name))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

async function moveFile(remote: Remote, from: string, to: string): Promise<void> {
  try {
    await remote.call(() => remote.client.rename(from, to));
  } catch (error) {
    // Another process was faster.
    if (hasCode(error, missingCode)) return;
    // The same file was read before, and its copy is there already.
    if ((await readIfPresent(remote, to, 1)) === undefined) throw error;
    await remote.call(() => remote.client.delete(from));
  }
}
