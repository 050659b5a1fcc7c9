import {
  type ExactJson,
  isExactObject,
  JsonNumber,
  parseExactJson,
  parseExactObject,
} from '../core/exact-json.ts';
import { findUserKey, type KeyRing, openBytes, rowContext, sealBytes } from '../core/sealing.ts';
import { textArray } from '../db/arrays.ts';
import type { Session } from '../db/postgres/pool.ts';
import { defineProtectedTable, reseal } from '../db/protected-tables.ts';
import { column, defineQuery, exec, many, one, type RowOf } from '../db/rows.ts';
import { portionRows, type RowFields } from './file/file-row.ts';

/**
 * The rows of a file as they were written, stored in the portions in which they were received. A row is
 * sealed under the key of its recipient, so that an erasure shreds it, in backups too; the portion is
 * sealed again as a whole, with the rows whose recipient was not identified.
 */

const storeStatement = {
  name: 'store_batch_inputs',
  // An upload that was interrupted before it stored the rows repeats the portion.
  text: `
    insert into batch_inputs (account_id, batch_id, first_number, columns, sealed)
    values ($1, $2, $3, $4::text[], $5)
    on conflict (account_id, batch_id, first_number) do update
      set columns = excluded.columns, sealed = excluded.sealed`,
};

const findQuery = defineQuery({
  name: 'find_batch_inputs',
  text: `
    select first_number, sealed from batch_inputs
    where account_id = $1 and batch_id = $2 and first_number between $3 and $4`,
  columns: { first_number: column.integer, sealed: column.bytes },
});

const columnsQuery = defineQuery({
  name: 'list_batch_input_columns',
  text: `
    select array(
      select name
      from batch_inputs i, unnest(i.columns) with ordinality as c (name, place)
      where i.account_id = $1 and i.batch_id = $2
      group by name
      order by min(i.first_number), min(place)) as names`,
  columns: { names: column.texts },
});

type Batch = { accountId: string; batchId: string };

function contextOf({ accountId, batchId }: Batch, firstNumber: number): string {
  return rowContext('batch_inputs', accountId, batchId, firstNumber);
}

/** Columns of a table: an entry of `metadata` is one of its own, as in a CSV file. */
export function flattenInput(input: RowFields): { [column: string]: ExactJson } {
  const { metadata, ...cells }: { [column: string]: ExactJson } = input;
  if (metadata === undefined) return cells;
  if (!isExactObject(metadata)) return input;
  for (const [key, value] of Object.entries(metadata)) cells[`metadata.${key}`] = value;
  return cells;
}

/** A row with its recipient, where the file names one who exists. */
export type NewInput = {
  readonly input: RowFields;
  readonly person:
    | { readonly userId?: string | undefined; readonly dataKey?: Buffer | undefined }
    | undefined;
};

/** In a portion: a row in clear, or what is sealed under the key of a user. */
type PackedRow = { row: RowFields } | { user: string; sealed: Buffer };

type Place = Batch & { firstNumber: number };

const rowContextOf = ({ accountId, batchId }: Batch, number: number): string =>
  rowContext('batch_inputs.row', accountId, batchId, number);

function packRow(keys: KeyRing, place: Batch & { number: number }, row: NewInput): PackedRow {
  const { input, person } = row;
  const { userId, dataKey } = person ?? {};
  if (userId === undefined || dataKey === undefined) return { row: input };
  const userKey = findUserKey(keys, dataKey, { accountId: place.accountId, userId });
  if (userKey === undefined) return { row: {} };
  const plain = Buffer.from(JSON.stringify(input));
  return { user: userId, sealed: sealBytes(userKey, plain, rowContextOf(place, place.number)) };
}

/**
 * The length of a list (4 bytes, big-endian), the list as JSON, and the sealed rows one after the other;
 * in the list, a sealed row has its user and its length. Ciphertexts do not compress. Columns stay in
 * clear, because the file of the result begins with them.
 */
function sealPortion(keys: KeyRing, place: Place, rows: readonly PackedRow[]): Buffer {
  const list = Buffer.from(
    JSON.stringify(
      rows.map((row) => ('row' in row ? row : { user: row.user, length: row.sealed.length })),
    ),
  );
  const size = Buffer.alloc(sizeBytes);
  size.writeUInt32BE(list.length);
  const sealed = rows.flatMap((row) => ('row' in row ? [] : [row.sealed]));
  return keys.seal(Buffer.concat([size, list, ...sealed]), contextOf(place, place.firstNumber));
}

const sizeBytes = 4;

export const protectedInputs = defineProtectedTable({
  table: 'batch_inputs',
  key: { account_id: 'uuid', batch_id: 'uuid', first_number: 'integer' },
  values: ['sealed'],
  columns: { account_id: column.uuid, batch_id: column.uuid, first_number: column.integer },
  portion: 20,
  renew: (keys, { account_id: accountId, batch_id: batchId, first_number: number, sealed }) => ({
    sealed: reseal(keys, sealed, contextOf({ accountId, batchId }, number)),
  }),
});

