import { createHash } from 'node:crypto';
import type { InboundProblem, RecordChange } from '../contract/contract.ts';
import {
  type Context,
  changeCounter,
  changePayment,
  collections,
  type FileContents,
  type FileRecord,
  findFile,
  findPayment,
  getCounter,
  nameTrace,
  type Payment,
} from './books.ts';
import { FolderError } from './folder-exchange.ts';
import { assureFolder } from './folder-marker.ts';
import { listWrittenFiles, type Manifest, readWrittenFile, sumEntries } from './manifest.ts';

/**
 * Compares the memory of the rail with the files that it wrote. A file that the memory does not know
 * was written before the database was restored to an earlier moment. The rail takes it into its
 * memory, so that no payment of it is written again, and opens an exception.
 */

/** Which files the memory is known to have; a restart begins anew. */
export type KnownFiles = Set<string>;

/** @throws FolderError where a folder is not there: then nothing may be written. */
export async function reconcileFiles(context: Context): Promise<void> {
  const { config, host } = context;
  await assureFolder(host, config.folders.archive);
  await assureFolder(host, config.folders.outbox);
  const manifests: Manifest[] = [];
  for (const fileId of await listUnknownFiles(context)) {
    const manifest = await readWrittenFile(context, fileId);
    if (typeof manifest === 'string') throw new FolderError(manifest);
    manifests.push(manifest);
  }
  if (manifests.length > 0) await adoptAll(context, manifests);
  context.recovery.isDone = true;
}

/** Whether everything that the rail ever wrote is in its memory, as far as can be seen. */
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
 * Files that the memory does not have. Those of the latest day are looked up every time: a restore
 * takes the latest ones away first, and if one of them is gone, all are looked up again.
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
    if ((await findFile(context, fileId)) === undefined) unknown.push(fileId);
    else context.recovery.knownFiles.add(fileId);
  }
  return unknown;
}

async function adoptAll(context: Context, manifests: readonly Manifest[]): Promise<void> {
  const { host } = context;
  const problem = await describeProblem(context, manifests);
  const fileIds = manifests.map(({ fileId }) => fileId);
  // Reported first: after a crash the files that are left are reported once more.
  await host.receive({
    id: problem.id,
    channel: 'file',
    raw: Buffer.from(JSON.stringify({ unknownFiles: fileIds })),
    observations: [],
    problems: [problem],
  });
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
    const payment = await findPayment(context, reference);
    if (payment !== undefined && payment.state !== 'waiting') contradicted += 1;
  }
  const unsure = manifests.filter(({ handedOverAtMs }) => handedOverAtMs === undefined).length;
  const since = new Date(Math.min(...manifests.map(({ createdAtMs }) => createdAtMs)));
  return {
    id: `unknown-files-${createHash('sha256').update(names.join(' ')).digest('hex').slice(0, 24)}`,
    kind: 'unmatched',
    detail:
      `${names.length} files (the first one ${names[0]}) with ${entries.length} payments are not ` +
      'in the database, which was restored to an earlier moment. They are not written again. ' +
      `${contradicted} of the payments have another state in the database, ${unsure} of the files were perhaps ` +
      'never put into the outbox: compare them with the bank. ' +
      `Put the bank's files since ${since.toISOString()} from the archive into the inbox again, ` +
      'then close this exception.',
    ...(amountMinor > 0n ? { currency: 'USD', amountMinor } : {}),
  };
}

async function adopt(context: Context, manifest: Manifest): Promise<boolean> {
  const { config, host } = context;
  const { fileId, name, sha256, createdAtMs, effectiveOn, sameDay, deadlineMs } = manifest;
  const file: FileRecord = {
    name,
    sha256,
    createdAtMs,
    effectiveOn,
    sameDay,
    deadlineMs,
    entryCount: manifest.entries.length,
    outbox: config.folders.outbox,
    deliveredAtMs: host.nowMs(),
  };
  const contents: FileContents = {
    text: '',
    entries: manifest.entries.map(({ reference, trace }) => ({ reference, trace })),
  };
  const first = { key: fileId, revision: 0 };
  return host.store.write([
    { ...first, collection: collections.files, next: { state: 'delivered', value: file } },
    { ...first, collection: collections.contents, next: { state: 'kept', value: contents } },
    ...(await raiseCounters(context, manifest)),
    ...(await describeOwners(context, manifest)),
    ...(await describeMissed(context, manifest)),
  ]);
}

async function raiseCounters(context: Context, manifest: Manifest): Promise<RecordChange[]> {
  const changes: RecordChange[] = [];
  for (const { key, next } of manifest.counters) {
    const counter = await getCounter(context, key);
    if (counter.next < next) changes.push(changeCounter(key, counter, next));
  }
  return changes;
}

async function describeOwners(context: Context, manifest: Manifest): Promise<RecordChange[]> {
  const { fileId, round } = manifest;
  const owners = [
    ...manifest.entries,
    ...manifest.offsets.map((offset) => ({ ...offset, reference: '' })),
  ];
  const changes: RecordChange[] = [];
  for (const { reference, trace, amountMinor } of owners) {
    const key = nameTrace(trace, round);
    const taken = await context.host.store.get(collections.traces, key);
    changes.push({
      collection: collections.traces,
      // A number that was given twice has both owners; a return is matched by what it repeats.
      key: taken === undefined ? key : `${key}-${fileId}`,
      revision: 0,
      next: { state: 'given', value: { reference, fileId, amountMinor } },
    });
  }
  return changes;
}

async function describeMissed(context: Context, manifest: Manifest): Promise<RecordChange[]> {
  const { fileId, createdAtMs } = manifest;
  const changes: RecordChange[] = [];
  for (const { reference, trace, amountMinor } of manifest.entries) {
    const payment = await findPayment(context, reference);
    if (payment === undefined) {
      const value: Payment = { draft: null, sentAtMs: createdAtMs, fileId, trace, amountMinor };
      const next = { state: 'filed', value };
      changes.push({ collection: collections.payments, key: reference, revision: 0, next });
    } else if (payment.state === 'waiting') {
      const value: Payment = { ...payment.value, fileId, trace };
      changes.push(changePayment(payment, { state: 'filed', value }));
    }
  }
  return changes;
}
