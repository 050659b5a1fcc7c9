import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import type { Destination } from './counterpart.ts';

/**
 * What the client knows, as it would have it on its own disk: a line is synced before what follows
 * from it is done or counted.
 */

export type Entry = {
  readonly transferId: string;
  readonly rail: string;
  readonly destination: Destination;
  readonly currency: string;
  readonly amountMinor: bigint;
  /** Of each quote that was made for the transfer; at most one of them may be paid. */
  readonly payoutIds: string[];
  /** The quote whose commit was answered with success. */
  acknowledged: string | undefined;
  /** Commits of the same transfer that were answered with success for another quote. */
  readonly others: string[];
};

export type Journal = {
  readonly entries: readonly Entry[];
  add(entry: Entry): void;
  /** The quote is about to be committed. */
  writeQuote(entry: Entry, payoutId: string): void;
  writeAcknowledged(entry: Entry, payoutId: string): void;
  close(): void;
};

export function openJournal(file: string): Journal {
  const entries: Entry[] = [];
  const descriptor = openSync(file, 'a');
  const write = (line: Record<string, string>): void => {
    writeSync(descriptor, `${JSON.stringify(line)}\n`);
    fsyncSync(descriptor);
  };
  return {
    entries,
    add: (entry) => {
      entries.push(entry);
    },
    writeQuote: (entry, payoutId) => {
      const { transferId, rail, currency, amountMinor } = entry;
      write({ kind: 'quote', transferId, payoutId, rail, currency, amount: String(amountMinor) });
      entry.payoutIds.push(payoutId);
    },
    writeAcknowledged: (entry, payoutId) => {
      write({ kind: 'acknowledged', transferId: entry.transferId, payoutId });
      if (entry.acknowledged === undefined) entry.acknowledged = payoutId;
      else if (entry.acknowledged !== payoutId) entry.others.push(payoutId);
    },
    close: () => closeSync(descriptor),
  };
}
