import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type ExactJson, parseExactJson } from '../core/exact-json.ts';
import { type KeyRing, rowContext } from '../core/sealing.ts';
import { textArray } from '../db/arrays.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, one, type RowOf } from '../db/rows.ts';
import { portionRows, type RowFields } from './file/file-row.ts';

/** The rows of a file as they were written, stored in the portions in which they were received. */

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
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return input;
  for (const [key, value] of Object.entries(metadata as RowFields))
    cells[`metadata.${key}`] = value;
  return cells;
}

export async function storeInputs(
  { session, keys }: { session: Session; keys: KeyRing },
  portion: Batch & { firstNumber: number; inputs: readonly RowFields[] },
): Promise<void> {
  const { accountId, batchId, firstNumber, inputs } = portion;
  const names = new Set(inputs.flatMap((input) => Object.keys(flattenInput(input))));
  const packed = deflateRawSync(JSON.stringify(inputs), { level: 1 });
  const sealed = keys.seal(packed, contextOf(portion, firstNumber));
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
  const found = new Map<number, RowFields>();
  for (const { first_number: first, sealed } of portions) {
    const text = inflateRawSync(keys.open(sealed, contextOf(range, first))).toString('utf8');
    const inputs = parseExactJson(text) as RowFields[];
    for (const [index, input] of inputs.entries()) found.set(first + index, input);
  }
  return found;
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
  const context = contextOf({ accountId, batchId }, first);
  const { sealed } = await one(session, lockPortionQuery, [accountId, batchId, first]);
  const text = inflateRawSync(keys.open(sealed, context)).toString('utf8');
  const inputs = parseExactJson(text) as RowFields[];
  for (const number of numbers) inputs[number - first] = {};
  const packed = deflateRawSync(JSON.stringify(inputs), { level: 1 });
  await exec(session, replaceStatement, [accountId, batchId, first, keys.seal(packed, context)]);
}

/** The columns of the batch's file, in their order. */
export async function listInputColumns(session: Session, batch: Batch): Promise<string[]> {
  return (await one(session, columnsQuery, [batch.accountId, batch.batchId])).names;
}
