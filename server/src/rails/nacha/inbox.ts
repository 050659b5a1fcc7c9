import { createHash } from 'node:crypto';
import type { InboundProblem } from '../contract/contract.ts';
import type { FolderFile } from '../kit/folder.ts';
import { assureFolder } from './folder-marker.ts';
import { applyFile, inspect, nameFile } from './intake.ts';
import { noteFile } from './missing-files.ts';
import type { Context } from './records.ts';

/** Takes the bank's files out of the inbox: reads, reports and archives each of them. */

/** Size and time of files that were not complete: with faults a file is applied once it stays as it is. */
export type IncompleteFiles = Map<string, FolderFile>;

export const bytesMax = 64 * 1024 * 1024;

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
  const digest = createHash('sha256').update(bytes).digest('hex');
  await applyFile(context, { name, bytes, digest });
  if (condition !== 'unreadable') await noteFile(context);
  await archive(context, name, { digest, end: condition === 'unreadable' ? '.unreadable' : '' });
  return true;
}

async function refuseLarge(context: Context, name: string, isUnchanged: boolean): Promise<boolean> {
  if (!isUnchanged) return false;
  const digest = await context.folders.inbox.digest(name);
  const problem: InboundProblem = {
    id: `${digest.slice(0, 24)}-large`,
    kind: 'unreadable',
    detail: `${nameFile(name)} is longer than ${bytesMax} bytes`,
  };
  await context.host.receive({
    id: `large-${digest}`,
    channel: 'file',
    raw: new Uint8Array(0),
    observations: [],
    problems: [problem],
  });
  context.host.log('error', 'a file of the bank is too long', { problem: problem.id });
  await archive(context, name, { digest, end: '.unreadable' });
  return true;
}

async function archive(
  { folders }: Context,
  name: string,
  { digest, end }: { readonly digest: string; readonly end: string },
): Promise<void> {
  await folders.inbox.move(name, folders.archive, `${name}.${digest.slice(0, 12)}${end}`);
}
