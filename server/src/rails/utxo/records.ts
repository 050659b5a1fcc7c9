import { z } from 'zod';
import type { RailHost } from '../contract/contract.ts';
import { openCounters } from '../kit/counters.ts';
import type { PaymentBook } from '../kit/payment-book.ts';
import { minorUnits, openRecords, type TypedRecord } from '../kit/records.ts';
import { scriptKinds } from './addresses.ts';
import type { Config } from './config.ts';
import type { Network } from './networks.ts';
import { nameOutpoint } from './transaction.ts';

/**
 * The rail's records, by collection:
 *
 * - `payment`, by reference: `waiting` for a transaction, `sent` (in the replacement set that it
 *   names), `rejected`, or `held` (it may have been paid before the records begin).
 * - `replacement_set`, by number: a replacement set, that is, a transaction and its replacements (BIP 125).
 *   All of them pay the same payments and share a coin, so that at most one can ever be in the chain.
 *   `open`; `paid` (deep enough for all its payments, still watched); `closed`; `dead` (displaced for
 *   good).
 * - `transaction`, by its id: the replacement set that it belongs to.
 * - `counter`: the number of the next replacement set. Every write that takes coins advances or
 *   rewrites it, so that two processes never use the same coin.
 * - `scan`: one record, up to which block the wallet was compared. `behind`: the records were empty
 *   although the wallet had sent, so that nothing is paid until operators have released the recovery.
 * - `unknown`, by transaction id: what the wallet sent without a record; `past` when it is too old to
 *   be mistaken for a new payment.
 */

const hash = z.string().regex(/^[0-9a-f]{64}$/);

export const paymentStates = ['waiting', 'sent', 'rejected', 'held'] as const;
export const paymentValue = z.object({
  address: z.string(),
  script: z.string(),
  amountMinor: minorUnits,
  /** When it began to wait for a transaction. */
  askedAtMs: z.number(),
  /** Of its replacement set. */
  replacementSetKey: z.string().nullable(),
  /** Of the displaced replacement sets that it was in. */
  formerFamilyKeys: z.array(z.string()),
  reason: z
    .enum(['cancelled', 'no_funds', 'amount_refused', 'currency_refused', 'invalid_details'])
    .nullable(),
});

const version = z.object({
  txid: hash,
  rawHex: z.string(),
  coins: z
    .array(
      z.object({
        txid: hash,
        vout: z.number(),
        amountMinor: minorUnits,
        script: z.string(),
        kind: z.enum(scriptKinds),
      }),
    )
    .min(1),
  changeMinor: minorUnits,
  feeMinor: minorUnits,
  rate: minorUnits,
  builtHeight: z.number(),
  /** Whether the node has accepted it once. */
  wasTaken: z.boolean(),
});

const setValue = z.object({
  changeScript: z.string(),
  payments: z
    .array(
      z.object({
        reference: z.string(),
        address: z.string(),
        script: z.string(),
        amountMinor: minorUnits,
        depthNeeded: z.number(),
        isPaid: z.boolean(),
      }),
    )
    .min(1),
  /** In the order in which they were built. */
  versions: z.array(version).min(1),
  /** The end of the chain before the first version was built. */
  sinceBlockHash: hash,
  /** The version in the chain as last seen, and its depth. */
  confirmed: z.object({ txid: hash, depth: z.number() }).nullable(),
  /** The transaction that displaced it for good. */
  displacedBy: hash.nullable(),
});

const outputValue = z.object({ script: z.string(), amountMinor: minorUnits });

/** Why the rail rejects a payment for good. */
export type Refusal = NonNullable<PaymentValue['reason']>;
export type PaymentValue = z.infer<typeof paymentValue>;
export type PaymentState = (typeof paymentStates)[number];
export type StoredPayment = TypedRecord<PaymentState, PaymentValue>;

