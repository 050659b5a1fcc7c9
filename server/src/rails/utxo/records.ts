import { z } from 'zod';
import type { RailStore, RecordChange, StoredRecord } from '../contract/contract.ts';
import { scriptKinds } from './addresses.ts';
import { nameOutpoint } from './transaction.ts';

/**
 * What this rail remembers. Its collections:
 *
 * - `payment`, by reference: `waiting` for a transaction, `sent` (it belongs to the family that it
 *   names), `rejected`, or `held` (it may have been paid before the memory begins).
 * - `family`, by number: a transaction and its replacements. All of them pay the same payments and
 *   have a coin in common, so that at most one of them can ever be in the chain. `open`; `paid`
 *   (deep enough for all its payments, still looked at); `closed`; `dead` (displaced for good).
 * - `transaction`, by its id: to which family it belongs; for ever.
 * - `scan` and `unknown`: what the wallet sent without this memory (`wallet-records.ts`).
 * - `counter`: one record that every write which takes coins moves on, so that two processes never
 *   give away the same coin.
 */

const amount = z
  .string()
  .regex(/^\d{1,18}$/)
  .transform((text) => BigInt(text));
const hash = z.string().regex(/^[0-9a-f]{64}$/);

const paymentValue = z.object({
  address: z.string(),
  script: z.string(),
  amountMinor: amount,
  askedAtMs: z.number(),
  familyKey: z.string().nullable(),
  /** Families in which it was before, and which are dead. */
  formerFamilyKeys: z.array(z.string()),
  reason: z
    .enum(['cancelled', 'no_funds', 'amount_refused', 'currency_refused', 'invalid_details'])
    .nullable(),
});

const coin = z.object({
  txid: hash,
  vout: z.number(),
  amountMinor: amount,
  script: z.string(),
  kind: z.enum(scriptKinds),
});

const version = z.object({
  txid: hash,
  rawHex: z.string(),
  coins: z.array(coin).min(1),
  changeMinor: amount,
  feeMinor: amount,
  rate: amount,
  builtHeight: z.number(),
  /** Whether the node has taken it, once. */
  wasTaken: z.boolean(),
});

const familyValue = z.object({
  changeScript: z.string(),
  payments: z
    .array(
      z.object({
        reference: z.string(),
        address: z.string(),
        script: z.string(),
        amountMinor: amount,
        depthNeeded: z.number(),
        isPaid: z.boolean(),
      }),
    )
    .min(1),
  /** In the order in which they were built. */
  versions: z.array(version).min(1),
  /** The end of the chain before the first version was built. */
  sinceBlockHash: hash,
  /** The version in the chain, as it was last seen, and how deep. */
  confirmed: z.object({ txid: hash, depth: z.number() }).nullable(),
  /** What displaced it, when it is dead. */
  displacedBy: hash.nullable(),
});

const counterValue = z.object({ nextNumber: z.number() });

/** Why this rail refuses for good. */
export type Refusal = NonNullable<z.infer<typeof paymentValue>['reason']>;
export type PaymentValue = z.infer<typeof paymentValue>;
export type FamilyValue = z.infer<typeof familyValue>;
export type Version = FamilyValue['versions'][number];
export type FamilyState = 'open' | 'paid' | 'closed' | 'dead';
export type PaymentState = 'waiting' | 'sent' | 'rejected' | 'held';

export type Payment = PaymentValue & {
  readonly reference: string;
  readonly state: PaymentState;
  readonly revision: number;
};
export type Family = FamilyValue & {
  readonly key: string;
  readonly state: FamilyState;
  readonly revision: number;
};
export type Counter = { readonly nextNumber: number; readonly revision: number };

const paymentState = z.enum(['waiting', 'sent', 'rejected', 'held']);
const familyState = z.enum(['open', 'paid', 'closed', 'dead']);

function readPayment({ key, state, revision, value }: StoredRecord): Payment {
  const read = paymentValue.parse(value);
  return { ...read, reference: key, state: paymentState.parse(state), revision };
}

function readFamily({ key, state, revision, value }: StoredRecord): Family {
  return { ...familyValue.parse(value), key, state: familyState.parse(state), revision };
}

