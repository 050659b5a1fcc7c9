import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import type { DispatchRow, RuleHit, Rules } from '../dispatch/dispatch.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { type PayoutScreening, screenPayouts } from '../screening/payout-screenings.ts';
import { createSpellingCache, findListFaults, readListsInForce } from '../screening/screening.ts';
import { describeScreening, readScreenedPayout } from './screened-payout.ts';
import { checkVelocity, type VelocityLimit } from './velocity.ts';

/** The checks that a payout must pass before it is sent: sanctions lists and velocity limits. */

export type RulesOptions = {
  db: Database;
  keys: KeyRing;
  rates: () => MidRates;
  limits: readonly VelocityLimit[];
  /** Whether the file of limits may gain its first limit later. */
  mayGainLimits?: boolean;
  /** Undefined: no list is configured, so there is no screening. */
  screening: ScreeningSettings | undefined;
  /** Real time, by which lists age, whatever the sandbox's clock shows. */
  realNowMs: () => number;
};

export type ScreeningSettings = {
  lists: readonly string[];
  thresholdPermille: number;
  /** If a list was not read for longer, no payout passes. */
  ageMsMax: number;
};

/** Undefined without any check. */
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

/** @throws Error where a list is missing or too old; until it is imported nothing is sent. */
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
