import { z } from 'zod';
import type { RailHost, RecordChange } from '../contract/contract.ts';
import { minorUnits, openRecords, type Records, type TypedRecord } from '../kit/records.ts';
import type { SentTransaction } from './chain.ts';
import type { Recovery } from './nonce-records.ts';
import { makeTransfer, type Payment } from './payment.ts';
import { isSameTransfer, readOrder } from './transaction.ts';

/**
 * Transactions of the account without a record, by hash. A payment that orders exactly what such a
 * transaction paid is linked to it instead of being paid again.
 */

const valueSchema = z.object({
  nonce: z.int(),
  hash: z.templateLiteral(['0x', z.string()]),
  minedAtMs: z.number(),
  /** What it paid; null: nothing that the rail could have ordered. */
  order: z
    .object({
      recipient: z.templateLiteral(['0x', z.string()]),
      units: minorUnits,
      contract: z.templateLiteral(['0x', z.string()]).nullable(),
    })
    .nullable(),
  /** Set where a recovery confirmed it: it is linked to orders up to this time, too. */
  takenForOrdersUntilMs: z.number().nullable().default(null),
});

type State = 'open' | 'other' | 'taken';
type Value = z.infer<typeof valueSchema>;
export type UnknownTransaction = TypedRecord<State, Value>;
export type UnknownTransactions = Records<State, Value>;

export function openUnknownTransactions({ store }: RailHost): UnknownTransactions {
  const states = ['open', 'other', 'taken'] as const;
  return openRecords(store, { collection: 'unknown', states, value: valueSchema });
}

/**
 * After a restore clients send again what the database lost: for so long after a confirmed recovery
 * an order is linked to a transaction that paid exactly the same.
 */
const repeatedOrderMs = 24 * 3_600_000;

export function storeUnknownTransaction(
  records: UnknownTransactions,
  { transaction, block }: SentTransaction,
  recovery: Recovery | undefined,
): RecordChange {
  const { nonce, hash } = transaction;
  const order = readOrder(transaction) ?? null;
  const isConfirmed = recovery?.state === 'confirmed' && nonce < recovery.value.upTo;
  return records.change(
    { key: hash, revision: 0 },
    {
      state: order === null ? 'other' : 'open',
      value: {
        nonce,
        hash,
        minedAtMs: block.timestamp * 1000,
        order,
        takenForOrdersUntilMs: isConfirmed ? recovery.value.atMs + repeatedOrderMs : null,
      },
    },
  );
}

/** How far the clocks of blocks and of the service may differ. */
const clockSlackMs = 10 * 60_000;

/**
 * The unknown transaction that paid the order. A payment cannot be paid before it is ordered, unless
 * its first order was lost with a database. Blocks have the time of day and orders that of the
 * environment, which was never further ahead than now.
 */
export function findUnknownTransaction(
  { nowMs, realNowMs }: Pick<RailHost, 'nowMs' | 'realNowMs'>,
  open: readonly UnknownTransaction[],
  payment: Pick<Payment, 'committedAtMs' | 'recipient' | 'units' | 'contract'>,
): UnknownTransaction | undefined {
  const { committedAtMs } = payment;
  const orderedAtMs = committedAtMs - Math.max(0, nowMs() - realNowMs());
  return open.find(
    ({ value: { order, minedAtMs, takenForOrdersUntilMs } }) =>
      order !== null &&
      (minedAtMs + clockSlackMs >= orderedAtMs ||
        (takenForOrdersUntilMs !== null && committedAtMs <= takenForOrdersUntilMs)) &&
      isSameTransfer(order, makeTransfer(payment)),
  );
}
