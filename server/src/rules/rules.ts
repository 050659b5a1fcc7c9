import type { KeyRing } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import type { CheckedRow, RuleHit, Rules } from '../dispatch/dispatch.ts';
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
  const { screening, mayGainLimits = false, db } = options;
  if (!mayGainLimits && options.limits.length === 0 && screening === undefined) return undefined;
  const cache = createSpellingCache();
  return { check: (rows) => checkRows({ ...options, session: db.system, cache }, rows) };
}

type Check = Pick<RulesOptions, 'keys' | 'rates' | 'limits' | 'screening' | 'realNowMs'> & {
  /** The system's, which also stores the results. */
  session: Session;
  cache: ReturnType<typeof createSpellingCache>;
};

export async function checkRows(
  check: Check,
  rows: readonly CheckedRow[],
): Promise<(RuleHit | undefined)[]> {
  const screened = await screenAll(check, rows);
  const hits: (RuleHit | undefined)[] = [];
  for (const [index, row] of rows.entries()) {
    const result = screened[index];
    const hit = result === undefined ? undefined : describeScreening(result);
    hits.push(hit ?? (await checkLimits(check, row)));
  }
  return hits;
}

/** @throws Error where a list is missing or too old; until it is imported nothing is sent. */
async function screenAll(
  { session, keys, screening, realNowMs, cache }: Check,
  rows: readonly CheckedRow[],
): Promise<readonly PayoutScreening[]> {
  if (screening === undefined) return [];
  const faults = findListFaults(await readListsInForce(session), screening, realNowMs());
  if (faults.length > 0) throw new Error(`recipients cannot be screened: ${faults.join('; ')}`);
  return screenPayouts(
    { session, keys },
    rows.map((row) => readScreenedPayout(keys, row)),
    { thresholdPermille: screening.thresholdPermille, cache },
  );
}

async function checkLimits(
  { session, limits, rates }: Check,
  row: CheckedRow,
): Promise<RuleHit | undefined> {
  if (limits.length === 0) return undefined;
  return checkVelocity(session, row, { limits, rates: rates() });
}
