import { setTimeout as sleep } from 'node:timers/promises';
import type { RailHost } from '../../src/rails/contract/contract.ts';

type RailStore = RailHost['store'];

/** Long enough for reads on a busy machine, and short beside the time that a call may take. */
const limitMs = 250;

/**
 * The worst order that concurrent calls can have in the store: all of them have read a record before
 * the first one writes. By chance that order is rare, and a rail that needs another one would pass.
 */
export type Interleaving = {
  watch(store: RailStore): RailStore;
  /** Writes wait until as many reads of one record have ended, or the limit has passed. */
  readBeforeWrites<T>(readers: number, act: () => Promise<T>): Promise<T>;
};

export function createInterleaving(): Interleaving {
  let gate: Gate | undefined;
  return {
    watch: (store) => ({
      ...store,
      get: async (collection, key) => {
        const record = await store.get(collection, key);
        gate?.count(`${collection} ${key}`);
        return record;
      },
      write: async (changes) => {
        await gate?.opened;
        return store.write(changes);
      },
    }),
    readBeforeWrites: async (readers, act) => {
      const own = createGate(readers);
      gate = own;
      try {
        return await act();
      } finally {
        own.open();
        gate = undefined;
      }
    },
  };
}

type Gate = { readonly opened: Promise<unknown>; count(record: string): void; open(): void };

function createGate(readers: number): Gate {
  const reads = new Map<string, number>();
  const limit = new AbortController();
  const open = (): void => limit.abort();
  return {
    opened: sleep(limitMs, undefined, limit).catch(() => undefined),
    open,
    count: (record) => {
      const times = (reads.get(record) ?? 0) + 1;
      reads.set(record, times);
      if (times >= readers) open();
    },
  };
}
