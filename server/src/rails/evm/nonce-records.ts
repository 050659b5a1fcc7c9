import { z } from 'zod';
import type { RailHost, RecordChange } from '../contract/contract.ts';
import { type Counter, openCounters } from '../kit/counters.ts';
import { type NextRecord, openRecords, type TypedRecord } from '../kit/records.ts';

/**
 * The account's nonces on record: the next one to assign, and whether the chain showed that
 * transactions are missing from the records.
 */
export type Nonces = {
  read(): Promise<NonceRecord>;
  change: (seen: Counter, next: number) => RecordChange;
  changeRecovery(
    seen: Recovery | undefined,
    next: NextRecord<Recovery['state'], Recovery['value']>,
  ): RecordChange;
};

export type NonceRecord = {
  /** The next nonce; revision 0: none was ever assigned. */
  readonly nonce: Counter;
  /** undefined: no transaction was ever missing. */
  readonly recovery: Recovery | undefined;
};

export type Recovery = TypedRecord<'behind' | 'confirmed', z.infer<typeof recoverySchema>>;

const recoverySchema = z.object({
  /**
   * behind: the account's transactions, pending ones included, when it was noticed.
   * confirmed: below this nonce, transactions without a record are accepted.
   */
  upTo: z.int().min(0),
  /** The lowest nonce that a recovery scan covered; null: no scan yet. */
  scannedFrom: z.int().min(0).nullable(),
  /** When it was noticed or confirmed, environment time. */
  atMs: z.number(),
});

export function openNonces({ store }: Pick<RailHost, 'store'>): Nonces {
  const collection = 'nonce';
  const key = 'recovery';
  const counters = openCounters(store, { collection, first: 0 });
  const states = ['behind', 'confirmed'] as const;
  const recoveries = openRecords(store, { collection, states, value: recoverySchema });
  return {
    read: async () => {
      // First: a recovery that is confirmed meanwhile must not meet the nonce from before it.
      const recovery = await recoveries.find(key);
      return { nonce: await counters.read('next'), recovery };
    },
    change: counters.change,
    changeRecovery: (seen, next) => recoveries.change(seen ?? { key, revision: 0 }, next),
  };
}

/** Below this nonce every transaction is on record or was confirmed by operators. */
export function findKnownCount({ nonce, recovery }: NonceRecord): number {
  return Math.max(nonce.next, recovery?.state === 'confirmed' ? recovery.value.upTo : 0);
}

/** As last recorded; undefined where the records were never compared with the chain. */
export async function readRecordedState(nonces: Nonces): Promise<'current' | 'behind' | undefined> {
  const { nonce, recovery } = await nonces.read();
  if (recovery?.state === 'behind') return 'behind';
  return nonce.revision === 0 ? undefined : 'current';
}
