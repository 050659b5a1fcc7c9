import { judgeApprovals } from '../approvals/approvals.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import type { CheckedRow, CheckHit, RuleHit, Rules, Waiting } from '../dispatch/dispatch.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { PayoutName } from '../payouts/payout-name.ts';
import { type PayoutScreening, screenPayouts } from '../screening/payout-screenings.ts';
import { findListFaults, readListsInForce, type ScreeningCache } from '../screening/screening.ts';
import { requestOpinions } from '../screening/service/opinions.ts';
import { findLimitedAccounts } from './account-limits.ts';
import { describeScreening, readScreenedPayout } from './screened-payout.ts';
import { checkVelocity, type VelocityLimit } from './velocity.ts';

/**
 * The checks that a payout must pass before it is sent: rules that ask for the approval of persons, then
 * sanctions lists and velocity limits. What was approved is checked by the others afterwards.
 */

export type RulesOptions = {
  db: Database;
  keys: KeyRing;
  rates: () => MidRates;
  limits: readonly VelocityLimit[];
  /** Whether the file of limits may gain its first limit later. */
  mayGainLimits?: boolean;
  /** Undefined: no list is configured, so there is no screening. */
  screening: ScreeningSettings | undefined;
  /** Gives a second opinion; undefined: there is none. */
  opinions?: OpinionSettings | undefined;
  /** Shared by all who screen in this process. */
  cache: ScreeningCache;
  /** Real time, by which lists age, whatever the sandbox's clock shows. */
  realNowMs: () => number;
};

export type ScreeningSettings = {
  lists: readonly string[];
  thresholdPermille: number;
  /** Alpha-3 codes; by default none. */
  blockedCountries?: readonly string[];
  /** If a list was not read for longer, no payout passes. */
  ageMsMax: number;
};

export type OpinionSettings = {
  /** The name of the service. */
  readonly name: string;
  /** Whether its hit, or no answer, holds a payout. */
  readonly holds: boolean;
};

export function createRules(options: RulesOptions): Rules {
  const { screening, opinions, mayGainLimits = false, db } = options;
  const isUnscreened = screening === undefined && opinions === undefined;
  const onlyOfAccounts = !mayGainLimits && options.limits.length === 0 && isUnscreened;
  return {
    onlyOfAccounts,
    check: async (rows) => {
      const approving = { session: db.system, keys: options.keys, rates: options.rates() };
      const holds = await judgeApprovals(approving, rows.map(nameOf));
      const others = rows.filter((_, index) => holds[index] === undefined);
      const own = await checkRows({ ...options, session: db.system }, others);
      const hits = await addOpinions(options, others, own);
      const found = new Map(others.map((row, index) => [row, hits[index]]));
      return rows.map((row, index): RuleHit | Waiting | undefined => {
        const hold = holds[index];
        return hold === undefined ? found.get(row) : { exception: 'approval', hold };
      });
    },
  };
}

/**
 * The service is asked about every payout. It can only add to what our own checks found: a hit of a list
 * holds the payout at once, no matter what the service answers later.
 */
async function addOpinions(
  { db, keys, opinions }: RulesOptions,
  rows: readonly CheckedRow[],
  own: readonly (CheckHit | undefined)[],
): Promise<readonly (CheckHit | Waiting | undefined)[]> {
  if (opinions === undefined) return own;
  const asked = rows.map((row) => ({
    ...readScreenedPayout(keys, row),
    isToWallet: row.delivery_type === 'CRYPTOCURRENCY',
  }));
  const states = await requestOpinions({ session: db.system, keys }, opinions, asked);
  if (!opinions.holds) return own;
  return own.map((hit, index) => {
    if (hit?.exception === 'screening') return hit;
    const state = states[index];
    if (state === 'clear') return hit;
    // Before a velocity limit, because the release of a held payout ends its checks.
    if (state === 'hit') return addDetail(hold(`${opinions.name} reports a hit`), hit);
    if (state === 'unanswered') return addDetail(hold(`${opinions.name} gave no answer`), hit);
    return { exception: 'none', wait: 'opinion' };
  });
}

const hold = (detail: string): CheckHit => ({ exception: 'screening', detail });

const nameOf = (row: CheckedRow): PayoutName => ({
  accountId: row.account_id,
  payoutId: row.payout_id,
});

type Check = Pick<
  RulesOptions,
  'keys' | 'rates' | 'limits' | 'screening' | 'cache' | 'realNowMs'
> & {
  /** The system's, which also stores the results. */
  session: Session;
};

export async function checkRows(
  check: Check,
  rows: readonly CheckedRow[],
): Promise<(CheckHit | undefined)[]> {
  const screened = await screenAll(check, rows);
  const limited = await findLimitedAccounts(
    check.session,
    rows.map(({ account_id: accountId }) => accountId),
  );
  const hits: (CheckHit | undefined)[] = [];
  for (const [index, row] of rows.entries()) {
    const result = screened[index];
    const hit = result === undefined ? undefined : describeScreening(result);
    const isLimited = check.limits.length > 0 || limited.has(row.account_id);
    // A payout that is held counts too, and its release ends its checks.
    const excess = isLimited ? await checkLimits(check, row) : undefined;
    hits.push(hit === undefined ? excess : addDetail(hit, excess));
  }
  return hits;
}

/** The person who decides about a hit reads what else was found. */
function addDetail(hit: CheckHit, other: CheckHit | undefined): CheckHit {
  return other === undefined ? hit : { ...hit, detail: `${hit.detail}; ${other.detail}` };
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
    {
      thresholdPermille: screening.thresholdPermille,
      blockedCountries: screening.blockedCountries ?? [],
      cache,
    },
  );
}

async function checkLimits(
  { session, limits, rates }: Check,
  row: CheckedRow,
): Promise<CheckHit | undefined> {
  return checkVelocity(session, row, { limits, rates: rates() });
}
