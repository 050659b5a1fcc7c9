import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, constants, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';

/**
 * Files by folders that the bank's agent (or a program for SFTP) empties and fills. A file appears
 * under its name by a rename and is whole then; names that begin with a point, and those that end
 * in `.part` or `.tmp`, are not meant yet. Temporary names have to be on the folder's file system.
 */

/** What is wrong with a folder, in a sentence for the operator. */
export class FolderError extends Error {
  override readonly name = 'FolderError';
}

export async function createEmpty(folder: string, name: string): Promise<void> {
  const handle = await open(path.join(folder, name), 'a', 0o640);
  await handle.close();
  await syncFolder(folder);
}

/** Writes a file under a temporary name, to the disk. Answers that name. */
export async function writeTemporary(
  folder: string,
  name: string,
  bytes: Uint8Array,
): Promise<string> {
  const temporaryName = `.${name}.${randomUUID()}.part`;
  const handle = await open(path.join(folder, temporaryName), 'wx', 0o640);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await syncFolder(folder);
  return temporaryName;
}

/** Gives a temporary file its name; `gone` where there is none of the temporary name any more. */
export async function publish(
  folder: string,
  temporaryName: string,
  name: string,
): Promise<'published' | 'gone'> {
  try {
    await rename(path.join(folder, temporaryName), path.join(folder, name));
  } catch (error) {
    if (isMissing(error)) return 'gone';
    throw error;
  }
  await syncFolder(folder);
  return 'published';
}

/** Removes what other tries of the same file have left. */
export async function removeTemporaries(folder: string, name: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    if (entry.startsWith(`.${name}.`) && entry.endsWith('.part')) {
      await rm(path.join(folder, entry), { force: true });
    }
  }
}

export async function removeTemporary(folder: string, temporaryName: string): Promise<void> {
  await rm(path.join(folder, temporaryName), { force: true });
}

/** Replaces a file as a whole, on the disk when this returns. */
export async function replaceFile(folder: string, name: string, bytes: Uint8Array): Promise<void> {
  await publish(folder, await writeTemporary(folder, name, bytes), name);
}

/** Names of whole files, in order. */
export async function listNames(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('.') && !/\.(?:part|tmp)$/i.test(name))
    .toSorted();
}

export async function readBytes(folder: string, name: string): Promise<Uint8Array> {
  return readFile(path.join(folder, name));
}

/** SHA-256 of a file of any length, in hexadecimal digits. */
export async function digestFile(folder: string, name: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path.join(folder, name)), hash);
  return hash.digest('hex');
}

export type FileMark = { readonly bytes: number; readonly changedMs: number };

/** Size and time of a file, to see whether somebody still writes it. */
export async function getMark(folder: string, name: string): Promise<FileMark> {
  const { size, mtimeMs } = await stat(path.join(folder, name));
  return { bytes: size, changedMs: mtimeMs };
}

/** Puts a file away under a name that is free there. */
export async function moveTo(
  from: string,
  name: string,
  target: { readonly folder: string; readonly name: string },
): Promise<void> {
  try {
    await rename(path.join(from, name), path.join(target.folder, target.name));
  } catch (error) {
    // Another process has put it away.
    if (!isMissing(error)) throw error;
  }
  await syncFolder(target.folder);
}

/** Whether there is such a file; unlike `hasFile` without listing the folder. */
export async function isPresent(folder: string, name: string): Promise<boolean> {
  try {
    await access(path.join(folder, name));
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

export async function hasFile(folder: string, name: string): Promise<boolean> {
  return (await readdir(folder)).includes(name);
}

/** What is wrong with a folder that has to be read and written; undefined when nothing is. */
export async function findFolderFault(folder: string): Promise<string | undefined> {
  try {
    if (!(await stat(folder)).isDirectory()) return `${folder} must be a folder`;
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    if (isMissing(error)) return `${folder} does not exist: create it, or mount what has it`;
    return `${folder} must be readable and writable for the service`;
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
