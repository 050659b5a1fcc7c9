import pg from 'pg';
import type { QueryAnswer, Session, Statement } from './postgres/connection.ts';

/**
 * Typed reads. A statement declares the columns that it returns; the types of its rows follow from
 * them. The declaration is compared with what the server returns: names and types once for each
 * statement, NULL and the shape of JSON in every row. `rows.test.ts` compares all declarations with
 * the live catalog.
 */

export type Column<Value> = {
  /** OIDs of the PostgreSQL types that the column may have. */
  readonly typeIds: readonly number[];
  readonly isNullable: boolean;
  /** Checks or converts what the driver decoded. @throws when the value is not acceptable. */
  readonly read?: (value: unknown) => Value;
};

/** Holds for any value type; `unknown` would not, as `read` is covariant. */
type AnyColumn = Column<unknown>;
export type Columns = Readonly<Record<string, AnyColumn>>;
export type RowOf<Shape extends Columns> = {
  -readonly [Name in keyof Shape]: Shape[Name] extends Column<infer Value> ? Value : never;
};

/** A statement that returns rows of a declared shape. */
export type Query<Row, Shape extends Columns = Columns> = Statement & {
  readonly columns: Shape;
  readonly row?: Row;
};

/** What parses a JSON value: a zod schema, for example. @throws when the value does not fit. */
type Parser<Value> = { parse(value: unknown): Value };

const { builtins } = pg.types;
/** Of arrays, for which the driver has no names. */
const arrayIds = {
  boolean: 1000,
  bytes: 1001,
  integer: 1007,
  text: 1009,
  bigint: 1016,
  instant: 1185,
  uuid: 2951,
};

function declare<Value>(...typeIds: number[]): Column<Value> {
  return { typeIds, isNullable: false };
}

export const column = {
  uuid: declare<string>(builtins.UUID),
  text: declare<string>(builtins.TEXT, builtins.VARCHAR, builtins.BPCHAR, builtins.CHAR, 19),
  boolean: declare<boolean>(builtins.BOOL),
  /** Up to 32 bits. */
  integer: declare<number>(builtins.INT2, builtins.INT4),
  /** 64 bits: minor units, sequence numbers. */
  bigint: declare<bigint>(builtins.INT8),
  float: declare<number>(builtins.FLOAT4, builtins.FLOAT8),
  /** An exact decimal, as text. */
  decimal: declare<string>(builtins.NUMERIC),
  instant: declare<Date>(builtins.TIMESTAMPTZ),
  bytes: declare<Buffer>(builtins.BYTEA),
  byteArrays: declare<Buffer[]>(arrayIds.bytes),
  texts: declare<string[]>(arrayIds.text),
  uuids: declare<string[]>(arrayIds.uuid),
  integers: declare<number[]>(arrayIds.integer),
  bigints: declare<bigint[]>(arrayIds.bigint),
  booleans: declare<boolean[]>(arrayIds.boolean),
  instants: declare<Date[]>(arrayIds.instant),
  /** Text that is one of these values. */
  oneOf<const Value extends string>(...values: readonly Value[]): Column<Value> {
    const known: ReadonlySet<unknown> = new Set(values);
    return {
      typeIds: column.text.typeIds,
      isNullable: false,
      read: (value) => {
        if (!known.has(value)) throw new TypeError(`must be one of ${values.join(', ')}`);
        return value as Value;
      },
    };
  },
  /** A `json` or `jsonb` column. */
  json<Value>(parser: Parser<Value>): Column<Value> {
    return {
      typeIds: [builtins.JSON, builtins.JSONB],
      isNullable: false,
      read: (value) => parser.parse(value),
    };
  },
  /** JSON stored as text, so that its digits stay as they were. */
  jsonText<Value>(parser: Parser<Value>): Column<Value> {
    return {
      typeIds: column.text.typeIds,
      isNullable: false,
      read: (value) => parser.parse(JSON.parse(String(value))),
    };
  },
} as const;

export function nullable<Value>(base: Column<Value>): Column<Value | null> {
  return { ...base, isNullable: true };
}

const queries: Query<unknown>[] = [];

/** Declares a statement and the columns that it returns. */
export function defineQuery<const Shape extends Columns>(
  definition: Statement & { readonly columns: Shape },
): Query<RowOf<Shape>, Shape> {
  queries.push(definition);
  return definition;
}

/** All queries that were declared by modules imported so far; for the test of the catalog. */
export function listQueries(): readonly Query<unknown>[] {
  return queries;
}

type Values = readonly unknown[];

/** All rows. */
export async function many<Row>(
  session: Session,
  query: Query<Row>,
  values: Values = [],
): Promise<Row[]> {
  return readRows(query, await session.query(query, values));
}

/** The row, or undefined. @throws when there are several. */
export async function maybeOne<Row>(
  session: Session,
  query: Query<Row>,
  values: Values = [],
): Promise<Row | undefined> {
  const rows = await many(session, query, values);
  if (rows.length > 1) throw new Error(`${query.name} returned ${rows.length} rows instead of one`);
  return rows[0];
}

/** The row. @throws when there is none, or several. */
export async function one<Row>(
  session: Session,
  query: Query<Row>,
  values: Values = [],
): Promise<Row> {
  const row = await maybeOne(session, query, values);
  if (row === undefined) throw new Error(`${query.name} returned no row`);
  return row;
}

/** Runs a statement whose rows do not matter, and returns how many rows it affected. */
export async function exec(
  session: Session,
  statement: Statement,
  values: Values = [],
): Promise<number> {
  return (await session.query(statement, values)).rowCount ?? 0;
}

type Check = readonly [name: string, column: AnyColumn];

/** Of queries whose names and types were compared with the server's: the columns to look at. */
const checksOf = new WeakMap<Columns, readonly Check[]>();

function readRows<Row>({ name, columns }: Query<Row>, answer: QueryAnswer): Row[] {
  let checks = checksOf.get(columns);
  if (checks === undefined) {
    const faults = listColumnFaults(columns, answer.fields);
    if (faults.length > 0) throw new TypeError(`${name}: ${faults.join('; ')}`);
    checks = Object.entries(columns).filter(([, { isNullable, read }]) => !isNullable || read);
    checksOf.set(columns, checks);
  }
  for (const row of answer.rows) {
    for (const [key, { isNullable, read }] of checks) {
      const value = row[key];
      if (value === null) {
        if (!isNullable) throw new TypeError(`${name}: column ${key} is NULL`);
      } else if (read !== undefined) {
        try {
          row[key] = read(value);
        } catch (error) {
          // Without the value, which may be a person's.
          throw new TypeError(`${name}: column ${key} has an unexpected form`, { cause: error });
        }
      }
    }
  }
  return answer.rows as Row[];
}

/** How the columns of an answer differ from their declaration. */
export function listColumnFaults(
  columns: Columns,
  fields: readonly { readonly name: string; readonly dataTypeID: number }[],
): string[] {
  const typeIds = new Map(fields.map((field) => [field.name, field.dataTypeID]));
  const faults = fields
    .filter(({ name }) => columns[name] === undefined)
    .map(({ name }) => `column ${name} is not declared`);
  for (const [name, declared] of Object.entries(columns)) {
    const typeId = typeIds.get(name);
    if (typeId === undefined) faults.push(`column ${name} is not returned`);
    else if (!declared.typeIds.includes(typeId)) {
      faults.push(`column ${name} has type ${typeId} instead of ${declared.typeIds.join(' or ')}`);
    }
  }
  return faults;
}
