import { mkdir } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { FolderError, findFolderFault, openFolder } from '../kit/folder.ts';
import type { DirectoryConfig } from './config.ts';
import { type Exchange, type FolderName, folderNames } from './exchange.ts';

/**
 * The exchange through folders of this machine, which the bank's own program empties and fills.
 *
 * @param options.mayCreateFolders Whether missing folders inside the configured one are created.
 * @throws FolderError where a folder is missing or cannot be used.
 */
export async function openDirectory(
  config: DirectoryConfig,
  { mayCreateFolders }: { readonly mayCreateFolders: boolean },
): Promise<Exchange> {
  const open = (name: FolderName) => openFolder(locateFolder(config, name), 0o660);
  await requireFolder(config.folder);
  for (const name of folderNames) {
    const path = locateFolder(config, name);
    if (mayCreateFolders && isInside(config, path)) {
      await mkdir(path, { recursive: true, mode: 0o770 });
    }
    await requireFolder(path);
  }
  return {
    outbox: open('outbox'),
    inbox: open('inbox'),
    archive: open('archive'),
    quarantine: open('quarantine'),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/**
 * Checks the folders before the rail starts. Those inside the configured folder are created by the
 * first pass; any other is a share that must be mounted.
 *
 * @throws FolderError
 */
export async function checkFolders(config: DirectoryConfig): Promise<void> {
  await requireFolder(config.folder);
  for (const name of folderNames) {
    const path = locateFolder(config, name);
    if (!isInside(config, path)) await requireFolder(path);
  }
}

function locateFolder(config: DirectoryConfig, name: FolderName): string {
  return isAbsolute(config[name]) ? config[name] : join(config.folder, config[name]);
}

function isInside(config: DirectoryConfig, path: string): boolean {
  return path.startsWith(`${config.folder.replace(/(?<!\/)\/+$/, '')}/`);
}

async function requireFolder(path: string): Promise<void> {
  const fault = await findFolderFault(path);
  if (fault !== undefined) throw new FolderError(fault);
}
