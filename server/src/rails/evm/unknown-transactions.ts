import { z } from 'zod';
import type { RailHost, RecordChange, StoredRecord } from '../contract/contract.ts';
import type { Recovery } from './nonce-records.ts';
import type { EvmParts } from './parts.ts';
import { makeTransfer, type Payment } from './payment.ts';
import type { Consumer } from './scan.ts';
import { isSameTransfer, readOrder } from './transaction.ts';

/**
 * Transactions of the account that the memory did not know. What such a transaction paid is kept,
 * and a payment that orders exactly that takes it for its own instead of paying again.
 */

const strayCollection = 'stray';

const hexText = z.templateLiteral(['0x', z.string()]);
const straySchema = z.object({
  nonce: z.int(),
  hash: hexText,
  minedAtMs: z.number(),
  order: z
    .object({ recipient: hexText, units: z.string(), contract: hexText.nullable() })
    .nullable(),
  /** Set where a recovery confirmed it: orders until then take it for their payment, too. */
  takenForOrdersUntilMs: z.number().nullable().default(null),
});

/**
 * After a restore clients send again what the database lost: for so long after a confirmed recovery
 * an order that a transaction has paid exactly is taken for the one that it paid.
 */
const repeatedOrderMs = 24 * 3_600_000;

/** Keeps what a foreign transaction paid; one that pays nothing we could have ordered is only noted. */
export function keepStray(
  { transaction, block }: Consumer,
  recovery: Recovery | undefined,
): RecordChange {
  const order = readOrder(transaction);
  const isConfirmed = recovery?.state === 'confirmed' && transaction.nonce < recovery.upTo;
  return {
    collection: strayCollection,
    key: transaction.hash,
    revision: 0,
    next: {
      state: order === undefined ? 'other' : 'open',
      value: {
        nonce: transaction.nonce,
        hash: transaction.hash,
        minedAtMs: block.timestamp * 1000,
        order: order === undefined ? null : { ...order, units: order.units.toString() },
        takenForOrdersUntilMs: isConfirmed ? recovery.atMs + repeatedOrderMs : null,
      },
    },
  };
}

export type Stray = z.infer<typeof straySchema> & { readonly record: StoredRecord };

export async function listStrays({ host }: EvmParts): Promise<Stray[]> {
  const strays: Stray[] = [];
  const count = 200;
  let after = '';
  for (;;) {
    const records = await host.store.list(strayCollection, { state: 'open', after, count });
    for (const record of records) strays.push({ ...straySchema.parse(record.value), record });
    const last = records.at(-1);
    if (last === undefined || records.length < count) return strays;
    after = last.key;
  }
}

export function takeStray({ record }: Stray): RecordChange {
  const { key, revision, value } = record;
  return { collection: strayCollection, key, revision, next: { state: 'taken', value } };
}

/** Clocks of blocks and of the service may be apart by so much. */
const clockSlackMs = 10 * 60_000;

/**
 * The unknown transaction that has paid what is ordered. A payment cannot have been paid before it
 * was ordered, unless its first order was lost with a database. Blocks have the time of day, and an
 * order that of the environment, which is never further ahead at the order than it is now.
 */
export function findStray(
  { nowMs, realNowMs }: Pick<RailHost, 'nowMs' | 'realNowMs'>,
  strays: readonly Stray[],
  payment: Pick<Payment, 'committedAtMs' | 'recipient' | 'units' | 'contract'>,
): Stray | undefined {
  const orderedAtMs = payment.committedAtMs - Math.max(0, nowMs() - realNowMs());
  return strays.find(
    ({ order, minedAtMs, takenForOrdersUntilMs }) =>
      order !== null &&
      (minedAtMs + clockSlackMs >= orderedAtMs ||
        (takenForOrdersUntilMs !== null && payment.committedAtMs <= takenForOrdersUntilMs)) &&
      isSameTransfer(
        {
          recipient: order.recipient,
          units: BigInt(order.units),
          contract: order.contract,
        },
        makeTransfer(payment),
      ),
  );
}
