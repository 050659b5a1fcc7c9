import { z } from 'zod';
import { getCurrency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { formatAmount } from '../core/money.ts';
import type { Session } from '../db/postgres/pool.ts';
import { stopTexts } from '../payouts/obstacles.ts';
import {
  type BatchId,
  type BatchRow,
  type BatchTotal,
  cancelBatchRow,
  findBatchRow,
} from './batches.sql.ts';
import { type BatchCommit, type BeginRow, beginCommit } from './commit.sql.ts';
import { listWallets } from './row-context.sql.ts';

/** A batch after its upload: the funds that it needs, its commit and its cancellation. */

/** @throws AppError not_found. */
export async function getBatch(session: Session, id: BatchId): Promise<BatchRow> {
  const batch = await findBatchRow(session, id);
  if (batch === undefined) throw new AppError('not_found', 'Batch not found');
  return batch;
}

export type BatchFunds = { currency: string; neededMinor: bigint; availableMinor: bigint };

/** The money that the valid rows need from each balance, fees included, and the balance now. */
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

export const batchRefusals = [
  'account_frozen',
  'commits_stopped',
  'ex_rate_expired',
  'invalid_rows',
  'insufficient_funds',
  'nothing_to_pay',
  'not_quoted',
  'quote_changed',
] as const;

export type BatchCommitAnswer = {
  status: 'success' | 'failure' | 'ex_rate_expired';
  errors: string;
  /** Undefined: it is committed. */
  code?: (typeof batchRefusals)[number];
  /** What balances lack. */
  shortfalls?: readonly { minor: bigint; currency: string }[];
};

/**
 * Commits a batch: reserves the money of all rows, which then become payouts in the background. Committing a committed batch again answers the same success.
 *
 * @throws AppError not_found.
 */
export async function commitBatch(
  session: Session,
  commit: BatchCommit,
): Promise<BatchCommitAnswer> {
  const begun = await beginCommit(session, commit);
  switch (begun.result) {
    case 'success':
      return { status: 'success', errors: '' };
    case 'ex_rate_expired':
      return {
        status: 'ex_rate_expired',
        errors: 'the exchange rates have expired; quote the batch again',
        code: begun.result,
      };
    case 'insufficient_funds': {
      const shortages = readShortages(begun.detail);
      return {
        status: 'failure',
        errors: describeShortages(shortages),
        code: begun.result,
        shortfalls: shortages.map(({ currency, neededMinor, availableMinor }) => ({
          minor: neededMinor - availableMinor,
          currency,
        })),
      };
    }
    case 'account_frozen':
    case 'commits_stopped':
      return { status: 'failure', errors: stopTexts[begun.result], code: begun.result };
    case 'quote_changed':
    case 'other_quote':
      return { status: 'failure', errors: describeRefusal(begun), code: 'quote_changed' };
    case 'invalid_rows':
    case 'nothing_to_pay':
    case 'not_quoted':
      return { status: 'failure', errors: describeRefusal(begun), code: begun.result };
    case 'not_found':
      throw new AppError('not_found', 'Batch not found');
  }
}

function describeRefusal({ result, detail }: BeginRow): string {
  if (result === 'nothing_to_pay') return 'the batch has no valid row that is not committed yet';
  if (result === 'not_quoted') return describeUnquoted(detail);
  if (result === 'quote_changed')
    return `the batch was quoted again: read its prices, and commit quote ${detail}`;
  if (result === 'other_quote') return `quote ${detail} of the batch was committed`;
  const what = detail === '1' ? '1 row is invalid' : `${detail} rows are invalid`;
  return `${what}; commit with mode "valid" to leave them out`;
}

const shortageRows = z.array(
  z.object({ currency: z.string(), needed: z.string(), available: z.string() }),
);

/** From amounts in minor units. */
function readShortages(detail: string): BatchFunds[] {
  return shortageRows.parse(JSON.parse(detail)).map(({ currency, needed, available }) => ({
    currency,
    neededMinor: BigInt(needed),
    availableMinor: BigInt(available),
  }));
}

function describeShortages(shortages: readonly BatchFunds[]): string {
  const parts = shortages.map(({ currency, neededMinor, availableMinor }) => {
    const format = (minor: bigint): string => formatAmount(minor, getCurrency(currency));
    return `${format(neededMinor)} ${currency} are needed and ${format(availableMinor)} available`;
  });
  return `insufficient funds: ${parts.join('; ')}`;
}

function describeUnquoted(status: string): string {
  return status === 'DRAFT' ? 'the batch must be quoted first' : `the batch is ${status}`;
}

/** @throws AppError not_found, illegal_move where it is already committed. */
export async function cancelBatch(session: Session, id: BatchId): Promise<BatchRow> {
  const cancelled = await cancelBatchRow(session, id);
  if (cancelled !== undefined) return cancelled;
  const batch = await getBatch(session, id);
  if (batch.status === 'CANCELLED') return batch;
  throw new AppError('illegal_move', `the batch is already ${batch.status}`);
}
