import { z } from 'zod';
import type { RailHost, RecordChange } from '../contract/contract.ts';

/**
 * What the rail's memory knows about the account's nonces: the next one to assign, and whether the
 * chain showed that this memory lacks transactions (it is empty, or older than the chain).
 */

const collection = 'nonce';
const nextKey = 'next';
const recoveryKey = 'recovery';

const nextSchema = z.object({ next: z.int().min(0) });
const recoverySchema = z.object({
  /**
   * behind: how many transactions the account had, pending ones included, when it was noticed.
   * confirmed: transactions below this nonce are accepted as sent outside this memory.
   */
  upTo: z.int().min(0),
  /** The lowest nonce that a scan for the recovery covered; null: there was none. */
  scannedFrom: z.int().min(0).nullable(),
  /** When it was noticed or confirmed, in the environment's time. */
  atMs: z.number(),
});
const recoveryStateSchema = z.enum(['behind', 'confirmed']);

/** The next nonce with the revision of its record, which the assigning write must name. */
export type NextNonce = { readonly next: number; readonly revision: number };

export type Recovery = z.infer<typeof recoverySchema> & {
  readonly state: z.infer<typeof recoveryStateSchema>;
  readonly revision: number;
};

export type NonceMemory = {
  /** undefined: this memory never assigned a nonce. */
  readonly nonce: NextNonce | undefined;
  /** undefined: the memory never was found to lack anything. */
  readonly recovery: Recovery | undefined;
};

export async function readNonceMemory({ store }: Pick<RailHost, 'store'>): Promise<NonceMemory> {
  const records = await store.list(collection, { count: 10 });
  const next = records.find(({ key }) => key === nextKey);
  const recovery = records.find(({ key }) => key === recoveryKey);
  return {
    nonce: next && { next: nextSchema.parse(next.value).next, revision: next.revision },
    recovery: recovery && {
      ...recoverySchema.parse(recovery.value),
      state: recoveryStateSchema.parse(recovery.state),
      revision: recovery.revision,
    },
  };
}

export function changeNonce(current: NextNonce, next: number): RecordChange {
  const { revision } = current;
  return { collection, key: nextKey, revision, next: { state: '', value: { next } } };
}

export function changeRecovery(
  current: Recovery | undefined,
  next: Omit<Recovery, 'revision'>,
): RecordChange {
  const { state, ...value } = next;
  const revision = current?.revision ?? 0;
  return { collection, key: recoveryKey, revision, next: { state, value } };
}

/** Below this nonce every transaction of the account is known, or was confirmed by operators. */
export function findKnownCount({ nonce, recovery }: NonceMemory): number {
  const confirmed = recovery?.state === 'confirmed' ? recovery.upTo : 0;
  return Math.max(nonce?.next ?? 0, confirmed);
}
