import type { RecordChange } from '../contract/contract.ts';
import { RpcError } from '../kit/json-rpc.ts';
import type { Cluster, ListedSignature } from './cluster.ts';
import type { SolanaParts } from './parts.ts';
import { readFeePayer, readTransfer } from './transfer.ts';

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
    const reference = await findUnknown(parts, cluster, one);
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

/** The node's code where a transaction has a newer form than this rail reads and writes. */
const unknownVersion = -32_015;

/**
 * The transfer of a transaction that only the key of the account can have signed; undefined for others:
 * anyone can name the account in a transaction, with any memo.
 *
 * @throws RpcError where the node does not show what it lists
 */
export async function findOwnTransfer({ payer }: SolanaParts, cluster: Cluster, signature: string) {
  const wire = await findWire(cluster, signature);
  if (wire === undefined || readFeePayer(wire) !== payer.address) return undefined;
  const transfer = readTransfer(wire);
  return transfer?.authority === payer.address ? transfer : undefined;
}

async function findWire(cluster: Cluster, signature: string): Promise<string | undefined> {
  try {
    const found = await cluster.findTransaction(signature);
    if (found !== undefined) return found.transaction[0];
  } catch (error) {
    if (error instanceof RpcError && error.code === unknownVersion) return undefined;
    throw error;
  }
  const detail = `${cluster.endpoint} lists a transaction that it does not show`;
  throw new RpcError(detail, { kind: 'garbage' });
}

async function findUnknown(
  parts: SolanaParts,
  cluster: Cluster,
  { signature, memo, err }: ListedSignature,
): Promise<string | undefined> {
  const { payments, unknown } = parts;
  const reference = readReference(memo);
  // A transaction that failed moved nothing.
  if (reference === undefined || err) return undefined;
  const record = await payments.find(reference);
  if (record?.value.attempts.some((attempt) => attempt.signature === signature)) return undefined;
  if ((await unknown.find(reference)) !== undefined) return undefined;
  return (await findOwnTransfer(parts, cluster, signature)) && reference;
}
