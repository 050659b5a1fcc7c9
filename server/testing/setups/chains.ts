import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CheckpointServices } from '../../src/ledger/checkpoints.ts';
import type { MoneyTest, Owner } from './money.ts';

/** An account with three commits, and a folder for its checkpoints. */
export type ChainedAccount = {
  readonly folder: string;
  readonly services: CheckpointServices;
  readonly owner: Owner;
  readonly payouts: string[];
  remove(): void;
};

export async function createChainedAccount(money: MoneyTest): Promise<ChainedAccount> {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-chain-'));
  const { db, keys } = money;
  const file = join(folder, 'checkpoints.jsonl');
  const owner = await money.createOwner({ USD: 1_000_000n });
  const payouts: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    payouts.push((await money.quoteAndCommit(owner)).payoutId);
  }
  return {
    folder,
    services: { db, keys, environment: 'staging', file, realNowMs: Date.now },
    owner,
    payouts,
    remove: () => rmSync(folder, { recursive: true }),
  };
}