function openPortion(keys: KeyRing, place: Place, sealed: Buffer): PackedRow[] {
  const portion = keys.open(sealed, contextOf(place, place.firstNumber));
  let end = sizeBytes + portion.readUInt32BE();
  // Exact: numbers of the file are kept as they were written.
  const list = parseExactJson(portion.toString('utf8', sizeBytes, end));
  if (!Array.isArray(list)) throw new TypeError('a portion of batch rows is not a list');
  return list.map((packed): PackedRow => {
    const { row, user, length } = isExactObject(packed) ? packed : {};
    if (row !== undefined && isExactObject(row)) return { row };
    if (typeof user !== 'string' || !(length instanceof JsonNumber)) {
      throw new TypeError('a row of a batch has an unexpected form');
    }
    const start = end;
    end += Number(length.text);
    return { user, sealed: portion.subarray(start, end) };
  });
}

export async function storeInputs(
  { session, keys }: { session: Session; keys: KeyRing },
  portion: Place & { inputs: readonly NewInput[] },
): Promise<void> {
  const { accountId, batchId, firstNumber, inputs } = portion;
  const names = new Set(inputs.flatMap(({ input }) => Object.keys(flattenInput(input))));
  const rows = inputs.map((input, index) =>
    packRow(keys, { accountId, batchId, number: firstNumber + index }, input),
  );
  const sealed = sealPortion(keys, portion, rows);
  const values = [accountId, batchId, firstNumber, textArray([...names]), sealed];
  await exec(session, storeStatement, values);
}

/** By number of the row, of the rows after the first number up to the last. */
export async function findInputs(
  { session, keys }: { session: Session; keys: KeyRing },
  range: Batch & { afterNumber: number; lastNumber: number },
): Promise<Map<number, RowFields>> {
  const { accountId, batchId, afterNumber, lastNumber } = range;
  const from = afterNumber + 2 - portionRows;
  const portions = await many(session, findQuery, [accountId, batchId, from, lastNumber]);
  const packed = portions.flatMap(({ first_number: firstNumber, sealed }) =>
    openPortion(keys, { accountId, batchId, firstNumber }, sealed).map((row, index) => ({
      row,
      number: firstNumber + index,
    })),
  );
  const users = packed.flatMap(({ row }) => ('user' in row ? [row.user] : []));
  const dataKeys = await findUserKeys(session, accountId, [...new Set(users)]);
  const open = (row: PackedRow, number: number): RowFields => {
    if ('row' in row) return row.row;
    const owner = { accountId, userId: row.user };
    const userKey = findUserKey(keys, dataKeys.get(row.user) ?? Buffer.alloc(0), owner);
    if (userKey === undefined) return {};
    const context = rowContextOf(range, number);
    const plain = openBytes(userKey, row.sealed, context);
    return parseExactObject(plain.toString('utf8'));
  };
  return new Map(packed.map(({ row, number }) => [number, open(row, number)]));
}

const keysQuery = defineQuery({
  name: 'list_keys_of_batch_users',
  text: 'select id, data_key from users where account_id = $1 and id = any ($2::uuid[])',
  columns: { id: column.uuid, data_key: column.bytes },
});

async function findUserKeys(
  session: Session,
  accountId: string,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, Buffer>> {
  const rows = await many(session, keysQuery, [accountId, userIds]);
  return new Map(rows.map((row) => [row.id, row.data_key]));
}

const portionColumns = {
  account_id: column.uuid,
  batch_id: column.uuid,
  first_number: column.integer,
  numbers: column.integers,
};
export type UserPortion = RowOf<typeof portionColumns>;

const listOfUserQuery = defineQuery({
  name: 'list_batch_portions_of_user',
  text: `
    select r.account_id, r.batch_id, i.first_number, array_agg(r.number) as numbers
    from batch_rows r
    cross join lateral (
      select first_number from batch_inputs i
      where i.account_id = r.account_id and i.batch_id = r.batch_id
        and i.first_number <= r.number
      order by first_number desc limit 1
    ) i
    where r.account_id = $1 and r.user_id = $2
    group by r.account_id, r.batch_id, i.first_number`,
  columns: portionColumns,
});

const lockPortionQuery = defineQuery({
  name: 'lock_batch_portion',
  text: `
    select first_number, sealed from batch_inputs
    where account_id = $1 and batch_id = $2 and first_number = $3 for update`,
  columns: { first_number: column.integer, sealed: column.bytes },
});

const replaceStatement = {
  name: 'replace_batch_portion',
  text: `
    update batch_inputs set sealed = $4
    where account_id = $1 and batch_id = $2 and first_number = $3`,
};

/** Where rows of files that pay a user are stored. */
export async function listPortionsOfUser(
  session: Session,
  { accountId, userId }: { accountId: string; userId: string },
): Promise<UserPortion[]> {
  return many(session, listOfUserQuery, [accountId, userId]);
}

/** Empties the given rows of a portion. */
export async function replaceInputs(
  { session, keys }: { session: Session; keys: KeyRing },
  portion: UserPortion,
): Promise<void> {
  const { account_id: accountId, batch_id: batchId, first_number: first, numbers } = portion;
  const place = { accountId, batchId, firstNumber: first };
  const { sealed } = await one(session, lockPortionQuery, [accountId, batchId, first]);
  const rows = openPortion(keys, place, sealed);
  for (const number of numbers) rows[number - first] = { row: {} };
  const resealed = sealPortion(keys, place, rows);
  await exec(session, replaceStatement, [accountId, batchId, first, resealed]);
}

/** The columns of the batch's file, in their order. */
export async function listInputColumns(session: Session, batch: Batch): Promise<string[]> {
  return (await one(session, columnsQuery, [batch.accountId, batch.batchId])).names;
}
