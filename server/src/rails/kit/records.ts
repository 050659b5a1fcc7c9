import { z } from 'zod';
import type { RailStore, RecordChange, StoredRecord } from '../contract/contract.ts';
import { type Reason, reasonTexts } from '../contract/reasons.ts';

/**
 * A collection of a rail's store with the states and the value schema of its records. What is read
 * is parsed by the schema and what is written is encoded by it, so that amounts can be `bigint` in
 * code and text in JSON (`minorUnits`). A schema holds codecs only, because a one-way `.transform()`
 * cannot be encoded. Members that the schema does not name are neither read nor written.
 */
export type Records<State extends string, Value> = {
  find(key: string): Promise<TypedRecord<State, Value> | undefined>;
  /** Whether the record was about a recipient whose data was erased since. */
  isErased(key: string): Promise<boolean>;
  /** All records in the order of their keys, read page by page. */
  list(query?: {
    readonly state?: State;
    /** Only keys that begin with it and are longer. */
    readonly prefix?: string;
  }): AsyncGenerator<TypedRecord<State, Value>, void>;
  /** One page, for a pass that continues after the last key next time. */
  page(query: {
    readonly state?: State;
    readonly after?: string;
    readonly count: number;
  }): Promise<readonly TypedRecord<State, Value>[]>;
  /** Whether a record is in one of the states. */
  hasAny(ofStates: readonly State[]): Promise<boolean>;
  /** For a `RailStore.write` that has more in it; `next` undefined removes the record. */
  change(seen: SeenRecord, next: NextRecord<State, Value> | undefined): RecordChange;
  /** False, and nothing written, where the record is no longer as it was seen. */
  write(seen: SeenRecord, next: NextRecord<State, Value>): Promise<boolean>;
  /**
   * Applies `decide` to the record as it is, again where another writer was faster. The record of an erased
   * recipient stays as it is.
   *
   * @throws Error where other writers are faster over and over.
   */
  update(key: string, decide: DecideNext<State, Value>): Promise<UpdatedRecord<State, Value>>;
};

/** Gets undefined where there is no record, and returns undefined to leave what is there. */
export type DecideNext<State extends string, Value> = (
  record: TypedRecord<State, Value> | undefined,
) => NextRecord<State, Value> | undefined;

/** The record as it is now. */
export type UpdatedRecord<State extends string, Value> =
  | { readonly record: TypedRecord<State, Value>; readonly isChanged: boolean }
  | { readonly record: undefined; readonly isChanged: false };

export type TypedRecord<State extends string, Value> = {
  readonly key: string;
  readonly state: State;
  readonly revision: number;
  readonly value: Value;
};

export type NextRecord<State extends string, Value> = {
  readonly state: State;
  readonly value: Value;
};

/** The record as it was read; revision 0: there is none yet. */
export type SeenRecord = Pick<RecordChange, 'key' | 'revision' | 'reference'>;

export type RecordsOptions<State extends string, Schema extends z.ZodType> = {
  readonly collection: string;
  readonly states: readonly State[];
  readonly value: Schema;
  /** Keys are references of payments, and records tell of their recipients (`RecordChange`). */
  readonly isOfRecipient?: true;
};

/** An amount or another whole number up to 256 bits: `bigint` in code, digits in JSON. */
export const minorUnits = z.codec(z.string().regex(/^\d{1,78}$/), z.bigint().nonnegative(), {
  decode: (text) => BigInt(text),
  encode: (amount) => amount.toString(),
});

export const reasonSchema = z.custom<Reason>(
  (value) => typeof value === 'string' && Object.hasOwn(reasonTexts, value),
);

const pageSize = 200;

export function openRecords<const State extends string, Schema extends z.ZodType>(
  store: RailStore,
  { collection, states, value: schema, isOfRecipient }: RecordsOptions<State, Schema>,
): Records<State, z.output<Schema>> {
  type Value = z.output<Schema>;
  const stateSchema = z.enum(states);
  const read = ({ key, state, revision, value }: StoredRecord): TypedRecord<State, Value> => ({
    key,
    state: stateSchema.parse(state),
    revision,
    value: schema.parse(value),
  });
  const page: Records<State, Value>['page'] = async (query) =>
    (await store.list(collection, query)).map(read);
  const find: Records<State, Value>['find'] = async (key) => {
    const record = await store.get(collection, key);
    return record && read(record);
  };
  const isErased: Records<State, Value>['isErased'] = (key) => store.isErased(collection, key);
  const change: Records<State, Value>['change'] = (
    { key, revision, reference = isOfRecipient && key }: SeenRecord,
    next,
  ) => ({
    ...(reference !== undefined && { reference }),
    collection,
    key,
    revision,
    next: next && { state: next.state, value: z.encode(schema, next.value) },
  });
  const write: Records<State, Value>['write'] = (seen, next) => store.write([change(seen, next)]);
  return {
    find,
    isErased,
    list: async function* list({ state, prefix = '' } = {}) {
      const ofState = state === undefined ? {} : { state };
      for (let after = prefix; ; ) {
        const records = await page({ ...ofState, after, count: pageSize });
        for (const record of records) {
          if (!record.key.startsWith(prefix)) return;
          yield record;
        }
        const last = records.at(-1);
        if (last === undefined || records.length < pageSize) return;
        after = last.key;
      }
    },
    page,
    hasAny: async (ofStates) => {
      for (const state of ofStates) {
        if ((await page({ state, count: 1 })).length > 0) return true;
      }
      return false;
    },
    change,
    write,
    update: createUpdate({ find, isErased, write }),
  };
}

/** Other writers are quick, so that a record that is still contested afterwards shows a defect. */
const triesMax = 30;

/** `write` may write more than the record. */
export function createUpdate<State extends string, Value>({
  find,
  isErased,
  write,
}: {
  find(key: string): Promise<TypedRecord<State, Value> | undefined>;
  isErased(key: string): Promise<boolean>;
  write(
    seen: SeenRecord | TypedRecord<State, Value>,
    next: NextRecord<State, Value>,
  ): Promise<boolean>;
}): Records<State, Value>['update'] {
  return async (key, decide) => {
    for (let tries = 0; tries < triesMax; tries += 1) {
      const record = await find(key);
      const isGone = record === undefined && tries > 0 && (await isErased(key));
      const next = isGone ? undefined : decide(record);
      if (next === undefined) {
        return record === undefined ? { record, isChanged: false } : { record, isChanged: false };
      }
      const seen = record ?? { key, revision: 0 };
      if (await write(seen, next)) {
        const { state, value } = next;
        return { record: { key, state, revision: seen.revision + 1, value }, isChanged: true };
      }
    }
    throw new Error(`the record ${key} was changed by others ${triesMax} times in a row`);
  };
}
