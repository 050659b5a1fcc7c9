import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, constants, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/**
 * A folder through which files are exchanged with a bank's own program. A file is written under a
 * temporary name, synced to the disk, read back and compared, and appears under its name by a
 * rename, so that it is whole whenever it can be seen. Every step may be repeated after a crash.
 */
export type Folder = {
  readonly path: string;
  /** Whole files in the order of their names. */
  list(options?: { readonly countMax?: number }): Promise<readonly FolderFile[]>;
  /** Size and time of a file, to see whether it is still being written. */
  inspect(name: string): Promise<FolderFile>;
  has(name: string): Promise<boolean>;
  /** @throws FolderError when the file is longer. */
  read(name: string, bytesMax: number): Promise<Buffer>;
  /** Undefined where there is no such file. @throws FolderError when it is longer. */
  find(name: string, bytesMax: number): Promise<Buffer | undefined>;
  /** SHA-256 of a file of any length, in hexadecimal digits. */
  digest(name: string): Promise<string>;
  /** Writes a file once. The same again changes nothing; `taken`: other bytes have the name, and stay. */
  put(name: string, bytes: Uint8Array): Promise<'written' | 'taken'>;
  /** Writes a file, or replaces it as a whole. */
  replace(name: string, bytes: Uint8Array): Promise<void>;
  /** Writes under a temporary name, which it returns, for a caller that records it before `publish`. */
  stage(name: string, bytes: Uint8Array): Promise<string>;
  /** Gives a staged file its name; `gone` where the temporary file no longer exists. */
  publish(temporaryName: string, name: string): Promise<'published' | 'gone'>;
  discard(temporaryName: string): Promise<void>;
  /** Removes all that was staged for the name and not published. */
  discardAll(name: string): Promise<void>;
  /** Moves a file into another folder of the same file system; nothing where it is gone already. */
  move(name: string, target: Pick<Folder, 'path'>, targetName: string): Promise<void>;
};

export type FolderFile = {
  readonly name: string;
  readonly sizeBytes: number;
  /** By the clock of its writer, milliseconds. */
  readonly changedAtMs: number;
};

/** What is wrong with a folder, in a sentence for the operator. */
export class FolderError extends Error {
  override readonly name = 'FolderError';
}

/** Names of whole files: not hidden, not marked as unfinished, and not leading elsewhere. */
export function isFileName(name: string): boolean {
  const isPlain = /^[^./\\\x00-\x1f][^/\\\x00-\x1f]{0,200}$/.test(name);
  return isPlain && !/\.(?:part|tmp|filepart)$/i.test(name);
}

const bytesOfNameMax = 160;

/** Shortens a name so that a prefix and a suffix still fit: file systems and `isFileName` limit its length. */
export function cutName(name: string): string {
  return Buffer.from(name).subarray(0, bytesOfNameMax).toString();
}

/** @param fileMode Of the files that are written; owner and group may read them when absent. */
export function openFolder(path: string, fileMode = 0o640): Folder {
  const locate = (name: string): string => join(path, name);
  const inspect: Folder['inspect'] = async (name) => {
    const { size, mtimeMs } = await stat(locate(name));
    return { name, sizeBytes: size, changedAtMs: mtimeMs };
  };
  const read: Folder['read'] = async (name, bytesMax) => {
    const bytes = await readAtMost(locate(name), bytesMax + 1);
    if (bytes.length <= bytesMax) return bytes;
    throw new FolderError(`the file is longer than ${bytesMax} bytes`);
  };
  const stage: Folder['stage'] = async (name, bytes) => {
    const temporaryName = `.${name}.${randomUUID()}.part`;
    await writeSynced(locate(temporaryName), bytes, fileMode);
    await syncFolder(path);
    return temporaryName;
  };
  const publish: Folder['publish'] = async (temporaryName, name) => {
    const isRenamed = await ifPresent(rename(locate(temporaryName), locate(name)).then(() => true));
    if (isRenamed === undefined) return 'gone';
    await syncFolder(path);
    return 'published';
  };
  const discard: Folder['discard'] = (temporaryName) => rm(locate(temporaryName), { force: true });
  const discardAll: Folder['discardAll'] = async (name) => {
    for (const entry of await readdir(path)) {
      if (entry.startsWith(`.${name}.`) && entry.endsWith('.part')) await discard(entry);
    }
  };
  const put: Folder['put'] = async (name, bytes) => {
    // One byte more than expected tells a longer file from the same one.
    const present = await ifPresent(readAtMost(locate(name), bytes.length + 1));
    if (present !== undefined) return present.equals(bytes) ? 'written' : 'taken';
    const outcome = await publish(await stage(name, bytes), name);
    // Another process published the file and discarded what else was staged for it.
    if (outcome === 'gone') return put(name, bytes);
    await discardAll(name);
    return 'written';
  };
  return {
    path,
    list: async ({ countMax = Number.POSITIVE_INFINITY } = {}) => {
      const files: FolderFile[] = [];
      for (const name of (await listNames(path)).slice(0, countMax)) {
        const file = await ifPresent(inspect(name));
        if (file !== undefined) files.push(file);
      }
      return files;
    },
    inspect,
    // By a listing, since a share may answer for a single name from its cache.
    has: async (name) => (await readdir(path)).includes(name),
    read,
    find: (name, bytesMax) => ifPresent(read(name, bytesMax)),
    digest: async (name) => {
      const hash = createHash('sha256');
      await pipeline(createReadStream(locate(name)), hash);
      return hash.digest('hex');
    },
    put,
    replace: async (name, bytes) => {
      await publish(await stage(name, bytes), name);
    },
    stage,
    publish,
    discard,
    discardAll,
    move: async (name, target, targetName) => {
      // Another process may have moved it already.
      await ifPresent(rename(locate(name), join(target.path, targetName)));
      await syncFolder(target.path);
    },
  };
}

/** What is wrong with a folder that has to be read and written; undefined when nothing is. */
export async function findFolderFault(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isDirectory()) return `${path} must be a folder`;
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return isMissing(error)
      ? `the folder ${path} does not exist: create it, or mount the share`
      : `the folder ${path} must be readable and writable for the service`;
  }
}

async function listNames(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && isFileName(entry.name))
    .map(({ name }) => name)
    .toSorted();
}

/** @throws FolderError where the disk or the share returns other bytes than were written. */
async function writeSynced(path: string, bytes: Uint8Array, mode: number): Promise<void> {
  const handle = await open(path, 'wx', mode);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  if ((await readAtMost(path, bytes.length + 1)).equals(bytes)) return;
  throw new FolderError('the file that was written reads back with other bytes');
}

async function readAtMost(path: string, bytesMax: number): Promise<Buffer> {
  // A link could lead anywhere.
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const parts: Buffer[] = [];
    let length = 0;
    while (length < bytesMax) {
      const part = Buffer.alloc(Math.min(65_536, bytesMax - length));
      const { bytesRead } = await handle.read(part, 0, part.length, null);
      if (bytesRead === 0) break;
      parts.push(part.subarray(0, bytesRead));
      length += bytesRead;
    }
    return Buffer.concat(parts);
  } finally {
    await handle.close();
  }
}

/** A renamed file is there for good only when its folder is written, too. */
async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Undefined where the file is missing. */
async function ifPresent<Result>(result: Promise<Result>): Promise<Result | undefined> {
  try {
    return await result;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
