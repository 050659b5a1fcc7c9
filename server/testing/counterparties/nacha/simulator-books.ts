import { open, readFile } from 'node:fs/promises';
import type { Batch } from '../../../src/rails/nacha/ach-file.ts';
import { type ReadEntry } from '../../../src/rails/nacha/final-check.ts';

/**
 * The record of the simulated bank: lines of JSON that are only appended. The lines of one step are one
 * write that ends with `end`; a step that a crash interrupted is ignored.
 */

/** A notice that is due to the originator: a return or a notification of change of one entry. */
export type Notice = {
  readonly id: string;
  readonly dueMs: number;
  readonly code: string;
  /** The returning bank's own number of it. */
  readonly trace: string;
  /** The original batch with this entry alone. */
  readonly batch: Batch;
  /** How often it is sent, each time in another file. */
  readonly copies: number;
};

export type BookLine =
  | { readonly kind: 'file'; readonly taken: string; readonly identity: string }
  | {
      readonly kind: 'entry';
      readonly taken: string;
      readonly trace: string;
      readonly reference: string;
      readonly amountMinor: string;
      readonly routingNumber: string;
      readonly account: string;
      readonly transactionCode: string;
    }
  | { readonly kind: 'double_file'; readonly taken: string; readonly identity: string }
  | { readonly kind: 'refused'; readonly taken: string; readonly fault: string }
  | { readonly kind: 'notice'; readonly notice: Notice }
  | { readonly kind: 'sent'; readonly noticeId: string }
  | { readonly kind: 'end' };

export type SimulatorBooks = {
  readonly lines: readonly BookLine[];
  add(lines: readonly BookLine[]): Promise<void>;
};

/** Opens the record; an incomplete last line is ignored. */
export async function openBooks(path: string): Promise<SimulatorBooks> {
  const lines = await readBooks(path);
  return {
    lines,
    add: async (added) => {
      const step: BookLine[] = [...added, { kind: 'end' }];
      const handle = await open(path, 'a');
      try {
        // An empty line first: the previous step may be incomplete.
        await handle.writeFile(`\n\n${step.map((line) => JSON.stringify(line)).join('\n')}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      lines.push(...step);
    },
  };
}

export async function readBooks(path: string): Promise<BookLine[]> {
  const lines: BookLine[] = [];
  let step: BookLine[] = [];
  for (const text of (await readText(path)).split('\n')) {
    const line = readLine(text);
    if (line === 'cut') step = [];
    if (line === 'cut' || line === undefined) continue;
    step.push(line);
    if (line.kind === 'end') {
      lines.push(...step);
      step = [];
    }
  }
  return lines;
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

/** An empty line precedes each step; `cut` for an incomplete line. */
function readLine(text: string): BookLine | 'cut' | undefined {
  if (text === '') return 'cut';
  try {
    return JSON.parse(text) as BookLine;
  } catch {
    return 'cut';
  }
}

export function describeEntry(taken: string, entry: ReadEntry): BookLine {
  return {
    kind: 'entry',
    taken,
    trace: entry.trace,
    reference: entry.reference,
    amountMinor: entry.amountMinor.toString(),
    routingNumber: entry.routingNumber,
    account: entry.account,
    transactionCode: entry.transactionCode,
  };
}
