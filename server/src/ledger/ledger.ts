import { newId } from '../core/ids.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import {
  type CurrencySum,
  postFunding,
  selectCurrencySums,
  selectStuckPayouts,
  selectWrongBalances,
  selectWrongBatches,
  selectWrongPayouts,
  type WalletRow,
  type WrongBalance,
  type WrongBatch,
  type WrongPayout,
} from './ledger.sql.ts';

export { findWallet } from './ledger.sql.ts';

/**
 * The ledger's public face. What a payout posts is written by the payout's own statements; here are
 * funding, and the proof that the books are right.
 */

/** Brings `amountMinor` in from outside (0n only opens the balance) and answers the balance. */
export function fundBalance(
  session: Session,
  funding: { accountId: string; currency: string; amountMinor: bigint },
): Promise<WalletRow> {
  return postFunding(session, { ...funding, token: newId(), journalId: newId() });
}

export type LedgerProof = {
  isSound: boolean;
  currencies: CurrencySum[];
  wrongBalances: WrongBalance[];
  wrongPayouts: WrongPayout[];
  wrongBatches: WrongBatch[];
  /** On their way, with nothing due and no open exception. */
  stuckPayouts: WrongPayout[];
};

/**
 * Recomputes every balance from the transfers, sums each currency (zero, always), holds every
 * payout's postings against its status, and every batch's reserve against its rows, and looks for
 * payouts without a next step; all of one snapshot.
 */
export function verifyLedger(db: Database): Promise<LedgerProof> {
  return db.systemTransaction(async (session) => {
    await session.rows({
      name: 'use_one_snapshot',
      text: 'set transaction isolation level repeatable read, read only',
    });
    await session.rows({ name: 'take_all_time', text: 'set local statement_timeout = 0' });
    await session.rows({ name: 'read_all', text: 'set local enable_seqscan = on' });
    await session.rows({
      name: 'read_with_helpers',
      text: 'set local max_parallel_workers_per_gather to default',
    });
    const currencies = await selectCurrencySums(session);
    const wrongBalances = await selectWrongBalances(session);
    const wrongPayouts = await selectWrongPayouts(session);
    const wrongBatches = await selectWrongBatches(session);
    const stuckPayouts = await selectStuckPayouts(session);
    const isSound =
      wrongBalances.length === 0 &&
      wrongPayouts.length === 0 &&
      wrongBatches.length === 0 &&
      stuckPayouts.length === 0 &&
      currencies.every((currency) => currency.total === '0');
    return { isSound, currencies, wrongBalances, wrongPayouts, wrongBatches, stuckPayouts };
  });
}
