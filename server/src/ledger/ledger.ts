import { newId } from '../core/ids.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { beginWideReading } from '../db/postgres/snapshot.ts';
import { exec } from '../db/rows.ts';
import {
  type LedgerFindings,
  postFunding,
  selectFindings,
  selectTransfersOfTransaction,
  type WalletRow,
} from './ledger.sql.ts';

export { entryTypes, findBalanceMinor, findWallet } from './ledger.sql.ts';
export { findSuspense, listSuspense, type SuspenseRow } from './suspense.sql.ts';

/** Funding and verification of the ledger. Payouts are posted by the SQL that moves them. */

/** Adds `amountMinor` from outside (0n only opens the balance) and returns the new balance. */
export function fundBalance(
  session: Session,
  funding: { accountId: string; currency: string; amountMinor: bigint },
): Promise<WalletRow> {
  return postFunding(session, { ...funding, token: newId(), journalId: newId() });
}

export type Posting = { from: string; to: string; minor: bigint; currency: string };
export type BalanceChange = { token: string; currency: string; before: bigint; after: bigint };

/** What the transaction of the session has posted so far, and the balances that it has changed. */
export async function readPostings(
  session: Session,
  accountId: string,
): Promise<{ postings: Posting[]; balances: BalanceChange[] }> {
  const balances = new Map<string, BalanceChange>();
  const postings: Posting[] = [];
  for (const row of await selectTransfersOfTransaction(session, accountId)) {
    const { token, wallet_currency: walletCurrency, balance: after } = row;
    const { from_name: from, to_name: to, amount: minor, currency } = row;
    const change = balances.get(token) ?? { token, currency: walletCurrency, before: after, after };
    if (from === 'wallet') change.before += minor;
    if (to === 'wallet') change.before -= minor;
    balances.set(token, change);
    postings.push({ from, to, minor, currency });
  }
  return { postings, balances: [...balances.values()] };
}

export type LedgerProof = LedgerFindings & { isSound: boolean };

/**
 * Recomputes every balance from the transfers, checks that each currency sums to zero, compares the
 * postings of every payout with its status and the reserve of every batch with its rows, and lists
 * stuck payouts. All queries read the same snapshot.
 */
export function verifyLedger(db: Database): Promise<LedgerProof> {
  return db.systemTransaction(async (session) => {
    await beginWideReading(session);
    const text = 'set local max_parallel_workers_per_gather to default';
    await exec(session, { name: '', text });
    const { currencies, ...wrong } = await selectFindings(session);
    const isSound =
      Object.values(wrong).every((rows) => rows.length === 0) &&
      currencies.every(({ total }) => total === '0');
    return { isSound, currencies, ...wrong };
  });
}
