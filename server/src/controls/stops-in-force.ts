import type { Session } from '../db/postgres/pool.ts';
import { type EffectiveFreeze, listOpenFreezes } from './freezes.sql.ts';
import { type HoldingCode, holdPayouts, type StopFacts } from './freezes.ts';

/**
 * What is stopped, for answers that need no database: as last read, at most a few seconds ago. Quotes
 * and commits ask the database.
 */
export type StopsInForce = {
  refresh(session: Session): Promise<void>;
  /** Those that are for such payouts; the facts name a currency and the rails of the payer. */
  list(accountId: string): AccountStops | undefined;
};

export type StopCode = 'account_frozen' | 'commits_stopped' | HoldingCode;

export type AccountStops = {
  /** The obstacles of such a payout; undefined: nothing. */
  find(facts: Omit<StopFacts, 'accountId'>): StopCode | undefined;
};

export function createStopsInForce(): StopsInForce {
  let open: readonly EffectiveFreeze[] = [];
  return {
    refresh: async (session) => {
      open = await listOpenFreezes(session);
    },
    list: (accountId) => {
      const own = open.filter((one) => one.account_id === null || one.account_id === accountId);
      // A recipient's stop is no stop of a destination.
      const relevant = own.filter(({ scope }) => scope !== 'recipient');
      if (relevant.length === 0) return undefined;
      return { find: (facts) => holdPayouts(relevant, { ...facts, accountId })[0] };
    },
  };
}
