import { canonicalizeJson, type ExactJson } from '../../core/exact-json.ts';
import {
  describeFault,
  type OrderedMoney,
  type Reading,
  readRefusal,
  readStatement,
} from './answers.ts';
import { batchItemSchema, batchResultSchema } from './batch-protocol.ts';
import { type ExchangeResult, notUnderstood } from './exchange.ts';

/** What the answer to a batch means for each of its orders. */

export type BatchReading = (instruction: OrderedMoney) => Reading;

/** An answer that is about the batch as a whole is about each of its orders. */
export function readBatch(result: ExchangeResult, batch: string): BatchReading {
  if (result.kind !== 'answered') return () => result;
  const { status, json, createdS } = result;
  if (status !== 200) {
    const refusal = readRefusal(result);
    return () => refusal;
  }
  const read = batchResultSchema.safeParse(json);
  if (!read.success) return () => notUnderstood(describeFault(read.error));
  if (read.data.batch !== batch) return () => notUnderstood('the answer is about another batch');
  const entries = Map.groupBy(read.data.orders as ExactJson[], readReference);
  return (instruction) => {
    const [entry, ...others] = entries.get(instruction.reference) ?? [];
    if (entry === undefined) return notUnderstood('the answer lacks an order of the batch');
    if (others.length > 0) return notUnderstood('the answer has an order of the batch twice');
    return readItem(entry, { createdS, instruction });
  };
}

function readReference(entry: ExactJson): string {
  const given = batchItemSchema.pick({ reference: true }).safeParse(entry);
  return given.success ? given.data.reference : '';
}

function readItem(
  entry: ExactJson,
  { createdS, instruction }: { createdS: number; instruction: OrderedMoney },
): Reading {
  const item = batchItemSchema.safeParse(entry);
  if (!item.success) return notUnderstood(describeFault(item.error));
  const { payment, error } = item.data;
  if (payment !== undefined && error !== undefined) {
    return notUnderstood('an order of the batch has a payment and an error');
  }
  if (error !== undefined) return { kind: 'refused', code: error, createdS, retryAfterMs: 0 };
  if (payment === undefined) {
    return notUnderstood('an order of the batch has neither a payment nor an error');
  }
  // Only what is about this payment is kept with it.
  const json = (entry as { payment: ExactJson }).payment;
  const raw = Buffer.from(canonicalizeJson(json));
  return readStatement({ json, raw, createdS }, instruction);
}