/** JSON has no bigint: amounts are kept as text. */
function toJson(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}` : part)),
  );
}

export function changePayment(
  seen: { reference: string; revision: number },
  state: PaymentState,
  value: PaymentValue,
): RecordChange {
  return {
    collection: 'payment',
    key: seen.reference,
    revision: seen.revision,
    next: { state, value: toJson(pickPayment(value)) },
  };
}

/** Without what a record has beside its value. */
function pickPayment(value: PaymentValue): PaymentValue {
  const { address, script, amountMinor, askedAtMs, familyKey, formerFamilyKeys, reason } = value;
  return { address, script, amountMinor, askedAtMs, familyKey, formerFamilyKeys, reason };
}

function pickFamily(value: FamilyValue): FamilyValue {
  const { changeScript, payments, versions, sinceBlockHash, confirmed, displacedBy } = value;
  return { changeScript, payments, versions, sinceBlockHash, confirmed, displacedBy };
}

export function changeFamily(
  seen: { key: string; revision: number },
  state: FamilyState,
  value: FamilyValue,
): RecordChange {
  return {
    collection: 'family',
    key: seen.key,
    revision: seen.revision,
    next: { state, value: toJson(pickFamily(value)) },
  };
}

/** Goes with every write that gives a family a new version. */
export function addTransaction(txid: string, familyKey: string): RecordChange {
  const next = { state: 'known', value: { familyKey } };
  return { collection: 'transaction', key: txid, revision: 0, next };
}

const transactionValue = z.object({ familyKey: z.string() });

/** The family of a transaction; undefined where the memory does not know it. */
export async function findFamilyKey(store: RailStore, txid: string): Promise<string | undefined> {
  const record = await store.get('transaction', txid);
  return record && transactionValue.parse(record.value).familyKey;
}

export async function knowsTransaction(store: RailStore, txid: string): Promise<boolean> {
  return (await store.get('transaction', txid)) !== undefined;
}

export function changeCounter(seen: Counter, step: 0 | 1): RecordChange {
  return {
    collection: 'counter',
    key: 'family',
    revision: seen.revision,
    next: { state: 'current', value: { nextNumber: seen.nextNumber + step } },
  };
}

export async function getCounter(store: RailStore): Promise<Counter> {
  const record = await store.get('counter', 'family');
  if (record === undefined) return { nextNumber: 1, revision: 0 };
  return { ...counterValue.parse(record.value), revision: record.revision };
}

/** Their order as texts is the order in which they were made. */
export function formatFamilyKey(number: number): string {
  return number.toString().padStart(10, '0');
}

export async function findPayment(
  store: RailStore,
  reference: string,
): Promise<Payment | undefined> {
  const record = await store.get('payment', reference);
  return record === undefined ? undefined : readPayment(record);
}

export async function findFamily(store: RailStore, key: string): Promise<Family | undefined> {
  const record = await store.get('family', key);
  return record === undefined ? undefined : readFamily(record);
}

const pageCount = 200;

async function listAll(
  store: RailStore,
  collection: string,
  { state, countMax }: { state: string; countMax: number },
): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  for (;;) {
    const after = records.at(-1)?.key;
    const query = { state, count: pageCount, ...(after === undefined ? {} : { after }) };
    const page = await store.list(collection, query);
    records.push(...page);
    if (page.length < pageCount || records.length >= countMax) return records;
  }
}

/** How many waiting payments are looked at in one pass. */
const waitingMax = 5000;

export async function listWaiting(store: RailStore): Promise<Payment[]> {
  const records = await listAll(store, 'payment', { state: 'waiting', countMax: waitingMax });
  return records.map(readPayment);
}

/** Those that hold coins: everything but the closed and the dead. */
export async function listLiveFamilies(store: RailStore): Promise<Family[]> {
  const countMax = Number.POSITIVE_INFINITY;
  const open = await listAll(store, 'family', { state: 'open', countMax });
  const paid = await listAll(store, 'family', { state: 'paid', countMax });
  // A family that moved from open to paid between the two questions is in both.
  const byKey = new Map([...open, ...paid].map((record) => [record.key, readFamily(record)]));
  return [...byKey.values()];
}

/** The coins that every version spends. While there is one, at most one version can confirm. */
export function findAnchors(versions: readonly Pick<Version, 'coins'>[]): Version['coins'] {
  const [first, ...others] = versions;
  if (first === undefined) return [];
  return first.coins.filter((anchor) =>
    others.every(({ coins }) =>
      coins.some((other) => nameOutpoint(other) === nameOutpoint(anchor)),
    ),
  );
}

/** @throws Error for a family without a version, which is never stored. */
export function getNewest({ versions }: FamilyValue): Version {
  const newest = versions.at(-1);
  if (newest === undefined) throw new Error('a family has no version');
  return newest;
}
