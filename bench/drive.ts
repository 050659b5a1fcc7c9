import type { LoadShape, Measure } from './subject.ts';

/** Load inside the process: as many loops as commands may be in flight, each with one at a time. */

/**
 * @param step Sends one command and resolves with its answer; undefined: there is nothing left, and
 * the run ends early.
 */
export async function drive(
  load: Pick<LoadShape, 'seconds' | 'inFlight' | 'meter'>,
  step: () => Promise<unknown> | undefined,
): Promise<Measure> {
  const latencies: number[] = [];
  const stop = load.meter?.start();
  const startMs = performance.now();
  const endMs = startMs + load.seconds * 1000;
  const loop = async (): Promise<void> => {
    for (let sentMs = startMs; sentMs < endMs; ) {
      const answer = step();
      if (answer === undefined) return;
      await answer;
      const nowMs = performance.now();
      latencies.push(nowMs - sentMs);
      sentMs = nowMs;
    }
  };
  await Promise.all(Array.from({ length: load.inFlight }, loop));
  const seconds = (performance.now() - startMs) / 1000;
  return { ...summarize(latencies, seconds), processor: stop?.() };
}

/** For engines that are started for each run: a moment of the same load that is not counted. */
export async function driveWarm(
  load: Pick<LoadShape, 'seconds' | 'inFlight' | 'meter'>,
  step: () => Promise<unknown> | undefined,
): Promise<Measure> {
  await drive({ inFlight: load.inFlight, seconds: warmSeconds }, step);
  return drive(load, step);
}

const warmSeconds = 0.4;

/** @param latencies Milliseconds; sorted in place. */
export function summarize(latencies: number[], seconds: number): Measure {
  latencies.sort((a, b) => a - b);
  return {
    count: latencies.length,
    seconds,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  };
}

/** @param sorted Ascending. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}
