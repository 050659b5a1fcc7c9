import { encodeGeneration } from '../core/environment-keys.ts';
import { AppError } from '../core/errors.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Session, Statement } from './postgres/pool.ts';
import {
  type Columns,
  column,
  defineQuery,
  exec,
  many,
  maybeOne,
  nullable,
  one,
  type Query,
  type RowOf,
} from './rows.ts';

/**
 * Tables whose rows are sealed or authenticated under the keys of the environment. Each module declares
 * its own; `environment/protected-tables.ts` lists them. A rotation walks them by their primary keys.
 */

type KeyType = 'uuid' | 'text' | 'integer' | 'bigint' | 'date' | 'bytea';

/** What no key comes before. */
const beforeAll: Readonly<Record<KeyType, string>> = {
  uuid: '00000000-0000-0000-0000-000000000000',
  text: '',
  integer: '-2147483648',
  bigint: '-9223372036854775808',
  date: '-infinity',
  bytea: '\\x',
};

type Definition<Shape extends Columns, Value extends string> = {
  readonly table: string;
  /** The primary key, in its order. */
  readonly key: Readonly<Record<string, KeyType>>;
  /** Columns that begin with a generation; those that are null or empty are passed over. */
  readonly values: readonly Value[];
  /** SQL: which rows, where the others are not under the keys of the environment. */
  readonly where?: string;
  /** SQL: of a value that is not in every row under the keys of the environment, null in the others. */
  readonly partly?: Readonly<Partial<Record<Value, string>>>;
  /** What else it takes to verify a row; SQL where it is not the column of that name. */
  readonly columns: Shape;
  readonly expressions?: Readonly<Partial<Record<keyof Shape & string, string>>>;
  /** Rows at a time: few where they are large. */
  readonly portion?: number;
  /** Of an append-only table: the function of the database that replaces its one value. */
  readonly replacement?: string;
  /** The values under the newest keys; undefined for a row that is not genuine. @throws likewise. */
  renew(
    keys: KeyRing,
    row: RowOf<Shape> & { readonly [Name in Value]: Buffer },
  ): { readonly [Name in Value]: Buffer } | undefined;
};

export type Renewal = {
  /** Where the next portion begins; undefined at the end of the table. */
  readonly next: readonly string[] | undefined;
  readonly renewed: number;
  /** Primary keys of the rows that verify, where they were only to be inspected. */
  readonly verified: readonly string[];
  /** Primary keys of rows that do not verify, and stay as they are. */
  readonly rejected: readonly string[];
};

export type ProtectedTable = {
  readonly table: string;
  readonly values: readonly string[];
  /** How many rows each generation protects. */
  count(session: Session): Promise<{ generation: number; rows: number }[]>;
  /** Renews, or only inspects, the rows of a portion that are under other keys than the newest. */
  renew(
    session: Session,
    keys: KeyRing,
    portion: { after: readonly string[] | undefined; isInspection: boolean },
  ): Promise<Renewal>;
};

/** Small, so that no request waits long for a row that a rotation holds. */
const portionDefault = 200;
const none = Buffer.alloc(0);

export function defineProtectedTable<Shape extends Columns, const Value extends string>(
  definition: Definition<Shape, Value>,
): ProtectedTable {
  const { table, key, values, portion = portionDefault } = definition;
  const statements = createStatements(definition);
  const first = Object.values(key).map((type) => beforeAll[type]);
  const replace = createReplacement(definition);
  return {
    table,
    values,
    count: (session) => many(session, statements.count),
    renew: async (session, keys, { after = first, isInspection }) => {
      const window = await maybeOne(session, statements.window, [...after, portion]);
      if (window === undefined) {
        return { next: undefined, renewed: 0, verified: [], rejected: [] };
      }
      const newest = encodeGeneration(keys.generation);
      const rows = await many(session, statements.old, [...after, ...window.key, newest]);
      const rejected: string[] = [];
      const fresh: Renewed[] = [];
      for (const row of rows) {
        const old = values.map((name) => row[name] ?? none);
        // The columns of the declaration, and the values as bytes.
        const given = { ...row, ...Object.fromEntries(values.map((name, i) => [name, old[i]])) };
        const renewed = tryRenew(definition, keys, given as never);
        if (renewed === undefined) rejected.push(row.protected_key.join(' '));
        else fresh.push({ key: row.protected_key, old, fresh: renewed });
      }
      const verified = isInspection ? fresh.map(({ key: name }) => name.join(' ')) : [];
      const isDone = isInspection || fresh.length === 0;
      const renewed = isDone ? 0 : await replace(session, fresh);
      return { next: window.key, renewed, verified, rejected };
    },
  };
}

type Renewed = { key: readonly string[]; old: readonly Buffer[]; fresh: readonly Buffer[] };

/** A ciphertext that does not open throws as one under keys that are gone does. */
function tryRenew<Shape extends Columns, Value extends string>(
  { values, renew }: Definition<Shape, Value>,
  keys: KeyRing,
  row: RowOf<Shape> & { readonly [Name in Value]: Buffer },
): Buffer[] | undefined {
  try {
    const renewed = renew(keys, row);
    return renewed && values.map((name) => renewed[name]);
  } catch (error) {
    if (error instanceof AppError) throw error;
    return undefined;
  }
}

const placeholders = (first: number, types: readonly string[]): string =>
  types.map((type, index) => `$${first + index}::${type}`).join(', ');

