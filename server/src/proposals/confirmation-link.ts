import { createHash } from 'node:crypto';
import { formatLinkToken, idBytes, openLinkToken, packId, unpackId } from '../core/link-token.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import { findProposal, type ProposalRow } from './proposals.sql.ts';

/**
 * The link with which a person decides about a proposal, without a credential of the API. It names
 * account, proposal and a hash of what was proposed; all of it is signed.
 */

const purpose = 'confirmation link';
const hashBytes = 32;

/** Another payout, other terms or another expiry make the link void. */
function hashProposed({
  payout_id: payoutId,
  terms_hash: hash,
  expires_at: expiresAt,
}: ProposalRow) {
  const facts = [payoutId, hash.toString('hex'), expiresAt.toISOString()];
  return createHash('sha256').update(facts.join(' ')).digest();
}

/** The path of the link, without host. */
export function formatLink(keys: KeyRing, accountId: string, row: ProposalRow): string {
  const named = Buffer.concat([packId(accountId), packId(row.id), hashProposed(row)]);
  return `/confirm/${formatLinkToken(keys, purpose, named)}`;
}

export type LinkedProposal = { readonly accountId: string; readonly row: ProposalRow };

/** Undefined for a link that was never issued. */
export async function findLinkedProposal(
  { db, keys }: { db: Database; keys: KeyRing },
  token: string,
): Promise<LinkedProposal | undefined> {
  const named = openLinkToken(keys, purpose, { token, bytes: 2 * idBytes + hashBytes });
  if (named === undefined) return undefined;
  const accountId = unpackId(named.subarray(0, idBytes));
  const proposalId = unpackId(named.subarray(idBytes, 2 * idBytes));
  const row = await findProposal(db.tenant(accountId), { accountId, proposalId });
  const isProposed = row !== undefined && hashProposed(row).equals(named.subarray(2 * idBytes));
  return isProposed ? { accountId, row } : undefined;
}
