import type { Meter, ProcessorTime } from './processor.ts';

/** What a run measures: everything that takes payouts, or shows what the machine could do at most. */

/** Whose balances are charged: one, or a thousand chosen evenly or by Zipf's law (s = 1). */
export type Workload = 'hot' | 'uniform' | 'zipf';

export type LoadShape = {
  seconds: number;
  /** Commands under way at once; each is followed by the next as soon as it is answered. */
  inFlight: number;
  workload: Workload;
  meter?: Meter;
};

export type Measure = {
  count: number;
  seconds: number;
  /** From command to answer. 0 where the subject does not tell. */
  p50Ms: number;
  p99Ms: number;
  /** Of all commands together. */
  processor?: ProcessorTime | undefined;
};

export type RaceResult = {
  race: 'overdraft' | 'same key';
  /** What happened, in a few words. */
  found: string;
  isSafe: boolean;
};

/** One PostgreSQL for all; each subject has a database of its own on it. */
export type Place = {
  /** For files that a subject needs; removed after the run. */
  folder: string;
  database(name: string): Promise<string>;
};

export type Subject = {
  readonly name: string;
  /** Of the process that serves, where that is not the one that sends the load. */
  processId?(): number | undefined;
  prepare(place: Place): Promise<void>;
  run(load: LoadShape): Promise<Measure>;
  /** Commands that contradict each other, sent at the same moment. */
  races?(): Promise<RaceResult[]>;
  /** Throws where the books are wrong after all runs. */
  check?(): Promise<void>;
  close(): Promise<void>;
};

/** How many commands a race sends at once, and for how many of them the balance suffices. */
export const raceCommands = 64;
export const raceCovered = 20;

export function describeOverdraft(paid: number, balanceMinor: bigint): RaceResult {
  const tooMany = paid - raceCovered;
  const verdict =
    tooMany > 0 ? `${tooMany} too many` : tooMany < 0 ? `${-tooMany} too few` : 'exact';
  return {
    race: 'overdraft',
    found: `${paid} of ${raceCommands} paid, ${raceCovered} covered (${verdict}); ${balanceMinor} left`,
    isSafe: tooMany === 0 && balanceMinor === 0n,
  };
}

export function describeSameKey(effects: number): RaceResult {
  return {
    race: 'same key',
    found: `${raceCommands} times at once: ${effects} ${effects === 1 ? 'effect' : 'effects'}`,
    isSafe: effects === 1,
  };
}
