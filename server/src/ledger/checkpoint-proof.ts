import type { PublicKey } from '../core/verifying-keys.ts';
import type { Session } from '../db/postgres/pool.ts';
import { type Checkpoint, chains, isSigned, readStatement } from './chain.ts';
import type { ChainVerifier } from './chain-verifier.ts';
import { listHashesAt } from './checkpoints.sql.ts';

/** Compares checkpoints with the links of a live database, some at a time: there may be millions. */

export type Checkpoints = Iterable<Checkpoint> | AsyncIterable<Checkpoint>;

export type ComparedCheckpoints = {
  count: number;
  /** When the newest was signed; "" without one. */
  signedAt: string;
};

type Head = { account_id: string; chain: (typeof chains)[number]; place: string; hash: string };

const comparedAtOnce = 500;

export async function compareCheckpoints(
  session: Session,
  checkpoints: Checkpoints,
  { keys, report }: { keys: readonly PublicKey[]; report: ChainVerifier['report'] },
): Promise<ComparedCheckpoints> {
  const compared = { count: 0, signedAt: '' };
  let heads: Head[] = [];
  for await (const checkpoint of checkpoints) {
    const statement = readStatement(checkpoint);
    compared.count += 1;
    if (statement.signed_at > compared.signedAt) compared.signedAt = statement.signed_at;
    const isGenuine = isSigned(checkpoint, keys);
    for (const chain of chains) {
      const { place, hash } = statement[chain] ?? { place: '0', hash: '' };
      if (place === '0') continue;
      const at = { account_id: statement.account_id, chain, place };
      if (isGenuine) heads.push({ ...at, hash });
      else report({ ...at, code: 'checkpoint_forged' });
    }
    if (heads.length < comparedAtOnce) continue;
    await compareHeads(session, heads, report);
    heads = [];
  }
  await compareHeads(session, heads, report);
  return compared;
}

async function compareHeads(
  session: Session,
  heads: readonly Head[],
  report: ChainVerifier['report'],
): Promise<void> {
  const hashes = await listHashesAt(session, heads);
  for (const [index, { hash, ...at }] of heads.entries()) {
    const found = hashes[index];
    if (found === undefined || found === '') {
      report({ ...at, code: 'end_missing', detail: 'it was longer when it was signed' });
    } else if (found !== hash) report({ ...at, code: 'checkpoint_differs' });
  }
}
