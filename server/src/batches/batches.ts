import { getCurrency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { formatAmount } from '../core/money.ts';
import type { Session } from '../db/postgres/pool.ts';
import { type BatchRow, cancelBatchRow, findBatchRow } from './batches.sql.ts';
import { beginCommit } from './commit.sql.ts';
import { listWallets } from './row-context.sql.ts';

/** A batch after its upload: what is said of it, its commit and its end. */

type BatchId = { accountId: string; batchId: string };

/** @throws AppError not_found. */
export async function getBatch(session: Session, id: BatchId): Promise<BatchRow> {
  const batch = await findBatchRow(session, id);
  if (batch === undefined) throw new AppError('not_found', 'no such batch');
  return batch;
}

/** The sums of the valid rows of one pair and rate, in minor units. */
export type BatchTotal = {
  source: string;
  destination: string;
  rate: string;
  rows: number;
  sourceMinor: bigint;
  feeMinor: bigint;
  destinationMinor: bigint;
};

type StoredTotal = Omit<BatchTotal, 'sourceMinor' | 'feeMinor' | 'destinationMinor'> & {
  sourceMinor: string;
  feeMinor: string;
  destinationMinor: string;
};

export function readTotals(batch: BatchRow): BatchTotal[] {
  const stored = JSON.parse(batch.totals) as StoredTotal[];
  return stored.map((total) => ({
    ...total,
    sourceMinor: BigInt(total.sourceMinor),
    feeMinor: BigInt(total.feeMinor),
    destinationMinor: BigInt(total.destinationMinor),
  }));
}

export type BatchFunds = { currency: string; neededMinor: bigint; availableMinor: bigint };

/** What the valid rows take from each balance, fees included, and what is there now. */
export async function findFunds(
  session: Session,
  { accountId, totals }: { accountId: string; totals: readonly BatchTotal[] },
): Promise<BatchFunds[]> {
  const needed = new Map<string, bigint>();
  for (const { source, sourceMinor, feeMinor } of totals) {
    needed.set(source, (needed.get(source) ?? 0n) + sourceMinor + feeMinor);
  }
  if (needed.size === 0) return [];
  const wallets = await listWallets(session, accountId);
  const balances = new Map(wallets.map(({ currency, balance }) => [currency, balance]));
  return [...needed].map(([currency, neededMinor]) => ({
    currency,
    neededMinor,
    availableMinor: balances.get(currency) ?? 0n,
  }));
}

export type BatchCommitAnswer = {
  status: 'success' | 'failure' | 'ex_rate_expired';
  errors: string;
};

/**
 * Commits a batch: from now on its rows become payouts one after the other, and the money for all
 * of them is set aside. Committing a committed batch again answers the same success.
 *
 * @throws AppError not_found.
 */
export async function commitBatch(
  session: Session,
  commit: BatchId & { mode: 'all' | 'valid' },
): Promise<BatchCommitAnswer> {
  const begun = await beginCommit(session, commit);
  switch (begun.result) {
    case 'success':
      return { status: 'success', errors: '' };
    case 'ex_rate_expired':
      return {
        status: 'ex_rate_expired',
        errors: 'the exchange rates expired: quote the batch again',
      };
    case 'invalid_rows': {
      const what = begun.detail === '1' ? '1 row is invalid' : `${begun.detail} rows are invalid`;
      return { status: 'failure', errors: `${what}: commit with mode "valid" to leave them out` };
    }
    case 'insufficient_funds':
      return { status: 'failure', errors: describeShortage(begun.detail) };
    case 'nothing_to_pay':
      return { status: 'failure', errors: 'nothing to pay: no row of the batch is valid and new' };
    case 'not_quoted':
      return { status: 'failure', errors: describeUnquoted(begun.detail) };
    case 'not_found':
      throw new AppError('not_found', 'no such batch');
  }
}

/** From the amounts that were compared, in minor units. */
function describeShortage(detail: string): string {
  const short = JSON.parse(detail) as { currency: string; needed: string; available: string }[];
  const parts = short.map(({ currency, needed, available }) => {
    const known = getCurrency(currency);
    const [most, there] = [needed, available].map((minor) => formatAmount(BigInt(minor), known));
    return `${most} ${currency} are needed and ${there} available`;
  });
  return `insufficient funds: ${parts.join('; ')}`;
}

function describeUnquoted(status: string): string {
  return status === 'DRAFT' ? 'the batch is not quoted' : `the batch is ${status}`;
}

/** @throws AppError not_found, illegal_move where it is committed already. */
export async function cancelBatch(session: Session, id: BatchId): Promise<BatchRow> {
  const cancelled = await cancelBatchRow(session, id);
  if (cancelled !== undefined) return cancelled;
  const batch = await getBatch(session, id);
  if (batch.status === 'CANCELLED') return batch;
  throw new AppError('illegal_move', `a batch that is ${batch.status} cannot be cancelled`);
}
