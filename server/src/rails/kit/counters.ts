import { z } from 'zod';
import type { RailStore, RecordChange } from '../contract/contract.ts';

/**
 * Numbers that are given out once: file ids, sequence numbers of a day, trace numbers. A number is
 * taken by the same write that uses it, so that two processes never use the same one:
 *
 *   const counter = await counters.read(`files-${day}`);
 *   await store.write([counters.change(counter, counter.next + 1), ...usesOf(counter.next)]);
 */
export type Counters = {
  read(key: string): Promise<Counter>;
  change(seen: Counter, next: number): RecordChange;
};

export type Counter = { readonly key: string; readonly revision: number; readonly next: number };

const valueSchema = z.record(z.string(), z.int().nonnegative());

export function openCounters(
  store: RailStore,
  options: {
    readonly collection: string;
    /** What a counter begins with. */
    readonly first: number;
    /** The member of the stored value; `next` when absent. */
    readonly member?: string;
  },
): Counters {
  const { collection, first, member = 'next' } = options;
  return {
    read: async (key) => {
      const record = await store.get(collection, key);
      if (record === undefined) return { key, revision: 0, next: first };
      return {
        key,
        revision: record.revision,
        next: valueSchema.parse(record.value)[member] ?? first,
      };
    },
    change: ({ key, revision }, next) => ({
      collection,
      key,
      revision,
      next: { state: 'counting', value: { [member]: next } },
    }),
  };
}
