import { mkdir, readdir, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { openFolder } from '../../../src/rails/kit/folder.ts';
import type { AchFile, Batch } from '../../../src/rails/nacha/ach-file.ts';
import { parseAchFile } from '../../../src/rails/nacha/ach-parser.ts';
import { listEntries, type ReadEntry } from '../../../src/rails/nacha/final-check.ts';
import {
  type BookLine,
  describeEntry,
  type Notice,
  openBooks,
  readBooks,
  type SimulatorBooks,
} from './simulator-books.ts';
import { buildNoticeFile, returningBank } from './simulator-notices.ts';

/**
 * The bank that originates (ODFI), simulated for tests and trials. It takes files out of
 * `<folder>/outbox`, books every entry in `<folder>/books.jsonl`, refuses a file it has had before,
 * and puts returns and notifications of change into `<folder>/inbox`. Its behavior is configured in
 * `<folder>/options.json`, which is read again at every turn:
 *
 *     { "away": false, "silent": false,
 *       "rules": [ { "accountEndsWith": "0003", "code": "R03", "afterMs": 0, "copies": 1 } ] }
 *
 * `away`: takes no files; `silent`: sends no notices; `everyNth` instead of `accountEndsWith`
 * matches each n-th entry that the bank has ever booked. It also runs as a process of its own:
 * `node ach-simulator.ts --folder <folder> [--everyMs 250]`.
 */

const ruleSchema = z.strictObject({
  accountEndsWith: z.string().max(35).optional(),
  everyNth: z.int().min(1).optional(),
  code: z.string().regex(/^[RC][0-9]{2}$/),
  afterMs: z.int().min(0).default(0),
  copies: z.int().min(1).max(36).default(1),
});

const optionsSchema = z.strictObject({
  away: z.boolean().default(false),
  silent: z.boolean().default(false),
  rules: z.array(ruleSchema).max(1_000).default([]),
});

export type SimulatorOptions = z.input<typeof optionsSchema>;
type Options = z.infer<typeof optionsSchema>;

export type AchSimulator = {
  /** Takes files from the outbox and sends the notices that are due. */
  advance(nowMs: number): Promise<void>;
};

export type SimulatedPayment = Extract<BookLine, { kind: 'entry' }>;

export async function openAchSimulator(folder: string): Promise<AchSimulator> {
  for (const name of ['outbox', 'inbox', 'archive', 'taken']) {
    await mkdir(path.join(folder, name), { recursive: true });
  }
  const books = await openBooks(path.join(folder, 'books.jsonl'));
  return {
    advance: async (nowMs) => {
      const options = await readOptions(folder);
      if (!options.away) await takeFiles(folder);
      await bookFiles({ folder, books, options }, nowMs);
      if (!options.silent) await sendDueNotices(folder, books, nowMs);
    },
  };
}

/** Every booking of the bank, each reference as often as it came. */
export async function listBooked(folder: string): Promise<SimulatedPayment[]> {
  const lines = await readBooks(path.join(folder, 'books.jsonl'));
  return lines.filter((line) => line.kind === 'entry');
}

/** Files that the bank had before, and files that it could not read. */
export async function listValidationErrors(folder: string): Promise<BookLine[]> {
  const lines = await readBooks(path.join(folder, 'books.jsonl'));
  return lines.filter(({ kind }) => kind === 'double_file' || kind === 'refused');
}

async function readOptions(folder: string): Promise<Options> {
  try {
    return optionsSchema.parse(
      JSON.parse(await readFile(path.join(folder, 'options.json'), 'utf8')),
    );
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return optionsSchema.parse({});
    }
    throw error;
  }
}

/** Takes a file by one rename; a repeated name gets a number. */
async function takeFiles(folder: string): Promise<void> {
  const taken = path.join(folder, 'taken');
  for (const { name } of await openFolder(path.join(folder, 'outbox')).list()) {
    const known = new Set(await readdir(taken));
    let target = name;
    for (let count = 2; known.has(target); count += 1) target = `${name}.${count}`;
    await rename(path.join(folder, 'outbox', name), path.join(taken, target));
  }
}

type Bank = { readonly folder: string; readonly books: SimulatorBooks; readonly options: Options };

