import type { Session, Statement } from '../db/postgres/pool.ts';

/** How long a report of a process is of use to the others. */
export const reportMsMax = 5_000;

const exchange: Statement = {
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
};

export type UseReport = { id: string; keys: Buffer[]; counts: number[] };

/** Stores what this process has let through and answers what the others have, of the last seconds. */
export function exchangeReports(
  session: Session,
  processId: string,
  own: UseReport,
): Promise<UseReport[]> {
  return session.rows<UseReport>(exchange, [own.id, processId, own.keys, own.counts, reportMsMax]);
}