function createStatements<Shape extends Columns, Value extends string>(
  definition: Definition<Shape, Value>,
) {
  const { table, key, values, columns, expressions = {}, where = 'true' } = definition;
  const names = Object.keys(key);
  const types = Object.values(key);
  const keyTexts = `array[${names.map((name) => `${name}::text`).join(', ')}]`;
  const valueOf = readPartly(definition);
  const ofOther = values.map(
    (name) => `(length(${valueOf(name)}) > 0 and substr(${valueOf(name)}, 1, 4) <> $NEWEST)`,
  );
  const selected = Object.keys(columns).map((name) => {
    const expression = (expressions as Readonly<Record<string, string | undefined>>)[name];
    return expression === undefined ? name : `${expression} as ${name}`;
  });
  const window = defineQuery({
    name: `find_portion_of_${table}`,
    text: `
      select ${keyTexts} as key from (
        select ${names.join(', ')} from ${table}
        where (${names.join(', ')}) > (${placeholders(1, types)})
        order by ${names.join(', ')} limit $${names.length + 1}
      ) portion
      order by ${names.map((name) => `${name} desc`).join(', ')} limit 1`,
    columns: { key: column.texts },
  });
  const old: Query<RowOf<Columns> & OldRow<Value>> = defineQuery({
    name: `list_unrenewed_${table}`,
    text: `
      select ${[
        `${keyTexts} as protected_key`,
        ...selected,
        ...values.map((name) => `${valueOf(name)} as ${name}`),
      ].join(', ')}
      from ${table}
      where (${names.join(', ')}) > (${placeholders(1, types)})
        and (${names.join(', ')}) <= (${placeholders(names.length + 1, types)})
        and (${where}) and (${ofOther.join(' or ').replaceAll('$NEWEST', `$${2 * names.length + 1}`)})
      order by ${names.join(', ')}`,
    columns: {
      protected_key: column.texts,
      ...columns,
      ...Object.fromEntries(values.map((name) => [name, nullable(column.bytes)])),
    },
  }) as never;
  return { window, old, count: createCount(definition) };
}

type OldRow<Value extends string> = { readonly protected_key: string[] } & {
  readonly [Name in Value]: Buffer | null;
};

function readPartly<Shape extends Columns, Value extends string>({
  partly,
}: Pick<Definition<Shape, Value>, 'partly'>) {
  return (name: Value): string => partly?.[name] ?? name;
}

function createCount<Shape extends Columns, Value extends string>(
  definition: Definition<Shape, Value>,
) {
  const { table, values, where = 'true' } = definition;
  const valueOf = readPartly(definition);
  const oldest = values.map((name) => `nullif(substr(${valueOf(name)}, 1, 4), '')`);
  return defineQuery({
    name: `count_generations_of_${table}`,
    text: `
      select coalesce(('x' || encode(generation, 'hex'))::bit(32)::integer, 0) as generation,
        count(*)::integer as rows
      from (select least(${oldest.join(', ')}) as generation from ${table} where ${where}) x
      where generation is not null
      group by 1 order by 1`,
    columns: { generation: column.integer, rows: column.integer },
  });
}

/** Only where the values are still those that were read: a change in between holds. */
function createReplacement<Shape extends Columns, Value extends string>(
  definition: Definition<Shape, Value>,
) {
  const { table, key, values, replacement } = definition;
  const valueOf = readPartly(definition);
  const names = Object.keys(key);
  const types = [
    ...Object.values(key).map((type) => `${type}[]`),
    ...values.flatMap(() => ['bytea[]', 'bytea[]']),
  ];
  const aliases = [...names, ...values.flatMap((name) => [`old_${name}`, `fresh_${name}`])];
  const conditions = [
    ...names.map((name) => `t.${name} = n.${name}`),
    ...values.map((name) => `coalesce(${valueOf(name)}, '') = n.old_${name}`),
  ];
  const valuesOf = (rows: readonly Renewed[]) => [
    ...names.map((_, index) => rows.map((row) => row.key[index])),
    ...values.flatMap((_, index) => [
      rows.map((row) => row.old[index]),
      rows.map((row) => row.fresh[index]),
    ]),
  ];
  if (replacement !== undefined) {
    const query = defineQuery({
      name: replacement,
      text: `select ${replacement}(${placeholders(1, types)}) as count`,
      columns: { count: column.integer },
    });
    return async (session: Session, rows: readonly Renewed[]): Promise<number> =>
      (await one(session, query, valuesOf(rows))).count;
  }
  const assignments = values.map(
    (name) =>
      `${name} = case when length(n.fresh_${name}) = 0 then t.${name} else n.fresh_${name} end`,
  );
  const statement: Statement = {
    name: `renew_${table}`,
    text: `
      update ${table} t set ${assignments.join(', ')}
      from unnest(${placeholders(1, types)}) n (${aliases.join(', ')})
      where ${conditions.join(' and ')}`,
  };
  return (session: Session, rows: readonly Renewed[]): Promise<number> =>
    exec(session, statement, valuesOf(rows));
}

/** For a table with nothing but a code: `describe` is what the code covers. */
export function renewMac<Row>(describe: (row: Row) => string) {
  return (keys: KeyRing, row: Row & { readonly mac: Buffer }): { mac: Buffer } | undefined => {
    const covered = describe(row);
    return keys.isMac(covered, row.mac) ? { mac: keys.mac(covered) } : undefined;
  };
}

/** For a column that holds nothing but a ciphertext. */
export function reseal(keys: KeyRing, sealed: Buffer, context: string): Buffer {
  return keys.seal(keys.open(sealed, context), context);
}
