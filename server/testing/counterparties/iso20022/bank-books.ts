import { createHash } from 'node:crypto';
import { mkdir, open, readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

/**
 * The record of the simulated bank: one line of JSON per event in `bank/books.jsonl`, synced to the
 * disk before anything follows from it. An incomplete last line is ignored.
 */

const orderSchema = z.object({
  endToEndId: z.string(),
  paymentInformationId: z.string(),
  amount: z.string(),
  currency: z.string(),
  account: z.string(),
  debtorAccount: z.string(),
  /** What the bank decided when it took the order. */
  decision: z.enum(['pay', 'reject', 'return', 'partial_return', 'silent', 'contradict']),
  /** By SEPA Instant: a status says how it ended. */
  isInstant: z.boolean(),
  reason: z.string(),
  returnedAmount: z.string(),
});
export type BankOrder = z.infer<typeof orderSchema>;

const eventSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('file'),
    messageId: z.string(),
    messageName: z.string(),
    hash: z.string(),
    atMs: z.number(),
    orders: z.array(orderSchema),
  }),
  /** The file was moved: any later file with its id is a second copy. */
  z.object({ kind: z.literal('taken'), messageId: z.string() }),
  z.object({ kind: z.literal('second_copy'), messageId: z.string(), isSame: z.boolean() }),
  z.object({ kind: z.literal('answered'), messageId: z.string(), answer: z.string() }),
]);
type BankEvent = z.infer<typeof eventSchema>;

export type BankFile = {
  readonly messageId: string;
  readonly messageName: string;
  readonly hash: string;
  readonly atMs: number;
  readonly orders: readonly BankOrder[];
  readonly isTaken: boolean;
  readonly answers: ReadonlySet<string>;
};

export type BankBooks = {
  readonly files: ReadonlyMap<string, BankFile>;
  /** Message ids of the copies that came after the first file. */
  readonly secondCopies: readonly { messageId: string; isSame: boolean }[];
  add(event: BankEvent): Promise<void>;
};

export async function openBankBooks(folder: string): Promise<BankBooks> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, 'books.jsonl');
  const files = new Map<string, BankFile>();
  const secondCopies: { messageId: string; isSame: boolean }[] = [];
  for (const event of await readEvents(path)) enter(event, { files, secondCopies });
  return {
    files,
    secondCopies,
    add: async (event) => {
      const handle = await open(path, 'a');
      try {
        await handle.writeFile(`${JSON.stringify(event)}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      enter(event, { files, secondCopies });
    },
  };
}

/** The current record, for a reader beside the bank. */
export async function readBankBooks(folder: string): Promise<Omit<BankBooks, 'add'>> {
  const files = new Map<string, BankFile>();
  const secondCopies: { messageId: string; isSame: boolean }[] = [];
  const text = await readIfPresent(join(folder, 'books.jsonl'));
  for (const line of text.split('\n').slice(0, -1)) {
    enter(eventSchema.parse(JSON.parse(line)), { files, secondCopies });
  }
  return { files, secondCopies };
}

async function readEvents(path: string): Promise<BankEvent[]> {
  const text = await readIfPresent(path);
  const end = text.lastIndexOf('\n') + 1;
  if (end < text.length) await truncate(path, Buffer.byteLength(text.slice(0, end)));
  const lines = text.slice(0, end).split('\n').slice(0, -1);
  return lines.map((line) => eventSchema.parse(JSON.parse(line)));
}

async function readIfPresent(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

function enter(
  event: BankEvent,
  books: { files: Map<string, BankFile>; secondCopies: { messageId: string; isSame: boolean }[] },
): void {
  const { files, secondCopies } = books;
  const { messageId } = event;
  const file = files.get(messageId);
  switch (event.kind) {
    case 'file': {
      const { messageName, hash, atMs, orders } = event;
      const answers = new Set<string>();
      files.set(messageId, { messageId, messageName, hash, atMs, orders, isTaken: false, answers });
      break;
    }
    case 'taken':
      if (file !== undefined) files.set(messageId, { ...file, isTaken: true });
      break;
    case 'second_copy':
      secondCopies.push({ messageId, isSame: event.isSame });
      break;
    case 'answered':
      if (file !== undefined) {
        files.set(messageId, { ...file, answers: new Set([...file.answers, event.answer]) });
      }
      break;
  }
}

/** The amounts that were paid under an end-to-end id, one for each time. */
export function listPaidAmounts(
  books: Pick<BankBooks, 'files'>,
  endToEndId: string,
): readonly { amount: string; currency: string }[] {
  return [...books.files.values()].flatMap(({ orders }) =>
    orders
      .filter((order) => order.endToEndId === endToEndId && order.decision !== 'reject')
      .map(({ amount, currency }) => ({ amount, currency })),
  );
}

/** End-to-end ids that were paid more than once. */
export function listPaidTwice(books: Pick<BankBooks, 'files'>): readonly string[] {
  const counts = new Map<string, number>();
  for (const { orders } of books.files.values()) {
    for (const { endToEndId, decision } of orders) {
      if (decision !== 'reject') counts.set(endToEndId, (counts.get(endToEndId) ?? 0) + 1);
    }
  }
  return [...counts].filter(([, count]) => count > 1).map(([endToEndId]) => endToEndId);
}

/** A number from 0 up to and excluding 1 that an id always has. */
export function getShare(endToEndId: string): number {
  return createHash('sha256').update(endToEndId).digest().readUInt32BE() / 2 ** 32;
}
