import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/pool.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { DispatchRow, RuleHit, Rules } from '../payouts/dispatch.ts';
import { screenUsers, type UserScreening } from '../screening/records.ts';
import {
  createSpellingCache,
  findListFaults,
  readListsInForce,
  type ScreenedPerson,
} from '../screening/screening.ts';
import { openPerson } from '../users/users.ts';
import { checkVelocity, type VelocityLimit } from './velocity.ts';

/** What must let a payout pass before anything of it is sent: sanctions lists and velocity limits. */

export type RulesOptions = {
  db: Database;
  keys: KeyRing;
  rates: () => MidRates;
  limits: readonly VelocityLimit[];
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
  const { limits, screening } = options;
  if (limits.length === 0 && screening === undefined) return undefined;
  const cache = createSpellingCache();
  return {
    check: async (rows) => {
      const screened = await screenAll(options, rows, cache);
      const hits: (RuleHit | undefined)[] = [];
      for (const [index, row] of rows.entries()) {
        const hit = describeScreening(screened[index]);
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
): Promise<readonly UserScreening[]> {
  if (screening === undefined) return [];
  const faults = findListFaults(await readListsInForce(db.system), screening, realNowMs());
  if (faults.length > 0) throw new Error(`recipients cannot be screened: ${faults.join('; ')}`);
  return screenUsers(
    { session: db.system, keys },
    rows.map((row) => ({
      accountId: row.account_id,
      userId: row.user_id,
      person: readPerson(keys, row),
    })),
    { thresholdPermille: screening.thresholdPermille, cache },
  );
}

function readPerson(keys: KeyRing, row: DispatchRow): ScreenedPerson {
  const owner = { accountId: row.account_id, userId: row.user_id };
  const userKey = keys.unwrap(row.data_key, owner);
  const person = openPerson(userKey, { ...owner, sealed: row.person });
  return {
    firstName: person.first_name,
    middleName: person.middle_name,
    lastName: person.last_name,
    businessName: person.business_name,
    dateOfBirth: person.date_of_birth,
    countryCode: row.user_country,
  };
}

/** Which entries resemble the recipient; who is asked finds the rest with `screening show`. */
function describeScreening(screening: UserScreening | undefined): RuleHit | undefined {
  if (screening === undefined || !screening.isBlocked) return undefined;
  const entries = screening.hits
    .slice(0, 3)
    .map(({ list, entryId, scorePermille }) => `${list} ${entryId} (${scorePermille}/1000)`);
  // Whom a person confirmed stays held, whatever the lists say now.
  const detail = entries.length === 0 ? 'confirmed by a person' : entries.join(', ');
  return { exception: 'screening', detail };
}

async function checkLimits(
  { db, limits, rates }: RulesOptions,
  row: DispatchRow,
): Promise<RuleHit | undefined> {
  if (limits.length === 0) return undefined;
  return checkVelocity(db.system, row, { limits, rates: rates() });
}
