import { constants } from 'node:fs';
import { mkdir, open, readdir, rename, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { DirectoryConfig } from './config.ts';
import {
  type Exchange,
  type ExchangeOptions,
  type FolderFile,
  filesPerPassMax,
  type InboxFile,
  isFileName,
  nameUnfinished,
} from './exchange.ts';

/**
 * The exchange through folders of this machine, which the bank's own program empties and fills.
 *
 * @throws Error where a folder is missing: files must never be written where nobody looks.
 */
export async function openDirectory(
  config: DirectoryConfig,
  options: ExchangeOptions,
): Promise<Exchange> {
  await requireFolder(config.folder);
  const { outbox, inbox, archive, quarantine } = placeFolders(config);
  for (const folder of [outbox, inbox, archive, quarantine]) {
    const isInside = folder.startsWith(`${config.folder.replace(/\/+$/, '')}/`);
    // Several levels at most inside the configured folder, which itself must be there.
    if (isInside && options.mayCreateFolders) {
      await mkdir(folder, { recursive: true, mode: 0o770 });
    }
    await requireFolder(folder);
  }
  const folders = { outbox, archive, quarantine };
  return {
    put: (name, bytes) => putFile(outbox, { name, bytes }),
    list: () => listFiles(inbox),
    read: (name, bytesMax) => readBounded(join(inbox, name), bytesMax),
    archive: (name, label) => moveFile(join(inbox, name), archive, `${label}-${name}`),
    quarantine: (name, label) => moveFile(join(inbox, name), quarantine, `${label}-${name}`),
    listFolder: (folder) => listFolder(folders[folder]),
    readFrom: (folder, name, bytesMax) => readBounded(join(folders[folder], name), bytesMax),
    keep: (name, bytes) => putFile(archive, { name, bytes }),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

export function placeFolders(config: DirectoryConfig): {
  outbox: string;
  inbox: string;
  archive: string;
  quarantine: string;
} {
  const place = (folder: string): string =>
    isAbsolute(folder) ? folder : join(config.folder, folder);
  return {
    outbox: place(config.outbox),
    inbox: place(config.inbox),
    archive: place(config.archive),
    quarantine: place(config.quarantine),
  };
}

/** @throws Error with a sentence for the operator. */
export async function requireFolder(folder: string): Promise<void> {
  try {
    if ((await stat(folder)).isDirectory()) return;
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new Error(`the folder ${folder} does not exist: create it, or mount the share`, {
      cause: error,
    });
  }
  throw new Error(`${folder} is not a folder`);
}

async function putFile(
  folder: string,
  { name, bytes }: { name: string; bytes: Uint8Array },
): Promise<'left' | 'taken'> {
  const target = join(folder, name);
  const present = await readIfPresent(target, bytes.length);
  if (present !== undefined) {
    return Buffer.compare(present, bytes) === 0 ? 'left' : 'taken';
  }
  const unfinished = join(folder, nameUnfinished(name));
  const handle = await open(unfinished, 'w', 0o660);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(unfinished, target);
  await syncFolder(folder);
  return 'left';
}

async function readIfPresent(path: string, bytesMax: number): Promise<Uint8Array | undefined> {
  try {
    // One byte more than expected tells a longer file from the same one.
    return await readAtMost(path, bytesMax + 1);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** A renamed file is there for good only when its folder is written, too. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function listFiles(folder: string): Promise<readonly InboxFile[]> {
  const names = (await listNames(folder)).slice(0, filesPerPassMax);
  const files: InboxFile[] = [];
  for (const name of names) {
    const { size, mtimeMs } = await stat(join(folder, name));
    files.push({ name, sizeBytes: size, changedAt: `${size} ${mtimeMs}` });
  }
  return files;
}

async function listNames(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && isFileName(entry.name))
    .map(({ name }) => name)
    .toSorted();
}

async function listFolder(folder: string): Promise<readonly FolderFile[]> {
  const files: FolderFile[] = [];
  for (const name of await listNames(folder)) {
    const { mtimeMs } = await stat(join(folder, name));
    files.push({ name, writtenAtMs: mtimeMs });
  }
  return files;
}

async function readBounded(path: string, bytesMax: number): Promise<Uint8Array> {
  const bytes = await readAtMost(path, bytesMax + 1);
  if (bytes.length > bytesMax) throw new Error(`the file is longer than ${bytesMax} bytes`);
  return bytes;
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

async function moveFile(from: string, folder: string, name: string): Promise<void> {
  try {
    // The label is of the content, so that what is replaced is the same file heard before.
    await rename(from, join(folder, name));
  } catch (error) {
    // Another process was faster.
    if (!isMissing(error)) throw error;
    return;
  }
  await syncFolder(folder);
}
