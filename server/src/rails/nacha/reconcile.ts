import { createHash } from 'node:crypto';
import type { InboundProblem, RecordChange } from '../contract/contract.ts';
import { FolderError } from '../kit/folder.ts';
import { createProblemMessage } from '../kit/problem-messages.ts';
import { assureFolder } from './folder-marker.ts';
import { listWrittenFiles, type Manifest, readWrittenFile, sumEntries } from './manifest.ts';
import { type Context, type FileRecord, type FileValue, nameTrace } from './records.ts';

/**
 * Compares the database with the files that the rail wrote. A file that the database does not have was
 * written before it was restored to an earlier moment. The rail records the file, so that no payment
 * of it is written again, and opens an exception.
 */

/** @throws FolderError where a folder is not there: then nothing may be written. */
export async function reconcileFiles(context: Context): Promise<void> {
  const { folders, host } = context;
  await assureFolder(host, folders.archive);
  await assureFolder(host, folders.outbox);
  const manifests: Manifest[] = [];
  for (const fileId of await listUnknownFiles(context)) {
    const manifest = await readWrittenFile(context, fileId);
    if (typeof manifest === 'string') throw new FolderError(manifest);
    manifests.push(manifest);
  }
  if (manifests.length > 0) await adoptAll(context, manifests);
  context.recovery.isDone = true;
}

/** Whether everything that the rail ever wrote is in the database, as far as can be seen. */
export async function isReconciled(context: Context): Promise<boolean> {
  if (context.recovery.isDone) return true;
  try {
    await reconcileFiles(context);
    return true;
  } catch (error) {
    const fault = error instanceof FolderError ? error.message : 'a folder cannot be read';
    context.host.log('error', 'the written files cannot be compared with the database', { fault });
    return false;
  }
}

/**
 * Files that the database does not have. Those of the latest day are looked up every time, because a
 * restore removes the latest ones first; if one of them is gone, all are looked up again.
 */
export async function listUnknownFiles(context: Context): Promise<string[]> {
  const { knownFiles } = context.recovery;
  const written = await listWrittenFiles(context);
  const latestDay = written.at(-1)?.slice(0, 8);
  const latest = written.filter((fileId) => fileId.slice(0, 8) === latestDay);
  if ((await filterUnknown(context, latest)).length > 0) knownFiles.clear();
  return filterUnknown(
    context,
    written.filter((fileId) => !knownFiles.has(fileId)),
  );
}

async function filterUnknown(context: Context, fileIds: readonly string[]): Promise<string[]> {
  const unknown: string[] = [];
  for (const fileId of fileIds) {
    if ((await context.files.find(fileId)) === undefined) unknown.push(fileId);
    else context.recovery.knownFiles.add(fileId);
  }
  return unknown;
}

async function adoptAll(context: Context, manifests: readonly Manifest[]): Promise<void> {
  const { host } = context;
  const problem = await describeProblem(context, manifests);
  const fileIds = manifests.map(({ fileId }) => fileId);
  // Reported first: after a crash the files that are left are reported again.
  const raw = Buffer.from(JSON.stringify({ unknownFiles: fileIds }));
  await host.receive(createProblemMessage(problem, { channel: 'file', raw }));
  host.log('error', 'the database does not know files that this rail wrote', {
    files: manifests.length,
    problem: problem.id,
  });
  for (const manifest of manifests) {
    // Another process may be adopting the same file; the next pass looks again.
    if (!(await adopt(context, manifest))) throw new FolderError('the files are being adopted');
  }
}

async function describeProblem(
  context: Context,
  manifests: readonly Manifest[],
): Promise<InboundProblem> {
  const names = manifests.map(({ name }) => name);
  const entries = manifests.flatMap((manifest) => manifest.entries);
  const amountMinor = sumEntries(entries);
  let contradicted = 0;
  for (const { reference } of entries) {
    const payment = await context.payments.find(reference);
    if (payment !== undefined && payment.state !== 'waiting') contradicted += 1;
  }
  const unsure = manifests.filter(({ handedOverAtMs }) => handedOverAtMs === undefined).length;
  const since = new Date(await findLastKnownMs(context, manifests)).toISOString().slice(0, 16);
  return {
    id: `unknown-files-${createHash('sha256').update(names.join(' ')).digest('hex').slice(0, 24)}`,
    kind: 'unmatched',
    detail:
      `${names.length} files (the first one ${names[0]}) with ${entries.length} payments are not ` +
      'in the database, which was restored to an earlier moment. They are not written again. ' +
      `${contradicted} of the payments have another state in the database, ${unsure} of the files were perhaps ` +
      "never put into the outbox: compare them with the bank. Unless a recovery has read the bank's " +
      `files since ${since}Z, put them from the archive into the inbox. Then close this exception.`,
    ...(amountMinor > 0n ? { currency: 'USD', amountMinor } : {}),
  };
}