export type ReplacementSetValue = z.infer<typeof setValue>;
export type ReplacementSetState = 'open' | 'paid' | 'closed' | 'dead';
export type ReplacementSet = ReplacementSetValue & {
  readonly key: string;
  readonly state: ReplacementSetState;
  readonly revision: number;
};
export type Version = ReplacementSetValue['versions'][number];
export type RecordState = 'current' | 'behind';

export type Stores = ReturnType<typeof openStores>;
export type Scan = NonNullable<Awaited<ReturnType<Stores['scans']['find']>>>;

export function openStores({ store }: RailHost) {
  return {
    sets: openRecords(store, {
      collection: 'replacement_set',
      states: ['open', 'paid', 'closed', 'dead'],
      value: setValue,
    }),
    transactions: openRecords(store, {
      collection: 'transaction',
      states: ['known'],
      value: z.object({ replacementSetKey: z.string() }),
    }),
    counters: openCounters(store, { collection: 'counter', first: 1, member: 'nextNumber' }),
    scans: openRecords(store, {
      collection: 'scan',
      states: ['current', 'behind'],
      value: z.object({ blockHash: z.string(), unknownCount: z.number() }),
    }),
    unknowns: openRecords(store, {
      collection: 'unknown',
      states: ['open', 'past'],
      value: z.object({ outputs: z.array(outputValue), notedAtMs: z.number() }),
    }),
  };
}

/** What all modules of the rail work with. */
export type PaymentContext = {
  readonly config: Config;
  readonly network: Network;
  readonly host: RailHost;
  readonly stores: Stores;
  readonly payments: PaymentBook<PaymentState, PaymentValue>;
};

/** Key of the one record in `scan`. */
export const scanKey = 'wallet';

/** As the last pass recorded it; `current` before the first one. */
export async function readRecordedState({ scans }: Stores): Promise<RecordState> {
  return (await scans.find(scanKey))?.state ?? 'current';
}

/** Key of the counter of replacement sets. */
export const setCounterKey = 'replacement_set';

/** Sorts in the order of the numbers. */
export function formatReplacementSetKey(number: number): string {
  return number.toString().padStart(10, '0');
}

/** Belongs to every write that gives a replacement set a new version. */
export function addTransaction({ transactions }: Stores, txid: string, replacementSetKey: string) {
  return transactions.change(
    { key: txid, revision: 0 },
    { state: 'known', value: { replacementSetKey } },
  );
}

export async function findReplacementSet(
  { sets }: Stores,
  key: string,
): Promise<ReplacementSet | undefined> {
  const record = await sets.find(key);
  return record && readReplacementSet(record);
}

function readReplacementSet({
  value,
  ...record
}: TypedRecord<ReplacementSetState, ReplacementSetValue>): ReplacementSet {
  return { ...value, ...record };
}

/** Those that hold coins: all but the closed and the displaced. */
export async function listOpenReplacementSets({ sets }: Stores): Promise<ReplacementSet[]> {
  const byKey = new Map<string, ReplacementSet>();
  // A set that changes from open to paid between the two lists is in both.
  for (const state of ['open', 'paid'] as const) {
    for await (const record of sets.list({ state })) {
      byKey.set(record.key, readReplacementSet(record));
    }
  }
  return [...byKey.values()];
}

/** The coins that every version spends; while one exists, at most one version can confirm. */
export function findAnchors(versions: readonly Pick<Version, 'coins'>[]): Version['coins'] {
  const [first, ...others] = versions;
  if (first === undefined) return [];
  return first.coins.filter((anchor) =>
    others.every(({ coins }) =>
      coins.some((other) => nameOutpoint(other) === nameOutpoint(anchor)),
    ),
  );
}

/** @throws Error for a replacement set without a version, which is never stored. */
export function getNewest({ versions }: ReplacementSetValue): Version {
  const newest = versions.at(-1);
  if (newest === undefined) throw new Error('a replacement set must have a version');
  return newest;
}
