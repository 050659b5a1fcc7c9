import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { Client, type SftpSession } from 'ssh2';
import type { SftpConfig } from './config.ts';
import {
  type Exchange,
  filesPerPassMax,
  type InboxFile,
  isFileName,
  nameUnfinished,
} from './exchange.ts';

/**
 * The exchange with a bank's SFTP server. The server is who its pinned key says, and we are who our
 * key says: there is no password, and no question whether to trust a key that nobody knows.
 */
export async function openSftp(config: SftpConfig, signal: AbortSignal): Promise<Exchange> {
  const client = new Client();
  const abort = (): void => client.destroy();
  const lost = watchLoss(client);
  signal.addEventListener('abort', abort, { once: true });
  let session: SftpSession;
  try {
    session = await connect({ client, lost }, config, signal);
  } catch (error) {
    signal.removeEventListener('abort', abort);
    throw error;
  }
  const remote: Remote = { client, lost, session, timeoutMs: config.timeoutSeconds * 1_000 };
  const find = (name: string): string => posix.join(config.inbox, name);
  return {
    put: (name, bytes) => putFile(remote, { folder: config.outbox, name, bytes }),
    list: () => listFiles(remote, config.inbox),
    read: (name, bytesMax) => readFile(remote, find(name), bytesMax),
    archive: (name, label) =>
      moveFile(remote, find(name), posix.join(config.archive, `${label}-${name}`)),
    quarantine: (name, label) =>
      moveFile(remote, find(name), posix.join(config.quarantine, `${label}-${name}`)),
    listFolder: async (folder) =>
      (await listAll(remote, config[folder])).map(({ filename, attrs }) => ({
        name: filename,
        writtenAtMs: attrs.mtime * 1_000,
      })),
    readFrom: (folder, name, bytesMax) =>
      readFile(remote, posix.join(config[folder], name), bytesMax),
    keep: (name, bytes) => putFile(remote, { folder: config.archive, name, bytes }),
    [Symbol.asyncDispose]: async () => {
      signal.removeEventListener('abort', abort);
      client.end();
    },
  };
}

type Connection = {
  readonly client: Client;
  /** Rejects when the connection is gone, which the library does not tell those who wait. */
  readonly lost: Promise<never>;
};

type Remote = Connection & {
  readonly session: SftpSession;
  readonly timeoutMs: number;
};

/** Those without SHA-1 and without DSA. */
const hostKeyTypes = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
];

/** As `ssh-keygen -lf` prints it. */
export function formatFingerprint(key: Uint8Array): string {
  const hash = createHash('sha256').update(key).digest('base64');
  return `SHA256:${hash.replace(/=+$/, '')}`;
}

function watchLoss(client: Client): Promise<never> {
  const lost = new Promise<never>((_resolve, reject) => {
    // Stays for the life of the connection: an error that nobody hears would end the process.
    client.on('error', reject);
    client.on('close', () => reject(new Error('the SFTP server closed the connection')));
  });
  lost.catch(() => undefined);
  return lost;
}

async function connect(
  { client, lost }: Connection,
  config: SftpConfig,
  signal: AbortSignal,
): Promise<SftpSession> {
  signal.throwIfAborted();
  let refusedKey = '';
  try {
    const ready = new Promise<void>((resolve) => {
      client.on('ready', resolve);
      client.connect({
        host: config.host,
        port: config.port,
        username: config.user,
        privateKey: config.privateKey,
        ...(config.passphrase === '' ? {} : { passphrase: config.passphrase }),
        readyTimeout: config.timeoutSeconds * 1_000,
        authHandler: ['publickey'],
        algorithms: { serverHostKey: hostKeyTypes },
        hostVerifier: (key) => {
          const fingerprint = formatFingerprint(key);
          const isKnown = config.hostKeyFingerprints.includes(fingerprint);
          if (!isKnown) refusedKey = fingerprint;
          return isKnown;
        },
      });
      // Every small request waits for its answer, which the system would otherwise delay.
      client.setNoDelay(true);
    });
    await Promise.race([ready, lost]);
    const timeoutMs = config.timeoutSeconds * 1_000;
    return await callWithin<SftpSession>({ client, lost, timeoutMs }, (done) => client.sftp(done));
  } catch (error) {
    client.destroy();
    if (refusedKey !== '') {
      throw new Error(`the SFTP server shows the key ${refusedKey}, which is not configured`, {
        cause: error,
      });
    }
    throw error;
  }
}

/** A server that does not answer any more ends the connection, and with it whatever else waits. */
async function callWithin<T>(
  { client, lost, timeoutMs }: Connection & { timeoutMs: number },
  run: (done: (error: Error | null | undefined, value: T) => void) => void,
): Promise<T> {
  const answer = new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error('the SFTP server does not answer'));
      client.destroy();
    }, timeoutMs);
    lost.catch(() => clearTimeout(timer));
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      settle();
    };
    try {
      run((error, value) => finish(() => (error ? reject(error) : resolve(value))));
    } catch (error) {
      // What the server cannot do the library says at once.
      finish(() => reject(error instanceof Error ? error : new Error(String(error))));
    }
  });
  return Promise.race([answer, lost]);
}

