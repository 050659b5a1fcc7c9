import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, type RowOf } from '../db/rows.ts';

/** The age up to which the report of a process counts for the others. */
export const reportMsMax = 5_000;

const useColumns = { id: column.uuid, keys: column.byteArrays, counts: column.integers };
export type UseReport = RowOf<typeof useColumns>;

const exchange = defineQuery({
  name: 'exchange_rate_limit_use',
  text: `
    with own as (
      insert into rate_limit_use (id, process_id, keys, counts)
      select $1, $2, $3, $4 where cardinality($3::bytea[]) > 0),
    ended as (
      delete from rate_limit_use
      where created_at < clock_timestamp() - interval '1 minute'
        or (process_id = $2 and created_at < clock_timestamp() - 2 * $5 * interval '1 millisecond'))
    select id, keys, counts from rate_limit_use
    where created_at > clock_timestamp() - $5 * interval '1 millisecond' and process_id <> $2`,
  columns: useColumns,
});

/** Stores what this process has admitted and returns the recent reports of the other processes. */
export function exchangeReports(
  session: Session,
  processId: string,
  own: UseReport,
): Promise<UseReport[]> {
  return many(session, exchange, [own.id, processId, own.keys, own.counts, reportMsMax]);
}

const forget: Statement = {
  name: 'forget_rate_limit_use',
  text: 'delete from rate_limit_use',
};

/** What all processes have admitted. */
export function forgetReports(session: Session): Promise<number> {
  return exec(session, forget);
}
