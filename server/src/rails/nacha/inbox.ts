import type { FolderFile } from '../kit/folder.ts';
import { archiveFile, bytesMax, hashFile } from './archive.ts';
import { assureFolder } from './folder-marker.ts';
import { applyFile, inspect, reportLargeFile } from './intake.ts';
import { noteFile } from './missing-files.ts';
import type { Context } from './records.ts';

/** Takes the bank's files out of the inbox: reads, reports and archives each of them. */

/** Size and time of files that were not complete: with faults a file is applied once it stays as it is. */
export type IncompleteFiles = Map<string, FolderFile>;

/** Whether all files that were there have been processed. */
export async function readInbox(context: Context, incomplete: IncompleteFiles): Promise<boolean> {
  const { inbox } = context.folders;
  await assureFolder(context.host, inbox);
  let isAllRead = true;
  for (const file of await inbox.list()) {
    const { name, sizeBytes, changedAtMs } = file;
    const before = incomplete.get(name);
    incomplete.set(name, file);
    const isUnchanged = before?.sizeBytes === sizeBytes && before.changedAtMs === changedAtMs;
    const isRead =
      sizeBytes > bytesMax
        ? await refuseLarge(context, name, isUnchanged)
        : await readInboxFile(context, name, isUnchanged);
    if (isRead) incomplete.delete(name);
    else isAllRead = false;
  }
  return isAllRead;
}

/** Whether the file has been processed. */
async function readInboxFile(
  context: Context,
  name: string,
  isUnchanged: boolean,
): Promise<boolean> {
  const bytes = await context.folders.inbox.read(name, bytesMax);
  const condition = inspect(bytes);
  if (condition !== 'sound' && !isUnchanged) return false;
  const digest = hashFile(bytes);
  await applyFile(context, { name, bytes, digest });
  const isReadable = condition !== 'unreadable';
  if (isReadable) await noteFile(context, context.host.nowMs());
  await archiveFile(context, name, { digest, isReadable });
  return true;
}

async function refuseLarge(context: Context, name: string, isUnchanged: boolean): Promise<boolean> {
  if (!isUnchanged) return false;
  const digest = await context.folders.inbox.digest(name);
  await reportLargeFile(context, { name, digest, bytesMax });
  await archiveFile(context, name, { digest, isReadable: false });
  return true;
}
