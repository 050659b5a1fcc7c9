import { z } from 'zod';
import type { RailHost, RailStore, RecordChange } from '../contract/contract.ts';

/**
 * What the memory knows of the wallet's own sends. Its collections:
 *
 * - `scan`: one record, up to which block everything was compared. `behind`: the memory was empty
 *   while the wallet had sent, so that nothing is made until operators have released the recovery.
 * - `unknown`, by transaction: what the memory did not know as the scan found it.
 */

export type MemoryState = 'current' | 'behind';

/** So long an identical payment is held, real time: after a restore clients send again soon. */
const holdMs = 3 * 86_400_000;

const scanValue = z.object({ blockHash: z.string(), unknownCount: z.number() });
const scanState = z.enum(['current', 'behind']);
const amount = z.string().transform((text) => BigInt(text));
const unknownValue = z.object({
  outputs: z.array(z.object({ script: z.string(), amountMinor: amount })),
  notedAtMs: z.number(),
});

export type Scan = z.infer<typeof scanValue> & {
  readonly state: MemoryState;
  readonly revision: number;
};

export async function readScan(store: RailStore): Promise<Scan | undefined> {
  const record = await store.get('scan', 'wallet');
  if (record === undefined) return undefined;
  const { revision, state, value } = record;
  return { ...scanValue.parse(value), state: scanState.parse(state), revision };
}

export function changeScan(scan: Scan | undefined, next: Omit<Scan, 'revision'>): RecordChange {
  const { state, ...value } = next;
  const revision = scan?.revision ?? 0;
  return { collection: 'scan', key: 'wallet', revision, next: { state, value } };
}

/** From the memory alone, as the last pass left it; `current` where there was none. */
export async function readMemoryState({ store }: Pick<RailHost, 'store'>): Promise<MemoryState> {
  return (await readScan(store))?.state ?? 'current';
}

export async function hasUnknown(store: RailStore, txid: string): Promise<boolean> {
  return (await store.get('unknown', txid)) !== undefined;
}

export function addUnknown(
  txid: string,
  outputs: readonly What[],
  notedAtMs: number,
): RecordChange {
  const texts = outputs.map(({ script, amountMinor }) => ({
    script,
    amountMinor: amountMinor.toString(),
  }));
  const next = { state: 'open', value: { outputs: texts, notedAtMs } };
  return { collection: 'unknown', key: txid, revision: 0, next };
}

type What = { readonly script: string; readonly amountMinor: bigint };

function nameWhat({ script, amountMinor }: What): string {
  return `${amountMinor}:${script}`;
}

/** By script and amount, the unknown transaction that paid it not long ago. */
export async function listForgotten({
  store,
  realNowMs,
}: Pick<RailHost, 'store' | 'realNowMs'>): Promise<(what: What) => string | undefined> {
  const found = new Map<string, string>();
  const count = 200;
  for (let after = ''; ; ) {
    const records = await store.list('unknown', { state: 'open', after, count });
    for (const { key, revision, value } of records) {
      after = key;
      const { outputs, notedAtMs } = unknownValue.parse(value);
      if (notedAtMs + holdMs >= realNowMs()) {
        for (const output of outputs) found.set(nameWhat(output), key);
      } else {
        const next = { state: 'past', value };
        await store.write([{ collection: 'unknown', key, revision, next }]);
      }
    }
    if (records.length < count) return (what) => found.get(nameWhat(what));
  }
}
