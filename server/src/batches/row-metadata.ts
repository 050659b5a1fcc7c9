import { keyHashes } from '../core/metadata-hashes.ts';
import type { KeyRing } from '../core/sealing.ts';
import { sealMetadata } from '../payouts/payout-metadata.ts';

/** The metadata of a valid row, as its payout stores it. */

export type SealedMetadata = { readonly text: string; readonly hashes: readonly Buffer[] };

type DraftMetadata = {
  readonly metadata: string | undefined;
  readonly metadataHashes: readonly Buffer[];
};
type User = { readonly id: string; readonly data_key: Buffer };

/** Undefined where the row has no metadata. */
export function sealRowMetadata(
  { metadata, metadataHashes }: DraftMetadata,
  { payoutId }: { payoutId: string },
  { user, checker }: { user: User | undefined; checker: { keys: KeyRing; accountId: string } },
): SealedMetadata | undefined {
  if (metadata === undefined || user === undefined) return undefined;
  const { keys, accountId } = checker;
  const owner = { accountId, userId: user.id, payoutId, dataKey: user.data_key };
  const hashes = keyHashes(keys, accountId, metadataHashes);
  return { text: sealMetadata(keys, owner, metadata), hashes };
}
