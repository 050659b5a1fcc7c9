import { createHash } from 'node:crypto';
import type { InboundProblem } from '../contract/contract.ts';
import type { Context } from './books.ts';
import {
  digestFile,
  type FileMark,
  getMark,
  listNames,
  moveTo,
  readBytes,
} from './folder-exchange.ts';
import { assureFolder } from './folder-marker.ts';
import { applyFile, inspect } from './intake.ts';
import { reportOldNotices } from './old-notices.ts';

/** Takes the bank's files out of the inbox: reads, reports and archives each of them. */

/** A file with faults may not be whole yet: it is applied when it has not changed since. */
export type SeenMarks = Map<string, FileMark>;

const bytesMax = 64 * 1024 * 1024;

/** Whether all that lay there has been dealt with. */
export async function readInbox(context: Context, seen: SeenMarks): Promise<boolean> {
  const { inbox } = context.config.folders;
  await assureFolder(context.host, inbox);
  await reportOldNotices(context);
  let isAllRead = true;
  for (const name of await listNames(inbox)) {
    const mark = await getMark(inbox, name);
    const before = seen.get(name);
    seen.set(name, mark);
    const isSettled = before?.bytes === mark.bytes && before.changedMs === mark.changedMs;
    const isRead =
      mark.bytes > bytesMax
        ? await refuseLarge(context, name, isSettled)
        : await readInboxFile(context, name, isSettled);
    if (isRead) seen.delete(name);
    else isAllRead = false;
  }
  return isAllRead;
}

/** Whether the file is dealt with. */
async function readInboxFile(context: Context, name: string, isSettled: boolean): Promise<boolean> {
  const { inbox, archive } = context.config.folders;
  const bytes = await readBytes(inbox, name);
  const found = inspect(bytes);
  if (found !== 'sound' && !isSettled) return false;
  const digest = createHash('sha256').update(bytes).digest('hex');
  await applyFile(context, { name, bytes, digest });
  const end = found === 'unreadable' ? '.unreadable' : '';
  await moveTo(inbox, name, {
    folder: archive,
    name: `${name}.${digest.slice(0, 12)}${end}`,
  });
  return true;
}

async function refuseLarge(context: Context, name: string, isSettled: boolean): Promise<boolean> {
  const { inbox, archive } = context.config.folders;
  if (!isSettled) return false;
  const digest = await digestFile(inbox, name);
  const problem: InboundProblem = {
    id: `${digest.slice(0, 24)}-large`,
    kind: 'unreadable',
    detail: `file ${name.replaceAll(/[^ -~]/g, '?').slice(0, 100)} is longer than ${bytesMax} bytes`,
  };
  await context.host.receive({
    id: `large-${digest}`,
    channel: 'file',
    raw: new Uint8Array(0),
    observations: [],
    problems: [problem],
  });
  context.host.log('error', 'a file of the bank is too long', { problem: problem.id });
  await moveTo(inbox, name, {
    folder: archive,
    name: `${name}.${digest.slice(0, 12)}.unreadable`,
  });
  return true;
}
