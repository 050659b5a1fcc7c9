import type { z } from 'zod';
import type { Instruction, RailAnswer, RailHost, RecordChange } from '../contract/contract.ts';
import {
  createUpdate,
  type DecideNext,
  type NextRecord,
  openRecords,
  type Records,
  type RecordsOptions,
  type SeenRecord,
  type TypedRecord,
  type UpdatedRecord,
} from './records.ts';

/**
 * What a rail remembers of its payments: one record for each reference, kept forever, in states and
 * values of the rail's own. The book keeps the promises that do not depend on the rail:
 *
 * - A reference is entered once. A second writer gets the answer of the existing record.
 * - A reference that comes again with another instruction is `unknown` with reason `duplicate`, and
 *   changes nothing.
 * - A cancel that arrives before the send leaves a tombstone, so that the late send is refused.
 */
export type PaymentBook<State extends string, Value> = Pick<
  Records<State, Value>,
  'list' | 'page' | 'hasAny'
> & {
  find(reference: string): Promise<TypedRecord<State, Value> | undefined>;
  /** Whether the payment has a record, or had one before its recipient was erased. */
  isKnown(reference: string): Promise<boolean>;
  update(reference: string, decide: DecideNext<State, Value>): Promise<UpdatedRecord<State, Value>>;
  /** By the key that `formatKey` makes of a reference. */
  findByKey(key: string): Promise<TypedRecord<State, Value> | undefined>;
  updateByKey(key: string, decide: DecideNext<State, Value>): Promise<UpdatedRecord<State, Value>>;
  /** What the book says of the instruction; undefined where it does not know the reference. */
  answer(instruction: Instruction): Promise<RailAnswer | undefined>;
  /** Enters a payment that the book does not know, then answers from the record that is there. */
  enter(
    instruction: Instruction,
    first: NextRecord<State, Value>,
  ): Promise<{ readonly isNew: boolean; readonly answer: RailAnswer }>;
  /** Stops a payment, or leaves a tombstone for its reference, then answers from the record. */
  cancel(instruction: Instruction, how: Cancellation<State, Value>): Promise<RailAnswer>;
  /** The record with its companions, for a write that has more in it. */
  change(
    seen: SeenRecord | TypedRecord<State, Value>,
    next: NextRecord<State, Value>,
  ): RecordChange[];
  /** False, and nothing written, where the record is no longer as it was seen. */
  write(
    seen: SeenRecord | TypedRecord<State, Value>,
    next: NextRecord<State, Value>,
  ): Promise<boolean>;
};

export type Cancellation<State extends string, Value> = {
  /** What is entered for a reference that was never sent: refused forever. */
  readonly tombstone: NextRecord<State, Value>;
  /** What a payment becomes that has not left yet; undefined where it is too late to stop it. */
  withdraw(record: TypedRecord<State, Value>): NextRecord<State, Value> | undefined;
};

export type PaymentBookOptions<State extends string, Schema extends z.ZodType> = RecordsOptions<
  State,
  Schema
> & {
  /** Whether the record was made from this instruction: the same money to the same recipient. */
  isSame(record: TypedRecord<State, z.output<Schema>>, instruction: Instruction): boolean;
  /** What the rail answers from a record whose instruction is the same. */
  answer(
    record: TypedRecord<State, z.output<Schema>>,
    instruction: Instruction,
  ): RailAnswer | Promise<RailAnswer>;
  /** The record's key; the reference itself when absent. */
  formatKey?(reference: string): string;
  /** Records that follow from a payment, such as an entry in a queue, and change with it. */
  changeCompanions?(
    before: TypedRecord<State, z.output<Schema>> | undefined,
    after: NextRecord<State, z.output<Schema>> & { readonly key: string },
  ): readonly RecordChange[];
};

export function openPaymentBook<const State extends string, Schema extends z.ZodType>(
  host: Pick<RailHost, 'store' | 'log'>,
  options: PaymentBookOptions<State, Schema>,
): PaymentBook<State, z.output<Schema>> {
  type Book = PaymentBook<State, z.output<Schema>>;
  const { formatKey = (reference) => reference } = options;
  const records = openRecords(host.store, options);
  const find: Book['find'] = (reference) => records.find(formatKey(reference));
  const change: Book['change'] = (seen, next) => [
    records.change(seen, next),
    ...(options.changeCompanions?.('value' in seen ? seen : undefined, {
      ...next,
      key: seen.key,
    }) ?? []),
  ];
  const write: Book['write'] = (seen, next) => host.store.write(change(seen, next));
  const updateKey = createUpdate({ find: records.find, isErased: records.isErased, write });
  const update: Book['update'] = (reference, decide) => updateKey(formatKey(reference), decide);
  const answerFrom = async (
    record: TypedRecord<State, z.output<Schema>>,
    instruction: Instruction,
  ): Promise<RailAnswer> => {
    if (options.isSame(record, instruction)) return options.answer(record, instruction);
    const { reference } = instruction;
    host.log('error', 'the reference is already used by another instruction', { reference });
    return { outcome: 'unknown', reason: 'duplicate' };
  };
  const answerNow = async (instruction: Instruction): Promise<RailAnswer> => {
    const record = await find(instruction.reference);
    // Records of payments are never removed, and are emptied only after the payout has ended.
    if (record === undefined) return { outcome: 'unknown', reason: 'no_answer' };
    return answerFrom(record, instruction);
  };
  return {
    list: records.list,
    page: records.page,
    hasAny: records.hasAny,
    find,
    isKnown: async (reference) =>
      (await find(reference)) !== undefined || records.isErased(formatKey(reference)),
    findByKey: records.find,
    updateByKey: updateKey,
    answer: async (instruction) => {
      const record = await find(instruction.reference);
      return record && answerFrom(record, instruction);
    },
    enter: async (instruction, first) => {
      const { reference } = instruction;
      const isNew = await write({ key: formatKey(reference), revision: 0, reference }, first);
      return { isNew, answer: await answerNow(instruction) };
    },
    cancel: async (instruction, { tombstone, withdraw }) => {
      await update(instruction.reference, (record) => {
        if (record === undefined) return tombstone;
        return options.isSame(record, instruction) ? withdraw(record) : undefined;
      });
      return answerNow(instruction);
    },
    update,
    change,
    write,
  };
}
