import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCounts, type LoadCounts, runClient } from '../rails-trial/client.ts';
import { type Journal, openJournal } from '../rails-trial/journal.ts';
import type { Slot } from '../rails-trial/service-slots.ts';
import { chooseSeed, createRandom } from '../reliability-kit.ts';
import { Api } from '../service.ts';
import { waitFor } from './machine.ts';
import type { Funded } from './service.ts';

/** Clients that pay until they are stopped, with the times of the acknowledgments. */

export type DrillLoad = {
  readonly journal: Journal;
  readonly counts: LoadCounts;
  /** Waits until this many more commits are acknowledged; rejects when a client is refused. */
  waitForMore(count: number): Promise<void>;
  /** The longest time between two acknowledgements so far, or since the last one. */
  longestGapMs(): number;
  stop(): Promise<void>;
};

export type LoadOptions = Funded & {
  readonly folder: string;
  /** Processes to which a balancer would send requests at this moment. */
  readonly slots: () => readonly Slot[];
  readonly clientsCount: number;
};

export function startLoad({
  account,
  targets,
  folder,
  slots,
  clientsCount,
}: LoadOptions): DrillLoad {
  const file = openJournal(join(folder, 'journal.jsonl'));
  const counts = createCounts();
  let lastMs = performance.now();
  let longestMs = 0;
  const journal: Journal = {
    ...file,
    writeAcknowledged: (entry, payoutId) => {
      longestMs = Math.max(longestMs, performance.now() - lastMs);
      lastMs = performance.now();
      file.writeAcknowledged(entry, payoutId);
    },
  };
  const apiOf = new Map<Slot, Api>();
  const findApi = (slot: Slot): Api => {
    const api = apiOf.get(slot) ?? new Api(slot.baseUrl, account.api.token);
    apiOf.set(slot, api);
    return api;
  };
  const random = createRandom(chooseSeed());
  let isOver = false;
  let failure: Error | undefined;
  const clients = Promise.all(
    Array.from({ length: clientsCount }, () =>
      runClient({
        apis: () => slots().map(findApi),
        targets,
        journal,
        random,
        isOver: () => isOver,
        counts,
      }),
    ),
  ).catch((error: unknown) => {
    failure = new Error('a client got no answer', { cause: error });
  });
  return {
    journal,
    counts,
    waitForMore: async (count) => {
      const target = counts.acknowledged + count;
      await waitFor(`${count} acknowledgements`, () => {
        if (failure !== undefined) throw failure;
        return counts.acknowledged >= target;
      });
    },
    longestGapMs: () => Math.max(longestMs, performance.now() - lastMs),
    stop: async () => {
      isOver = true;
      await clients;
      if (failure !== undefined) throw failure;
      await sleep(0);
    },
  };
}