/** Of calls that answer nothing but whether it went well. */
async function perform(
  remote: Remote,
  run: (session: SftpSession, done: (error?: Error | null) => void) => void,
): Promise<void> {
  await callWithin<undefined>(remote, (done) =>
    run(remote.session, (error) => done(error, undefined)),
  );
}

/** SSH_FX_NO_SUCH_FILE of the protocol, and not supported. */
const missingCode = 2;
const unsupportedCode = 8;

function hasCode(error: unknown, code: number): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

async function putFile(
  remote: Remote,
  { folder, name, bytes }: { folder: string; name: string; bytes: Uint8Array },
): Promise<'left' | 'taken'> {
  const target = posix.join(folder, name);
  const present = await readIfPresent(remote, target, bytes.length);
  if (present !== undefined) {
    return Buffer.compare(present, bytes) === 0 ? 'left' : 'taken';
  }
  const unfinished = posix.join(folder, nameUnfinished(name));
  await writeFile(remote, unfinished, Buffer.from(bytes));
  const written = await readFile(remote, unfinished, bytes.length);
  if (Buffer.compare(written, bytes) !== 0) throw new Error(`${name} arrived otherwise than sent`);
  // The plain rename of the protocol refuses to replace a file: what is there stays.
  await perform(remote, (session, done) => session.rename(unfinished, target, done));
  return 'left';
}

const partBytes = 32_768;

async function writeFile(remote: Remote, path: string, bytes: Buffer): Promise<void> {
  const handle = await callWithin<Buffer>(remote, (done) => remote.session.open(path, 'w', done));
  try {
    for (let at = 0; at < bytes.length; at += partBytes) {
      const length = Math.min(partBytes, bytes.length - at);
      await perform(remote, (session, done) => session.write(handle, bytes, at, length, at, done));
    }
    await syncFile(remote, handle);
  } finally {
    await perform(remote, (session, done) => session.close(handle, done));
  }
}

/** An extension of OpenSSH. Other servers keep what they acknowledged as well as they can. */
async function syncFile(remote: Remote, handle: Buffer): Promise<void> {
  try {
    await perform(remote, (session, done) => session.ext_openssh_fsync(handle, done));
  } catch (error) {
    const isUnknown = error instanceof Error && /does not support/.test(error.message);
    if (!isUnknown && !hasCode(error, unsupportedCode)) throw error;
  }
}

async function readIfPresent(
  remote: Remote,
  path: string,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  try {
    return await readAtMost(remote, path, bytesMax + 1);
  } catch (error) {
    if (hasCode(error, missingCode)) return undefined;
    throw error;
  }
}

async function readFile(remote: Remote, path: string, bytesMax: number): Promise<Uint8Array> {
  const bytes = await readAtMost(remote, path, bytesMax + 1);
  if (bytes.length > bytesMax) throw new Error(`the file is longer than ${bytesMax} bytes`);
  return bytes;
}

async function readAtMost(remote: Remote, path: string, bytesMax: number): Promise<Buffer> {
  const handle = await callWithin<Buffer>(remote, (done) => remote.session.open(path, 'r', done));
  const parts: Buffer[] = [];
  let at = 0;
  try {
    while (at < bytesMax) {
      const part = Buffer.alloc(Math.min(partBytes, bytesMax - at));
      const position = at;
      const bytesRead = await readPart(remote, { handle, part, position });
      if (bytesRead === 0) break;
      parts.push(part.subarray(0, bytesRead));
      at += bytesRead;
    }
  } finally {
    await perform(remote, (session, done) => session.close(handle, done));
  }
  return Buffer.concat(parts);
}

/** SSH_FX_EOF. */
const endCode = 1;

async function readPart(
  remote: Remote,
  { handle, part, position }: { handle: Buffer; part: Buffer; position: number },
): Promise<number> {
  try {
    return await callWithin<number>(remote, (done) =>
      remote.session.read(handle, part, 0, part.length, position, done),
    );
  } catch (error) {
    if (hasCode(error, endCode)) return 0;
    throw error;
  }
}

type RemoteEntry = {
  filename: string;
  attrs: { size: number; mtime: number; isFile(): boolean };
};

/** Whole files, in the order of their names. */
async function listAll(remote: Remote, folder: string): Promise<readonly RemoteEntry[]> {
  const entries = await callWithin<readonly RemoteEntry[]>(remote, (done) =>
    remote.session.readdir(folder, done),
  );
  return entries
    .filter(({ filename, attrs }) => attrs.isFile() && isFileName(filename))
    .toSorted((left, right) => (left.filename < right.filename ? -1 : 1));
}

async function listFiles(remote: Remote, folder: string): Promise<readonly InboxFile[]> {
  const entries = await listAll(remote, folder);
  return entries.slice(0, filesPerPassMax).map(({ filename, attrs }) => ({
    name: filename,
    sizeBytes: attrs.size,
    changedAt: `${attrs.size} ${attrs.mtime}`,
  }));
}

async function moveFile(remote: Remote, from: string, to: string): Promise<void> {
  try {
    await perform(remote, (session, done) => session.rename(from, to, done));
  } catch (error) {
    // Another process was faster.
    if (hasCode(error, missingCode)) return;
    // The same file was heard before, and its copy lies there already.
    if ((await readIfPresent(remote, to, 1)) === undefined) throw error;
    await perform(remote, (session, done) => session.unlink(from, done));
  }
}
