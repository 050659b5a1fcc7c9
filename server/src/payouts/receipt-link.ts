import { formatLinkToken, idBytes, openLinkToken, packId, unpackId } from '../core/link-token.ts';
import type { KeyRing } from '../core/sealing.ts';

/** The secret in a link to a receipt, which names one payout and the second at which it expires. */

const purpose = 'receipt link';
const expiryBytes = 4;
const linkMs = 30 * 86_400_000;

export type LinkedPayout = { accountId: string; userId: string; payoutId: string };

/** Valid for 30 days since the given time. */
export function formatReceiptToken(
  keys: KeyRing,
  { accountId, userId, payoutId }: LinkedPayout,
  since: Date,
): string {
  const expiry = Buffer.alloc(expiryBytes);
  expiry.writeUInt32BE(Math.floor((since.getTime() + linkMs) / 1000));
  const ids = [accountId, userId, payoutId].map(packId);
  return formatLinkToken(keys, purpose, Buffer.concat([...ids, expiry]));
}

/** The payout of a token; undefined for one that was never issued or has expired. */
export function findLinkedPayout(
  keys: KeyRing,
  token: string,
  nowMs: number,
): LinkedPayout | undefined {
  const named = openLinkToken(keys, purpose, { token, bytes: 3 * idBytes + expiryBytes });
  if (named === undefined || nowMs >= named.readUInt32BE(3 * idBytes) * 1000) return undefined;
  const idAt = (place: number): string =>
    unpackId(named.subarray(place * idBytes, (place + 1) * idBytes));
  return { accountId: idAt(0), userId: idAt(1), payoutId: idAt(2) };
}