async function bookFiles({ folder, books, options }: Bank, nowMs: number): Promise<void> {
  const done = new Set(books.lines.flatMap((line) => ('taken' in line ? [line.taken] : [])));
  for (const { name: taken } of await openFolder(path.join(folder, 'taken')).list()) {
    if (done.has(taken)) continue;
    const bytes = await readFile(path.join(folder, 'taken', taken));
    await books.add(bookFile({ books, options, taken, bytes }, nowMs));
  }
}

type Taken = {
  readonly books: SimulatorBooks;
  readonly options: Options;
  readonly taken: string;
  readonly bytes: Uint8Array;
};

function bookFile({ books, options, taken, bytes }: Taken, nowMs: number): BookLine[] {
  const file = tryParse(bytes);
  if (typeof file === 'string') return [{ kind: 'refused', taken, fault: file }];
  const { header } = file;
  const identity = [
    header.immediateOrigin,
    header.creationDate,
    header.creationTime,
    header.fileIdModifier,
  ].join('/');
  if (books.lines.some((line) => line.kind === 'file' && line.identity === identity)) {
    return [{ kind: 'double_file', taken, identity }];
  }
  const lines: BookLine[] = [{ kind: 'file', taken, identity }];
  let count = books.lines.filter(({ kind }) => kind === 'entry').length;
  for (const entry of listEntries(file)) {
    count += 1;
    lines.push(describeEntry(taken, entry));
    for (const rule of options.rules) {
      if (!isMatch(rule, entry, count)) continue;
      const trace = `${returningBank.slice(0, 8)}${String(count).padStart(7, '0')}`;
      const notice: Notice = {
        id: `${entry.trace}-${rule.code}-${trace}`,
        dueMs: nowMs + rule.afterMs,
        code: rule.code,
        trace,
        batch: findBatch(file, entry.trace),
        copies: rule.copies,
      };
      lines.push({ kind: 'notice', notice });
    }
  }
  return lines;
}

function tryParse(bytes: Uint8Array): AchFile | string {
  try {
    return parseAchFile(bytes);
  } catch (error) {
    return error instanceof Error ? error.message : 'not a file';
  }
}

/** Rules are for credits: the operator's own debits are never returned. */
function isMatch(rule: Options['rules'][number], entry: ReadEntry, count: number): boolean {
  if (entry.reference === '') return false;
  if (rule.accountEndsWith !== undefined && !entry.account.endsWith(rule.accountEndsWith)) {
    return false;
  }
  return rule.everyNth === undefined || count % rule.everyNth === 0;
}

/** The batch of an entry, with this entry alone. */
function findBatch(file: AchFile, trace: string): Batch {
  for (const batch of file.batches) {
    if (batch.kind === 'domestic') {
      const entries = batch.entries.filter(({ detail }) => detail.trace === trace);
      if (entries.length > 0) return { ...batch, entries };
    }
    if (batch.kind === 'international') {
      const entries = batch.entries.filter(({ detail }) => detail.trace === trace);
      if (entries.length > 0) return { ...batch, entries };
    }
  }
  throw new Error(`no batch has an entry of trace ${trace}`);
}

async function sendDueNotices(folder: string, books: SimulatorBooks, nowMs: number): Promise<void> {
  const sent = new Set(
    books.lines.flatMap((line) => (line.kind === 'sent' ? [line.noticeId] : [])),
  );
  const due = books.lines
    .flatMap((line) => (line.kind === 'notice' ? [line.notice] : []))
    .filter(({ id, dueMs }) => dueMs <= nowMs && !sent.has(id));
  if (due.length === 0) return;
  const copiesMax = Math.max(...due.map(({ copies }) => copies));
  const inbox = openFolder(path.join(folder, 'inbox'));
  for (let copy = 0; copy < copiesMax; copy += 1) {
    const again = due.filter(({ copies }) => copies > copy);
    const { name, text } = buildNoticeFile(again, copy);
    await inbox.replace(name, Buffer.from(text, 'ascii'));
  }
  await books.add(due.map(({ id }) => ({ kind: 'sent', noticeId: id })));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { folder: { type: 'string' }, everyMs: { type: 'string', default: '250' } },
  });
  if (values.folder === undefined)
    throw new Error('--folder is required: it holds outbox and inbox');
  const simulator = await openAchSimulator(values.folder);
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  process.stdout.write('the simulated bank is open\n');
  while (!stop.signal.aborted) {
    await simulator.advance(Math.round(performance.timeOrigin + performance.now()));
    await sleep(Number(values.everyMs), undefined, { signal: stop.signal }).catch(() => undefined);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
