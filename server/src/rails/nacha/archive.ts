import { createHash } from 'node:crypto';
import { cutName, type FolderFile } from '../kit/folder.ts';
import { assureFolder } from './folder-marker.ts';
import { applyFile, inspect, reportLargeFile } from './intake.ts';
import { noteFile } from './missing-files.ts';
import type { Context } from './records.ts';

/**
 * The bank's files after they were read. A database that was restored to an earlier moment lacks what
 * the files read since then reported, so the archive is compared with it, and files that it lacks are
 * applied again. The rail's manifests are in the same folder.
 */

export const bytesMax = 64 * 1024 * 1024;

/** The end of a name in the archive: the beginning of the hash, and whether entries could be read. */
const archivedPattern = /\.[0-9a-f]{12}(?:\.unreadable)?$/;

/** Moves a file of the inbox, all of whose parts are applied, to the archive. */
export async function archiveFile(
  { folders, readFiles }: Context,
  name: string,
  { digest, isReadable }: { readonly digest: string; readonly isReadable: boolean },
): Promise<void> {
  await readFiles.update(digest, (record) => (record ? undefined : { state: 'read', value: {} }));
  const end = `.${digest.slice(0, 12)}${isReadable ? '' : '.unreadable'}`;
  await folders.inbox.move(name, folders.archive, `${cutName(name)}${end}`);
}

/** Files that were in the inbox before the backup may have been read after it. */
const marginMs = 7 * 86_400_000;

/**
 * The bank's files in the archive that it wrote since then, the oldest first.
 *
 * @param sinceMs the environment's milliseconds
 */
export async function listArchived(
  { folders, host }: Context,
  sinceMs: number,
): Promise<readonly FolderFile[]> {
  const fromMs = sinceMs - findLead(host) - marginMs;
  const files = await folders.archive.list();
  return files
    .filter(({ name, changedAtMs }) => archivedPattern.test(name) && changedAtMs >= fromMs)
    .toSorted((a, b) => a.changedAtMs - b.changedAtMs);
}

/**
 * Applies the files that the database lacks, each by itself, so that a call which is cut off is continued
 * by the next one.
 *
 * @throws FolderError where the archive is not the folder that it was.
 */
export async function applyArchived(
  context: Context,
  { sinceMs, signal }: { readonly sinceMs: number; readonly signal: AbortSignal },
): Promise<void> {
  await assureFolder(context.host, context.folders.archive);
  for (const file of await listArchived(context, sinceMs)) {
    signal.throwIfAborted();
    await applyUnknown(context, file);
  }
}

async function applyUnknown(
  context: Context,
  { name, sizeBytes, changedAtMs }: FolderFile,
): Promise<void> {
  const { host, folders, readFiles } = context;
  const originalName = name.replace(archivedPattern, '');
  const isLarge = sizeBytes > bytesMax;
  const bytes = isLarge ? undefined : await folders.archive.find(name, bytesMax);
  // An operator may have moved it back into the inbox.
  if (bytes === undefined && !isLarge) return;
  const digest = bytes === undefined ? await folders.archive.digest(name) : hashFile(bytes);
  if ((await readFiles.find(digest)) !== undefined) return;
  if (bytes === undefined) {
    await reportLargeFile(context, { name: originalName, digest, bytesMax });
  } else {
    await applyFile(context, { name: originalName, bytes, digest });
    const atMs = Math.min(changedAtMs + findLead(host), host.nowMs());
    if (inspect(bytes) !== 'unreadable') await noteFile(context, atMs);
  }
  await readFiles.update(digest, (record) => (record ? undefined : { state: 'read', value: {} }));
  host.log('warn', 'a file of the bank in the archive was applied again', {
    file: digest.slice(0, 12),
  });
}

export function hashFile(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** How far the environment's clock is ahead of the machine's, which dates files. */
function findLead({ nowMs, realNowMs }: Context['host']): number {
  return nowMs() - realNowMs();
}
