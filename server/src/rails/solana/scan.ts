import type { RecordChange } from '../contract/contract.ts';
import type { Cluster, ListedSignature } from './cluster.ts';
import type { SolanaParts } from './parts.ts';

/**
 * Compares the account's final transactions with the records. Each transaction of the rail carries the
 * reference of its payment, so what a restored database has forgotten is found and never paid again.
 */

/** `[length] text`, several joined by `; `. */
export function readReference(memo: string | null | undefined): string | undefined {
  return /^\[\d+\] ([0-9A-Za-z_-]{1,64})$/.exec(memo ?? '')?.[1];
}

const cursorKey = 'account';

/** @returns the references whose transactions the records lacked. */
export async function compareRecords(parts: SolanaParts, cluster: Cluster): Promise<string[]> {
  const { cursor, unknown, host, payer } = parts;
  const seen = await cursor.find(cursorKey);
  const listed = await cluster.listSignatures(
    payer.address,
    seen === undefined ? {} : { until: seen.value.signature },
  );
  const [newest] = listed;
  if (newest === undefined) return [];
  const found: string[] = [];
  const changes: RecordChange[] = [];
  // The oldest one first, so that of several the first one that landed is kept.
  for (const one of listed.toReversed()) {
    const reference = await findUnknown(parts, one);
    if (reference === undefined || found.includes(reference)) continue;
    found.push(reference);
    const value = { signature: one.signature };
    changes.push(unknown.change({ key: reference, revision: 0 }, { state: 'open', value }));
  }
  const next = { state: 'seen', value: { signature: newest.signature } } as const;
  const place = { key: cursorKey, revision: seen?.revision ?? 0 };
  // Where another process was faster, it has found the same.
  await host.store.write([...changes, cursor.change(place, next)]);
  if (found.length > 0) {
    host.log('error', 'the chain has payments that the records lack', { payments: found.length });
  }
  return found;
}

async function findUnknown(
  { payments, unknown }: SolanaParts,
  { signature, memo, err }: ListedSignature,
): Promise<string | undefined> {
  const reference = readReference(memo);
  // A transaction that failed moved nothing.
  if (reference === undefined || err) return undefined;
  const record = await payments.find(reference);
  if (record?.value.attempts.some((attempt) => attempt.signature === signature)) return undefined;
  return (await unknown.find(reference)) === undefined ? reference : undefined;
}
