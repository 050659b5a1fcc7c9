import { setTimeout as sleep } from 'node:timers/promises';
import type { createRandom } from '../reliability-kit.ts';
import type { Counterpart } from './counterpart.ts';
import type { TrialOptions } from './options.ts';
import type { Slot } from './service-slots.ts';

/** Kills processes at random moments, and starts them again at once. */

export type KillCounts = { service: number; starting: number; counterparts: number };

export type Killing = {
  readonly options: TrialOptions;
  readonly slots: readonly [Slot, Slot];
  readonly counterparts: readonly Counterpart[];
  readonly random: ReturnType<typeof createRandom>;
  /** Ends the claims of the dead before their time. */
  readonly endClaims: () => Promise<void>;
  readonly onKill: (counts: KillCounts) => void;
  readonly signal: AbortSignal;
};

/** In each series of this many kills, the first ones hit one process, and the others two. */
const phaseKills = 30;
const loneKills = 12;
/** Percent of the kills that come while the process is still starting. */
const startingShare = 10;
const killsPerCrash = 8;
/** A kill deviates from its schedule by up to this many milliseconds. */
const jitterMs = 1200;

export async function killAtRandom(killing: Killing): Promise<KillCounts> {
  const { options, slots, random, signal } = killing;
  const counts: KillCounts = { service: 0, starting: 0, counterparts: 0 };
  const [first, second] = slots;
  const spanMs = (options.seconds * 1000) / Math.max(1, options.kills);
  const startMs = performance.now();
  let crashes: Promise<void> = Promise.resolve();
  while (counts.service < options.kills && !signal.aborted) {
    const isPair = counts.service % phaseKills >= loneKills;
    if (!isPair && second.isUp()) await second.stop();
    if (isPair) void second.start().catch(() => undefined);
    const isEarly = random.below(100) < startingShare;
    // Of two, one that is up already: so the load hardly ever stands still.
    const able = slots.filter((slot) => slot.isUp() !== isEarly);
    const victim = isPair && able.length > 0 ? random.pick(able) : first;
    const began = victim.start();
    if (isEarly) {
      // The kill can hit any step of its start; the next start reports a failure.
      began.catch(() => undefined);
      await sleep(random.below(900));
    } else {
      await began;
      // A schedule, so that the whole lasts as long as was asked for; and chance round it.
      const dueMs = startMs + counts.service * spanMs - performance.now();
      await sleep(Math.max(0, dueMs) + random.below(jitterMs));
    }
    counts.starting += Number(!victim.isUp());
    await victim.kill();
    counts.service += 1;
    void victim.start().catch(() => undefined);
    if (random.below(2) === 0) await killing.endClaims();
    if (counts.service % killsPerCrash === 0) {
      const durable = killing.counterparts.filter(({ crash }) => crash !== undefined);
      const chosen = durable.length === 0 ? undefined : random.pick(durable);
      if (chosen !== undefined) {
        counts.counterparts += 1;
        crashes = crashes.then(() => chosen.crash?.());
        // One that does not come back is reported at the end.
        crashes.catch(() => undefined);
      }
    }
    killing.onKill(counts);
  }
  await crashes;
  await second.stop();
  await first.start();
  return counts;
}
