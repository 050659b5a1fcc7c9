import { createHash } from 'node:crypto';
import type { InboundProblem } from '../contract/contract.ts';
import { type Folder, FolderError, openFolder } from '../kit/folder.ts';
import { createProblemMessage } from '../kit/problem-messages.ts';
import { parseAchFile } from './ach-parser.ts';
import { addBankingDays, fromEastern, nextBankingDay, toEastern } from './banking-days.ts';
import { assureFolder } from './folder-marker.ts';
import {
  findManifest,
  type Manifest,
  splitEntries,
  sumEntries,
  writeManifest,
} from './manifest.ts';
import {
  type Context,
  type FileContents,
  type FileRecord,
  type FileValue,
  getContents,
  listFiles,
} from './records.ts';

/**
 * Puts sealed files into the outbox, each exactly once. The bytes are complete under a temporary name
 * before the record becomes `delivering` with that name; from then on only one rename follows. After
 * a crash the temporary file is the proof: while it exists, nothing was handed over; once it is gone,
 * the file was.
 */
export async function deliverFiles(context: Context): Promise<void> {
  for (const file of await listFiles(context, 'sealed')) await prepare(context, file);
  for (const file of await listFiles(context, 'delivering')) await handOver(context, file);
  for (const file of await listFiles(context, 'delivered')) await collect(context, file);
}

async function prepare(context: Context, file: FileRecord): Promise<void> {
  const { archive, outbox } = context.folders;
  const { name, sha256 } = file.value;
  await assureFolder(context.host, outbox);
  await assureFolder(context.host, archive);
  if (await wasHandedOver(context, file)) return;
  const contents = await getContents(context, file.key);
  const { text } = contents;
  const bytes = Buffer.from(text, 'ascii');
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) {
    throw new Error(`the contents of the file ${file.key} differ from those that were checked`);
  }
  // Before the bank can see the file: after a restore the rail finds the manifest.
  await writeManifest(context, describeManifest(file, contents));
  const temporaryName = await outbox.stage(name, bytes);
  const value: FileValue = { ...file.value, outbox: outbox.path, temporaryName };
  const isMoved = await context.files.write(file, { state: 'delivering', value });
  // Another process was faster, and its temporary file is the one that counts.
  if (!isMoved) await outbox.discard(temporaryName);
}

/**
 * Whether a file that the database has as `sealed` was in the outbox already: then the database was
 * restored to the moment in between. The manifest says so only after the file was `delivering`, so
 * that a record read after it cannot be an old one. The file is not put there again.
 */
async function wasHandedOver(context: Context, { key }: FileRecord): Promise<boolean> {
  const { host } = context;
  const manifest = await findManifest(context, key);
  if (typeof manifest === 'string') throw new FolderError(manifest);
  if (manifest?.handedOverAtMs === undefined) return false;
  const file = await context.files.find(key);
  if (file?.state !== 'sealed') return true;
  const handedOver = new Date(manifest.handedOverAtMs).toISOString();
  const since = new Date(manifest.createdAtMs).toISOString();
  const problem: InboundProblem = {
    id: `handed-over-${key}`,
    kind: 'unmatched',
    detail:
      `the file ${manifest.name} was put into the outbox at ${handedOver}, and the database, which was restored to ` +
      'an earlier moment, does not know it. It is not put there again. Unless a recovery has read ' +
      `the bank's files since ${since} again, put them from the archive into the inbox. Then close this exception.`,
    currency: 'USD',
    amountMinor: sumEntries(manifest.entries),
  };
  const raw = Buffer.from(JSON.stringify({ handedOver: key }));
  await host.receive(createProblemMessage(problem, { channel: 'file', raw }));
  const value: FileValue = {
    ...file.value,
    outbox: context.folders.outbox.path,
    deliveredAtMs: manifest.handedOverAtMs,
  };
  await context.files.write(file, { state: 'delivered', value });
  return true;
}

function describeManifest({ key, value }: FileRecord, contents: FileContents): Manifest {
  const { entries, offsets } = splitEntries(parseAchFile(Buffer.from(contents.text, 'ascii')));
  const known = new Map(contents.entries.map((entry) => [entry.reference, entry]));
  return {
    fileId: key,
    name: value.name,
    sha256: value.sha256,
    createdAtMs: value.createdAtMs,
    effectiveOn: value.effectiveOn,
    sameDay: value.sameDay,
    deadlineMs: value.deadlineMs,
    entries: entries.map((entry) => ({ ...known.get(entry.reference), ...entry })),
    offsets,
    round: value.round,
    counters: value.counters,
  };
}

async function handOver(context: Context, file: FileRecord): Promise<void> {
  const { host } = context;
  const { temporaryName, name } = file.value;
  const outbox = openOutbox(context, file);
  if (temporaryName === undefined) throw new Error(`the file ${file.key} has no temporary name`);
  await assureFolder(host, outbox);
  await outbox.publish(temporaryName, name);
  await assureFolder(host, context.folders.archive);
  const manifest = await findManifest(context, file.key);
  if (manifest !== undefined && typeof manifest !== 'string') {
    await writeManifest(context, { ...manifest, handedOverAtMs: host.nowMs() });
  }
  const value: FileValue = { ...file.value, deliveredAtMs: host.nowMs() };
  if (await context.files.write(file, { state: 'delivered', value })) {
    host.log('info', 'a file is in the outbox', { file: file.key });
    await outbox.discardAll(name);
  }
}

/** The folder of the delivery, even if the configuration has changed. */
function openOutbox({ folders }: Context, { value }: FileRecord): Folder {
  return value.outbox === undefined ? folders.outbox : openFolder(value.outbox);
}

/** The bank has a file once it is gone from the outbox; the calendar starts then. */
async function collect(context: Context, file: FileRecord): Promise<void> {
  const { config, host } = context;
  const { name, deadlineMs } = file.value;
  const outbox = openOutbox(context, file);
  await assureFolder(host, outbox);
  if (config.bankRemovesFiles && (await outbox.has(name))) {
    if (host.nowMs() > deadlineMs && !context.warned.has(file.key)) {
      context.warned.add(file.key);
      host.log('warn', 'the bank has not taken a file out of the outbox', { file: file.key });
    }
    return;
  }
  const settlesOn = findSettlementDay(file.value, host.nowMs());
  const paidDay = addBankingDays(settlesOn, config.paidAfterBankingDays);
  const paidDueMs = fromEastern({ day: paidDay, time: config.paidAt });
  const value: FileValue = { ...file.value, settlesOn, paidDueMs };
  const {
    contents,
    files,
    host: { store },
  } = context;
  const stored = await contents.find(file.key);
  await store.write([
    files.change(file, { state: 'collected', value }),
    // The bank has it: the text names persons, and is no longer needed.
    ...(stored === undefined || stored.value.text === ''
      ? []
      : [contents.change(stored, { state: 'kept', value: { ...stored.value, text: '' } })]),
  ]);
}

/** A file that reaches the bank after its time settles on the next banking day. */
function findSettlementDay(
  { effectiveOn, sameDay, deadlineMs }: FileValue,
  collectedAtMs: number,
): string {
  const { day } = toEastern(collectedAtMs);
  if (day < effectiveOn || (sameDay && collectedAtMs <= deadlineMs)) return effectiveOn;
  return nextBankingDay(day);
}
