import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import type { DispatchRow, RuleHit, Rules } from '../dispatch/dispatch.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { type PayoutScreening, screenPayouts } from '../screening/payout-screenings.ts';
import { createSpellingCache, findListFaults, readListsInForce } from '../screening/screening.ts';
import { describeScreening, readScreenedPayout } from './screened-payout.ts';
import { checkVelocity, type VelocityLimit } from './velocity.ts';

/** What must let a payout pass before anything of it is sent: sanctions lists and velocity limits. */

export type RulesOptions = {
  db: Database;
  keys: KeyRing;
  rates: () => MidRates;
  limits: readonly VelocityLimit[];
  /** Whether limits may come later, from a file that has none yet. */
  mayGainLimits?: boolean;
  /** Undefined: no list is configured, and nobody is screened. */
  screening: ScreeningSettings | undefined;
  /** Real time: lists age by it, whatever the sandbox's clock shows. */
  realNowMs: () => number;
};

export type ScreeningSettings = {
  lists: readonly string[];
  thresholdPermille: number;
  /** Lists that were not read for longer let nothing pass. */
  ageMsMax: number;
};

/** Undefined where there is nothing to check. */
export function createRules(options: RulesOptions): Rules | undefined {
  const { screening, mayGainLimits = false } = options;
  if (!mayGainLimits && options.limits.length === 0 && screening === undefined) return undefined;
  const cache = createSpellingCache();
  return {
    check: async (rows) => {
      const screened = await screenAll(options, rows, cache);
      const hits: (RuleHit | undefined)[] = [];
      for (const [index, row] of rows.entries()) {
        const result = screened[index];
        const hit = result === undefined ? undefined : describeScreening(result);
        hits.push(hit ?? (await checkLimits(options, row)));
      }
      return hits;
    },
  };
}

/** @throws Error where a list is missing or too old: then nothing is sent until it is there. */
async function screenAll(
  { db, keys, screening, realNowMs }: RulesOptions,
  rows: readonly DispatchRow[],
  cache: ReturnType<typeof createSpellingCache>,
): Promise<readonly PayoutScreening[]> {
  if (screening === undefined) return [];
  const faults = findListFaults(await readListsInForce(db.system), screening, realNowMs());
  if (faults.length > 0) throw new Error(`recipients cannot be screened: ${faults.join('; ')}`);
  return screenPayouts(
    { session: db.system, keys },
    rows.map((row) => readScreenedPayout(keys, row)),
    { thresholdPermille: screening.thresholdPermille, cache },
  );
}

async function checkLimits(
  { db, limits, rates }: RulesOptions,
  row: DispatchRow,
): Promise<RuleHit | undefined> {
  if (limits.length === 0) return undefined;
  return checkVelocity(db.system, row, { limits, rates: rates() });
}
