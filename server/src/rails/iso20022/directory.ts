import { constants } from 'node:fs';
import { mkdir, open, readdir, rename, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { DirectoryConfig } from './config.ts';
import {
  type Exchange,
  filesPerPassMax,
  type InboxFile,
  isFileName,
  nameUnfinished,
} from './exchange.ts';

/** The exchange through folders of this machine, which the bank's own program empties and fills. */
export async function openDirectory(config: DirectoryConfig): Promise<Exchange> {
  const place = (folder: string): string =>
    isAbsolute(folder) ? folder : join(config.folder, folder);
  const outbox = place(config.outbox);
  const inbox = place(config.inbox);
  const archive = place(config.archive);
  const quarantine = place(config.quarantine);
  for (const folder of [outbox, inbox, archive, quarantine]) {
    await mkdir(folder, { recursive: true, mode: 0o770 });
  }
  return {
    put: (name, bytes) => putFile(outbox, { name, bytes }),
    list: () => listFiles(inbox),
    read: (name, bytesMax) => readBounded(join(inbox, name), bytesMax),
    archive: (name, label) => moveFile(join(inbox, name), archive, `${label}-${name}`),
    quarantine: (name, label) => moveFile(join(inbox, name), quarantine, `${label}-${name}`),
    close: async () => undefined,
  };
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
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() && isFileName(entry.name))
    .map(({ name }) => name)
    .toSorted()
    .slice(0, filesPerPassMax);
  const files: InboxFile[] = [];
  for (const name of names) {
    const { size, mtimeMs } = await stat(join(folder, name));
    files.push({ name, sizeBytes: size, changedAt: `${size} ${mtimeMs}` });
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