/**
 * A moment before the backup: when the newest file was written that the database has. What the bank has
 * sent since then may have been lost.
 */
async function findLastKnownMs(context: Context, manifests: readonly Manifest[]): Promise<number> {
  const earliestMs = Math.min(...manifests.map(({ createdAtMs }) => createdAtMs));
  let latest: FileRecord | undefined;
  for (const fileId of (await listWrittenFiles(context)).toReversed()) {
    // Ids begin with the day.
    if (latest !== undefined && fileId.slice(0, 8) < latest.key.slice(0, 8)) break;
    const file = await context.files.find(fileId);
    if (file === undefined) continue;
    if (latest === undefined || file.value.createdAtMs > latest.value.createdAtMs) latest = file;
  }
  return Math.min(earliestMs, latest?.value.createdAtMs ?? earliestMs);
}

async function adopt(context: Context, manifest: Manifest): Promise<boolean> {
  const { folders, host, files, contents } = context;
  const { fileId, name, sha256, createdAtMs, effectiveOn, sameDay, deadlineMs } = manifest;
  const file: FileValue = {
    name,
    sha256,
    createdAtMs,
    effectiveOn,
    sameDay,
    deadlineMs,
    entryCount: manifest.entries.length,
    outbox: folders.outbox.path,
    deliveredAtMs: host.nowMs(),
    counters: manifest.counters,
    round: manifest.round,
  };
  const seen = { key: fileId, revision: 0 };
  return host.store.write([
    files.change(seen, { state: 'delivered', value: file }),
    contents.change(seen, { state: 'kept', value: { text: '', entries: manifest.entries } }),
    ...(await raiseCounters(context, manifest)),
    ...(await describeOwners(context, manifest)),
    ...(await describeMissed(context, manifest)),
  ]);
}

async function raiseCounters({ counters }: Context, manifest: Manifest): Promise<RecordChange[]> {
  const changes: RecordChange[] = [];
  for (const { key, next } of manifest.counters) {
    const counter = await counters.read(key);
    if (counter.next < next) changes.push(counters.change(counter, next));
  }
  return changes;
}

async function describeOwners({ traces }: Context, manifest: Manifest): Promise<RecordChange[]> {
  const { fileId, round } = manifest;
  const owners = [
    ...manifest.entries,
    ...manifest.offsets.map((offset) => ({ ...offset, reference: '' })),
  ];
  const changes: RecordChange[] = [];
  for (const { reference, trace, amountMinor } of owners) {
    const key = nameTrace(trace, round);
    const isTaken = (await traces.find(key)) !== undefined;
    // A number that was given twice has both owners; a return is matched by what it repeats.
    const seen = { key: isTaken ? `${key}-${fileId}` : key, revision: 0 };
    const value = { reference, fileId, amountMinor };
    changes.push(traces.change(seen, { state: 'given', value }));
  }
  return changes;
}

async function describeMissed({ payments }: Context, manifest: Manifest): Promise<RecordChange[]> {
  const { fileId, createdAtMs } = manifest;
  const changes: RecordChange[] = [];
  for (const { reference, trace, amountMinor } of manifest.entries) {
    const payment = await payments.find(reference);
    if (payment === undefined) {
      const sent = { draft: null, sentAtMs: createdAtMs, returnedMinor: {} };
      const value = { ...sent, fileId, trace, amountMinor };
      const seen = { key: reference, revision: 0, reference };
      changes.push(...payments.change(seen, { state: 'filed', value }));
    } else if (payment.state === 'waiting') {
      const value = { ...payment.value, fileId, trace };
      changes.push(...payments.change(payment, { state: 'filed', value }));
    }
  }
  return changes;
}
